/** The stretch of time that all charts of a run show together, and the point under the cursor. */
import { all } from './dom.ts';
import { moment } from './format.ts';

export class View {
  from = 0;
  to: number;
  private readonly listeners: (() => void)[] = [];
  private readonly reset_buttons: HTMLButtonElement[];
  private readonly readouts: HTMLElement[];

  constructor(readonly key: string, readonly end: number) {
    this.to = end;
    this.reset_buttons = all<HTMLButtonElement>(`[data-reset="${key}"]`);
    this.readouts = all(`[data-range="${key}"]`);
    for (const button of this.reset_buttons) button.addEventListener('click', () => this.reset());
  }

  get zoomed(): boolean {
    return this.from > 0 || this.to < this.end;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(from: number, to: number): void {
    // A stretch below a microsecond holds nothing.
    const least = Math.max(this.end * 1e-7, 1e-6);
    from = Math.max(0, from);
    to = Math.min(this.end, to);
    if (!(to - from >= least)) return;
    this.from = from;
    this.to = to;
    for (const button of this.reset_buttons) button.disabled = !this.zoomed;
    this.say(null);
    for (const listener of this.listeners) listener();
  }

  reset(): void {
    this.set(0, this.end);
  }

  /** Zooms around a point: factor 0.5 shows half as much. */
  zoom(factor: number, around = (this.from + this.to) / 2): void {
    const from = around - (around - this.from) * factor;
    const to = around + (this.to - around) * factor;
    this.set(from, to);
  }

  pan(share: number): void {
    const width = this.to - this.from;
    const shift = Math.min(Math.max(share * width, -this.from), this.end - this.to);
    this.set(this.from + shift, this.to + shift);
  }

  /** Shows the time under the cursor, or the stretch in view. */
  say(at: number | null): void {
    const text = at !== null ? `at ${moment(at)}`
      : this.zoomed ? `${moment(this.from)} to ${moment(this.to)}` : '';
    for (const readout of this.readouts) readout.textContent = text;
  }
}
