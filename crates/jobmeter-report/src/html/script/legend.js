/** The keys of a chart: each switches its line on and off. Their text never changes, so the chart stays in its place. */

class Legend {
  /**
   * @param {Panel} panel
   * @param {() => void} changed
   */
  constructor(panel, changed) {
    this.panel = panel;
    this.changed = changed;
    this.root = element('div', 'keys');
    this.root.setAttribute('role', 'group');
    this.root.setAttribute('aria-label', `Lines of ${panel.title}`);
    for (const line of panel.lines) {
      const peak = line.peak ? `peak ${measure(panel.measure, line.peak[1])}` : '';
      this.add(line.shown, line.role, line.label, peak, (shown) => { line.shown = shown; });
    }
    if (panel.bound) {
      const [label, value] = panel.bound;
      this.add(panel.bound_shown, 'bound', label, measure(panel.measure, value), (shown) => { panel.bound_shown = shown; });
    }
  }

  /**
   * @param {boolean} shown
   * @param {string} role
   * @param {string} name
   * @param {string} value
   * @param {(shown: boolean) => void} change
   */
  add(shown, role, name, value, change) {
    const key = pushButton('key', '', () => {
      shown = !shown;
      key.setAttribute('aria-pressed', String(shown));
      change(shown);
      this.changed();
    });
    key.setAttribute('aria-pressed', String(shown));
    const label = element('bdi', 'key-label', name);
    label.title = name;
    key.append(swatch(role), label, element('span', 'key-value num', value));
    this.root.append(key);
  }

  /**
   * One sentence of the values at a point, for screen readers.
   * @param {number} at
   */
  sentence(at) {
    const { lines, measure: kind } = this.panel;
    return lines.filter((line) => line.shown).map((line) => `${line.label}: ${valueAt(kind, line, at)}`).join(', ');
  }
}

/** @param {string} role */
function swatch(role) {
  return element('i', `swatch r-${role}`);
}

/**
 * The value of a line at a point, and what it hides where ticks were merged.
 * @param {Measure} kind
 * @param {Line} line
 * @param {number} at
 */
function valueAt(kind, line, at) {
  const mean = line.mean[at];
  if (mean === null || mean === undefined) return 'not measured';
  const text = measure(kind, mean);
  const low = line.low?.[at] ?? mean;
  const high = line.high?.[at] ?? mean;
  const [least, most] = [measure(kind, low), measure(kind, high)];
  return least === most ? text : `${text} (${least} to ${most})`;
}
