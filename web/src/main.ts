/** Brings the report to life: reads the data block and builds charts, timeline and tools around the text. */
import 'uplot/dist/uPlot.min.css';
import './report.css';
import { buildChart } from './chart.ts';
import { overlaid } from './compare.ts';
import { startCopy } from './copy.ts';
import { readRuns, type Run } from './data.ts';
import { all } from './dom.ts';
import { buildGantt } from './gantt.ts';
import { buildHeat } from './heat.ts';
import { buildPhases } from './phases.ts';
import { startRunTabs } from './tabs.ts';
import { startTheme } from './theme.ts';
import { View } from './view.ts';

/** Charts are built one per frame, so that the page can be read and scrolled meanwhile. */
const queue: (() => void)[] = [];

function work(): void {
  const started = performance.now();
  while (queue.length > 0 && performance.now() - started < 24) queue.shift()?.();
  if (queue.length > 0) requestAnimationFrame(work);
  else document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

function buildRun(run: Run, index: number): void {
  const root = document.getElementById(`run-${index}`);
  if (!root) return;
  const view = new View(String(index), run.end);
  for (const host of all(`[data-phases="${index}"]`, root)) queue.push(() => buildPhases(host, run.spans, view));
  for (const host of all('.plot', root)) {
    const panel = run.panels.find((candidate) => candidate.id === host.dataset.panel);
    if (panel) queue.push(() => buildChart(host, panel, view, run));
  }
  const { cores } = run;
  if (cores) for (const host of all('.heat', root)) queue.push(() => buildHeat(host, cores, view));
  for (const host of all('.gantt', root)) queue.push(() => buildGantt(host, run.processes, view));
  requestAnimationFrame(work);
}

function buildComparison(runs: Run[]): void {
  const view = new View('compare', Math.max(...runs.map((run) => run.end)));
  for (const host of all('.plot[data-run="compare"]')) {
    const panel = overlaid(runs, host.dataset.panel ?? '');
    if (panel) queue.push(() => buildChart(host, panel, view, { spans: [], marks: [] }));
  }
}

const runs = readRuns();
startTheme();
startCopy();
if (runs.length > 1) buildComparison(runs);
startRunTabs(runs, (index) => buildRun(runs[index], index));
