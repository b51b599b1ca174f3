/** The leading line of a panel from each run, put on one common time axis. */
import uPlot from 'uplot';
import type { Line, Panel, Run, Values } from './data.ts';

export function overlaid(runs: Run[], id: string): Panel | null {
  const found = runs.flatMap((run, index) => {
    const panel = run.panels.find((candidate) => candidate.id === id);
    return panel && panel.lines.length > 0 ? [{ panel, line: panel.lines[0], label: run.label, index }] : [];
  });
  if (found.length === 0) return null;
  const { title, measure } = found[0].panel;
  // Each run brings its mean and the edges of its band; `join` lines them up and fills with undefined.
  const tables = found.map(({ panel, line }) =>
    [panel.t, line.mean, line.low ?? line.mean, line.high ?? line.mean] as unknown as uPlot.AlignedData);
  const joined = uPlot.join(tables) as unknown as [number[], ...Values[]];
  const t = joined[0];
  const lines = found.map(({ panel, line, label, index }, place): Line => {
    const [mean, low, high] = [0, 1, 2].map((at) => bridge(t, joined[1 + place * 3 + at], panel.t));
    const spread = line.low !== null;
    const name = found.length > 1 && panel.lines.length > 1 ? `${label}, ${line.label.toLowerCase()}` : label;
    return { label: name, role: String(index % 6), shown: true, mean, low: spread ? low : null, high: spread ? high : null, peak: line.peak };
  });
  return { id, title, measure, limits: [], t, lines };
}

/** Holds the last value over the points of time that only other runs have, within the run's own life. */
function bridge(t: number[], values: Values, own: number[]): Values {
  const end = own.at(-1) ?? 0;
  let last: number | null = null;
  return values.map((value, index) => {
    if (value !== undefined) last = value;
    return t[index] > end ? null : last;
  });
}
