/** Where values stand in a chart: the two scales, and which points are in view. */

/**
 * @typedef {{left: number, top: number, width: number, height: number}} Frame
 *
 * @typedef {object} Plot one panel within a frame, with its two scales
 * @property {Panel} panel
 * @property {Frame} frame
 * @property {number} from
 * @property {number} to
 * @property {number} top the value at the upper edge
 * @property {(t: number) => number} x
 * @property {(value: number) => number} y
 */

/** Rates speak of the time since the point before them: they are drawn as steps. */
const STEPPED = new Set(['cores', 'bytes_per_second', 'per_second', 'ratio']);

/**
 * @param {Panel} panel
 * @param {Frame} frame
 * @param {View} view
 * @returns {Plot}
 */
function layOut(panel, frame, view) {
  const { from, to } = view;
  const top = upperEnd(panel, from, to);
  return {
    panel, frame, from, to, top,
    x: (t) => frame.left + ((t - from) / (to - from)) * frame.width,
    y: (value) => frame.top + frame.height * (1 - value / top),
  };
}

/**
 * The places of the first and last point to draw: those in view and one more on each side.
 * @param {number[]} t
 * @param {number} from
 * @param {number} to
 * @returns {[number, number]}
 */
function inView(t, from, to) {
  return [Math.max(0, firstAt(t, from) - 1), Math.min(t.length - 1, firstAt(t, to))];
}

/**
 * The place of the first time that is not before `wanted`; one behind the last where there is none.
 * @param {number[]} t
 * @param {number} wanted
 */
function firstAt(t, wanted) {
  let low = 0;
  let high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The place of the time closest to `wanted`, or null where there are none.
 * @param {number[]} t
 * @param {number} wanted
 */
function closest(t, wanted) {
  if (t.length === 0) return null;
  const after = Math.min(firstAt(t, wanted), t.length - 1);
  return after > 0 && wanted - t[after - 1] < t[after] - wanted ? after - 1 : after;
}

/**
 * A round value above everything that is shown; a limit counts only when it is near.
 * @param {Panel} panel
 * @param {number} from
 * @param {number} to
 */
function upperEnd(panel, from, to) {
  const first = firstAt(panel.t, from);
  const last = firstAt(panel.t, to);
  let highest = 0;
  for (const line of panel.lines) {
    if (!line.shown) continue;
    const values = line.high ?? line.mean;
    for (let at = first; at <= last && at < values.length; at += 1) highest = Math.max(highest, values[at] ?? 0);
  }
  for (const [, value] of panel.limits) if (value <= highest * 1.35) highest = Math.max(highest, value);
  if (panel.bound && panel.bound_shown) highest = Math.max(highest, panel.bound[1]);
  return valueMarks(panel.measure, highest || 1, 4).at(-1) ?? 1;
}
