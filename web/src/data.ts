/** The JSON block of the page, and its series unpacked. Mirrors crates/jobmeter-report/src/html/payload.rs. */
import { unpack, unpackDifferences } from './pack.ts';

export type Measure =
  | 'cores' | 'bytes' | 'bytes_per_second' | 'count' | 'count_per_second'
  | 'ratio' | 'watts' | 'celsius' | 'hertz' | 'plain';

interface PackedLine {
  label: string;
  role: string;
  shown: boolean;
  step: number;
  mean: string;
  below?: string;
  above?: string;
  peak: [number, number] | null;
}

interface PackedPanel {
  id: string;
  title: string;
  measure: Measure;
  limits: [string, number][];
  lines: PackedLine[];
}

interface PackedRun {
  label: string;
  end_s: number;
  t_us: string;
  panels: PackedPanel[];
  cores: Cores | null;
  spans: Span[];
  marks: Mark[];
  processes: { names: string[] } & Record<Exclude<keyof Processes, 'names'>, string>;
}

export interface Cores {
  names: string[];
  columns: number;
  rows: string[];
}

export interface Span {
  name: string;
  from_s: number;
  to_s: number;
  lane: number;
}

export interface Mark {
  name: string;
  t_s: number;
}

/** One entry per process in every list; null where unknown. */
export interface Processes {
  names: string[];
  name: number[];
  pid: number[];
  parent: number[];
  start_us: number[];
  life_us: Values;
  cpu_us: Values;
  rss_kib: Values;
  status: Values;
}

export type Values = (number | null)[];

/** A line of a chart: means, and where ticks were merged their minima and maxima. */
export interface Line {
  label: string;
  role: string;
  shown: boolean;
  mean: Values;
  low: Values | null;
  high: Values | null;
  peak: [number, number] | null;
}

export interface Panel {
  id: string;
  title: string;
  measure: Measure;
  limits: [string, number][];
  t: number[];
  lines: Line[];
}

export interface Run {
  label: string;
  end: number;
  panels: Panel[];
  cores: Cores | null;
  spans: Span[];
  marks: Mark[];
  processes: Processes;
}

export function readRuns(): Run[] {
  const block = document.getElementById('data');
  const packed = JSON.parse(block?.textContent ?? '{"runs":[]}') as { runs: PackedRun[] };
  return packed.runs.map(unpackRun);
}

function unpackRun(run: PackedRun): Run {
  const t = known(unpackDifferences(run.t_us)).map((us) => us / 1e6);
  const panels = run.panels.map((panel) => ({ ...panel, t, lines: panel.lines.map(unpackLine) }));
  const { label, cores, spans, marks } = run;
  const processes = unpackProcesses(run.processes);
  return { label, end: Math.max(run.end_s, 1e-6), panels, cores, spans, marks, processes };
}

/** Columns that have no gaps. */
function known(values: Values): number[] {
  return values.map((value) => value ?? 0);
}

function unpackLine(line: PackedLine): Line {
  const { label, role, shown, step, peak, below, above } = line;
  const steps = unpackDifferences(line.mean);
  const mean = steps.map((value) => (value === null ? null : value * step));
  const away = (packed: string | undefined, sign: number): Values | null => {
    if (packed === undefined) return null;
    const distance = known(unpack(packed));
    return steps.map((value, index) => (value === null ? null : (value + sign * distance[index]) * step));
  };
  return { label, role, shown, mean, low: away(below, -1), high: away(above, 1), peak };
}

function unpackProcesses(packed: PackedRun['processes']): Processes {
  return {
    names: packed.names,
    name: known(unpack(packed.name)),
    pid: known(unpackDifferences(packed.pid)),
    parent: known(unpackDifferences(packed.parent)),
    start_us: known(unpackDifferences(packed.start_us)),
    life_us: unpack(packed.life_us),
    cpu_us: unpack(packed.cpu_us),
    rss_kib: unpackDifferences(packed.rss_kib),
    status: unpack(packed.status),
  };
}
