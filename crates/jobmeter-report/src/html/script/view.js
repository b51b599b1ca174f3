/** The stretch of time that all charts of a run show together, and the point under the cursor. */

/** Space for the labels of the value axis: the same in all charts, so that times stand above each other. */
const AXIS_WIDTH = 74;
const RIGHT_SPACE = 22;

class View {
  /**
   * @param {string} key
   * @param {number} end
   */
  constructor(key, end) {
    this.key = key;
    this.end = end;
    this.from = 0;
    this.to = end;
    /** @type {(() => void)[]} */
    this.range_listeners = [];
    /** @type {((t: number | null) => void)[]} */
    this.point_listeners = [];
    this.reset_buttons = all(`[data-reset="${key}"]`);
    this.readouts = all(`[data-range="${key}"]`);
    for (const button of this.reset_buttons) button.addEventListener('click', () => this.reset());
  }

  get zoomed() {
    return this.from > 0 || this.to < this.end;
  }

  /** @param {() => void} listener */
  onChange(listener) {
    this.range_listeners.push(listener);
  }

  /** @param {(t: number | null) => void} listener */
  onPoint(listener) {
    this.point_listeners.push(listener);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  set(from, to) {
    // A stretch below a microsecond holds nothing.
    const least = Math.max(this.end * 1e-7, 1e-6);
    from = Math.max(0, from);
    to = Math.min(this.end, to);
    if (!(to - from >= least)) return;
    this.from = from;
    this.to = to;
    for (const button of this.reset_buttons) button.toggleAttribute('disabled', !this.zoomed);
    for (const listener of this.range_listeners) listener();
    this.point(null);
  }

  reset() {
    this.set(0, this.end);
  }

  /**
   * Zooms around a point: factor 0.5 shows half as much.
   * @param {number} factor
   * @param {number} [around]
   */
  zoom(factor, around = (this.from + this.to) / 2) {
    this.set(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  /**
   * Zooms by the keys that all drawings share; returns whether this was one of them.
   * @param {string} key
   * @param {number} [around]
   */
  zoomByKey(key, around) {
    if (key === '+' || key === '=') this.zoom(0.5, around);
    else if (key === '-') this.zoom(2, around);
    else if (key === 'Escape') this.reset();
    else return false;
    return true;
  }

  /** @param {number} share */
  pan(share) {
    const width = this.to - this.from;
    const shift = within(share * width, -this.from, this.end - this.to);
    this.set(this.from + shift, this.to + shift);
  }

  /**
   * Moves the cursor of all charts to a time, or takes it away.
   * @param {number | null} t
   */
  point(t) {
    for (const listener of this.point_listeners) listener(t);
    const text = t !== null ? `at ${moment(t)}`
      : this.zoomed ? `${moment(this.from)} to ${moment(this.to)}` : '';
    for (const readout of this.readouts) readout.textContent = text;
  }
}
