/** The keys of a chart: each switches its line on and off and shows the value under the cursor. */
import type { Line, Measure } from './data.ts';
import { element } from './dom.ts';
import { measure } from './format.ts';

export class Legend {
  readonly root = element('div', 'keys');
  private readonly values: HTMLElement[] = [];

  constructor(
    private readonly lines: Line[], private readonly kind: Measure, toggle: (index: number, shown: boolean) => void,
  ) {
    this.root.setAttribute('role', 'group');
    this.root.setAttribute('aria-label', 'Lines of this chart');
    lines.forEach((line, index) => {
      const key = element('button', 'key');
      key.type = 'button';
      key.setAttribute('aria-pressed', String(line.shown));
      key.append(element('i', `swatch r-${line.role}`));
      const label = element('bdi', 'key-label', line.label);
      label.title = line.label;
      const value = element('span', 'key-value num');
      key.append(label, value);
      this.values.push(value);
      key.addEventListener('click', () => {
        line.shown = !line.shown;
        key.setAttribute('aria-pressed', String(line.shown));
        toggle(index, line.shown);
      });
      this.root.append(key);
    });
    this.show(null);
  }

  /** The values at a point of the axis, or the peaks when there is none. */
  show(at: number | null): void {
    this.lines.forEach((line, index) => {
      this.values[index].textContent = at === null ? this.peak(line) : this.at(line, at);
    });
  }

  /** One sentence of the values at a point, for screen readers. */
  sentence(at: number): string {
    return this.lines.filter((line) => line.shown).map((line) => `${line.label}: ${this.at(line, at)}`).join(', ');
  }

  private peak(line: Line): string {
    return line.peak ? `peak ${measure(this.kind, line.peak[1])}` : '';
  }

  private at(line: Line, at: number): string {
    const mean = line.mean[at];
    if (mean === null || mean === undefined) return 'not measured';
    const text = measure(this.kind, mean);
    const low = line.low?.[at];
    const high = line.high?.[at];
    if (low === null || low === undefined || high === null || high === undefined) return text;
    const range = [measure(this.kind, low), measure(this.kind, high)];
    return range[0] === range[1] ? text : `${text} (${range[0]} to ${range[1]})`;
  }
}
