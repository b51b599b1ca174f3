/** One chart: lines of means over bands from minimum to maximum, with phases, marks and limits behind. */

const CHART_HEIGHT = 190;
const CHART_TOP = 10;
const CHART_BOTTOM = 26;

/**
 * @typedef {{spans: Span[], marks: Mark[]}} Backdrop
 */

class Chart {
  /**
   * @param {HTMLElement} host
   * @param {Panel} panel
   * @param {View} view
   * @param {Backdrop} backdrop
   */
  constructor(host, panel, view, backdrop) {
    this.panel = panel;
    this.view = view;
    this.backdrop = backdrop;
    this.legend = new Legend(panel, () => this.draw());
    this.box = element('div', 'canvas');
    this.canvas = element('canvas');
    this.area = element('div', 'over');
    const readout = element('span', 'now num');
    this.cursor = new Cursor(panel, this.area, readout);
    this.hovered = false;
    /** The place of the keyboard's cursor. @type {number | null} */
    this.at = null;
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'group');
    this.box.setAttribute('aria-roledescription', 'chart');
    this.box.setAttribute('aria-label', describePanel(panel));
    this.box.append(this.canvas, this.area);
    host.append(this.box, this.legend.root);
    host.closest('figure')?.querySelector('figcaption')?.append(readout, ...saveButtons(this));
    this.plot = layOut(panel, this.frame(), view);
    view.onChange(() => this.draw());
    view.onPoint((t) => this.follow(t));
    this.listen();
    keepDrawn(this.box, () => this.draw());
  }

  /** @returns {Frame} */
  frame() {
    const width = Math.max(drawingWidth(this.box), 200) - AXIS_WIDTH - RIGHT_SPACE;
    return { left: AXIS_WIDTH, top: CHART_TOP, width, height: CHART_HEIGHT - CHART_TOP - CHART_BOTTOM };
  }

  draw() {
    const frame = this.frame();
    const context = prepare(this.canvas, frame.width + AXIS_WIDTH + RIGHT_SPACE, CHART_HEIGHT);
    this.plot = layOut(this.panel, frame, this.view);
    if (context) drawPlot(context, this.plot, this.backdrop);
  }

  /** @param {number | null} t */
  follow(t) {
    const inside = t !== null && t >= this.view.from && t <= this.view.to;
    this.cursor.show(this.plot, inside ? closest(this.panel.t, t) : null, this.hovered);
  }

  listen() {
    const { box, view } = this;
    box.addEventListener('pointermove', (event) => {
      this.hovered = true;
      const at = closest(this.panel.t, timeAt(box, event.clientX, view));
      view.point(at === null ? null : this.panel.t[at]);
    });
    box.addEventListener('pointerleave', () => this.leave());
    box.addEventListener('blur', () => this.leave());
    box.addEventListener('keydown', (event) => this.key(event));
    dragZoom(box, view);
  }

  leave() {
    this.hovered = false;
    this.at = null;
    this.view.point(null);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { panel: { t }, view } = this;
    const here = this.at ?? Math.min(firstAt(t, view.from), t.length - 1);
    const jump = event.shiftKey ? 20 : 1;
    if (event.key === 'ArrowRight') this.go(this.at === null ? here : here + jump);
    else if (event.key === 'ArrowLeft') this.go(here - jump);
    else if (event.key === 'Home') this.go(0);
    else if (event.key === 'End') this.go(t.length - 1);
    else if (!view.zoomByKey(event.key, t[here])) return;
    else if (event.key === 'Escape') this.leave();
    event.preventDefault();
  }

  /** @param {number} place */
  go(place) {
    const { panel: { t }, view } = this;
    const at = within(place, 0, t.length - 1);
    const width = view.to - view.from;
    if (t[at] < view.from || t[at] > view.to) view.set(t[at] - width / 2, t[at] + width / 2);
    this.at = at;
    this.hovered = true;
    view.point(t[at]);
    announce(`At ${moment(t[at])}. ${this.legend.sentence(at)}`);
  }
}

/** @param {Panel} panel */
function describePanel(panel) {
  const lines = panel.lines.flatMap((line) => (line.shown && line.peak
    ? [`${line.label} peaks at ${measure(panel.measure, line.peak[1])} after ${moment(line.peak[0])}`] : []));
  return `${panel.title}. ${lines.join('; ')}. Arrow keys move the cursor, plus and minus zoom, Escape resets.`;
}
