/** Brings the report to life: reads the data block and builds charts, timeline and tools around the text. */

/** Charts are built in slices of a frame, so that the page can be read and scrolled meanwhile. @type {(() => void)[]} */
const queue = [];

function buildSome() {
  const started = performance.now();
  while (queue.length > 0 && performance.now() - started < 24) queue.shift()?.();
  if (queue.length > 0) requestAnimationFrame(buildSome);
  else document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

/**
 * @param {Run} run
 * @param {number} index
 */
function buildRun(run, index) {
  const root = document.getElementById(`run-${index}`);
  if (!root) return;
  const view = new View(String(index), run.end);
  for (const host of all(`[data-phases="${index}"]`, root)) queue.push(() => buildPhases(host, run.spans, view));
  for (const host of all('.plot', root)) {
    const panel = run.panels.find((candidate) => candidate.id === host.dataset.panel);
    if (panel) queue.push(() => new Chart(host, panel, view, run));
  }
  const { cores, ranks } = run;
  if (ranks) for (const host of all('.ranks', root)) queue.push(() => new RankMap(host, unpackRanks(ranks), view));
  if (cores) for (const host of all('.heat', root)) queue.push(() => buildHeat(host, cores, view));
  for (const host of all('.gantt', root)) queue.push(() => new Gantt(host, run.processes, view));
  requestAnimationFrame(buildSome);
}

/** @param {Run[]} runs */
function buildComparison(runs) {
  const view = new View('compare', Math.max(...runs.map((run) => run.end)));
  for (const host of all('.plot[data-run="compare"]')) {
    const panel = overlaid(runs, host.dataset.panel ?? '');
    if (panel) queue.push(() => new Chart(host, panel, view, { spans: [], marks: [] }));
  }
}

function start() {
  const runs = readRuns();
  if (runs.length > 1) buildComparison(runs);
  const complete = startRunTabs(runs, (index) => buildRun(runs[index], index));
  startTheme(() => {
    complete();
    while (queue.length > 0) queue.shift()?.();
  });
  startCopy();
}

start();
