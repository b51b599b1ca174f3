/** The cursor of a chart: a line at a time, a dot on each line of the chart, and what they stand for. */

/** More rows than this would cover the chart. */
const TIP_ROWS = 12;

class Cursor {
  /**
   * @param {Panel} panel
   * @param {HTMLElement} area the inside of the chart
   * @param {HTMLElement} readout a line beside the title
   */
  constructor(panel, area, readout) {
    this.panel = panel;
    this.area = area;
    this.readout = readout;
    this.rule = element('div', 'rule');
    this.tip = element('div', 'tip');
    this.rule.hidden = this.tip.hidden = true;
    area.append(this.rule, this.tip);
    /** @type {HTMLElement[]} */
    this.dots = [];
  }

  /**
   * @param {Plot} plot
   * @param {number | null} at
   * @param {boolean} hovered whether this chart is the one under the pointer
   */
  show(plot, at, hovered) {
    for (const dot of this.dots) dot.remove();
    this.dots = [];
    this.readout.replaceChildren();
    this.rule.hidden = at === null;
    this.tip.hidden = at === null || !hovered;
    if (at === null) return;
    const { frame } = plot;
    const t = this.panel.t[at];
    const x = plot.x(t) - frame.left;
    this.rule.style.left = `${x}px`;
    const shown = this.panel.lines.filter((line) => line.shown);
    for (const line of shown) {
      const value = line.mean[at];
      if (value === null || value === undefined) continue;
      const dot = element('i', `point r-${line.role}`);
      dot.style.left = `${x}px`;
      dot.style.top = `${plot.y(value) - frame.top}px`;
      this.dots.push(dot);
      const item = element('span', 'now-item');
      item.append(swatch(line.role), measure(this.panel.measure, value));
      this.readout.append(item);
    }
    this.area.append(...this.dots);
    if (hovered) this.fill(shown, t, at, x, frame);
  }

  /**
   * @param {Line[]} shown
   * @param {number} t
   * @param {number} at
   * @param {number} x
   * @param {Frame} frame
   */
  fill(shown, t, at, x, frame) {
    const rows = shown.slice(0, TIP_ROWS).map((line) => {
      const row = element('div', 'tip-row');
      const value = element('span', 'tip-value num', valueAt(this.panel.measure, line, at));
      row.append(swatch(line.role), element('bdi', 'tip-label', line.label), value);
      return row;
    });
    this.tip.replaceChildren(element('div', 'tip-time num', moment(t)), ...rows);
    if (shown.length > TIP_ROWS) this.tip.append(element('div', 'tip-time', `and ${shown.length - TIP_ROWS} more`));
    // On the side with more room, and never over the edge.
    const width = this.tip.offsetWidth;
    const left = x > frame.width / 2 ? x - width - 12 : x + 12;
    this.tip.style.left = `${within(left, -frame.left, Math.max(frame.width - width, -frame.left))}px`;
  }
}
