/** The strip of phases above the charts, in step with their zoom. */

const PHASE_LANE = 20;
const MAX_PHASE_LANES = 4;

/** @type {WeakMap<Span[], Map<string, number>>} */
const phase_slots = new WeakMap();

/**
 * The same name has the same colour; names that follow each other differ.
 * @param {Span[]} spans
 * @param {string} name
 */
function phaseColor(spans, name) {
  let slots = phase_slots.get(spans);
  if (!slots) {
    slots = new Map();
    for (const span of spans) if (!slots.has(span.name)) slots.set(span.name, slots.size % 6);
    phase_slots.set(spans, slots);
  }
  return color(`c${slots.get(name) ?? 0}`);
}

/**
 * @param {HTMLElement} host
 * @param {Span[]} spans
 * @param {View} view
 */
function buildPhases(host, spans, view) {
  const lanes = Math.min(MAX_PHASE_LANES, spans.reduce((most, span) => Math.max(most, span.lane), 0) + 1);
  host.style.height = `${lanes * PHASE_LANE}px`;
  host.setAttribute('aria-hidden', 'true');
  const draw = () => {
    host.replaceChildren();
    if (drawingWidth(host) === 0) return;
    // In shares of the whole, so that the strip stretches with the charts when the page is printed.
    const whole = drawingWidth(host);
    const width = whole - AXIS_WIDTH - RIGHT_SPACE;
    /** @param {number} pixels */
    const share = (pixels) => `${(pixels / whole) * 100}%`;
    /** @param {number} t */
    const place = (t) => ((t - view.from) / (view.to - view.from)) * width;
    for (const span of spans) {
      if (span.lane >= lanes || span.to_s < view.from || span.from_s > view.to) continue;
      const from = Math.max(place(span.from_s), 0);
      const to = Math.min(place(span.to_s), width);
      const box = element('div', 'phase');
      const tint = phaseColor(spans, span.name);
      box.style.left = share(AXIS_WIDTH + from);
      box.style.width = share(Math.max(to - from, 1));
      box.style.top = `${span.lane * PHASE_LANE}px`;
      box.style.background = faded(tint, 0.18);
      box.style.borderLeftColor = tint;
      box.title = `${span.name}: ${duration(span.to_s - span.from_s)}`;
      if (to - from > 24) box.append(element('bdi', '', span.name));
      box.addEventListener('dblclick', () => view.set(span.from_s, span.to_s));
      host.append(box);
    }
  };
  view.onChange(draw);
  keepDrawn(host, draw);
}
