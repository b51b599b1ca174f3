/** The leading line of a panel from each run, or the median of each group of runs, on one common time axis. */

/** Points of the common axis: more than a screen has columns. */
const COMMON_POINTS = 1200;

/**
 * One run's line on the common axis; a gap outside of the run.
 * @typedef {{mean: Values, low: Values, high: Values, peak: [number, number] | null}} Course
 */

/**
 * @param {Run[]} runs
 * @param {string} id
 * @returns {Panel | null}
 */
function overlaid(runs, id) {
  const found = runs.flatMap((run) => {
    const panel = run.panels.find((candidate) => candidate.id === id);
    return panel?.has_lead ? [{ run, panel }] : [];
  });
  if (found.length === 0) return null;
  const { title, measure: kind, lines: [first] } = found[0].panel;
  const end = Math.max(...found.map(({ run }) => run.end));
  const t = Array.from({ length: COMMON_POINTS }, (_, index) => ((index + 1) / COMMON_POINTS) * end);
  /** @type {Map<number, {label: string, courses: Course[]}>} */
  const groups = new Map();
  for (const { run, panel } of found) {
    const group = groups.get(run.group) ?? { label: run.label, courses: [] };
    group.courses.push(resampled(panel.t, panel.lines[0], t, STEPPED.has(kind)));
    groups.set(run.group, group);
  }
  const several = found.some(({ panel }) => panel.lines.length > 1) ? `, ${first.label.toLowerCase()}` : '';
  const lines = [...groups].map(([group, { label, courses }]) => ({
    label: courses.length > 1 ? `${label}${several}, median of ${courses.length}` : `${label}${several}`,
    role: String(group % 6), shown: true, ...together(courses),
  }));
  return { id, title, measure: kind, limits: [], bound: null, bound_shown: false, has_lead: true, t, lines };
}

/**
 * @param {number[]} own
 * @param {Line} line
 * @param {number[]} t
 * @param {boolean} rates whether a point speaks of the time before it
 * @returns {Course}
 */
function resampled(own, line, t, rates) {
  /** @type {Course} */
  const course = { mean: [], low: [], high: [], peak: line.peak };
  let place = 0;
  t.forEach((now, index) => {
    const from = place;
    while (place < own.length && own[place] <= now) place += 1;
    // The points of this step, or where there are none the one that holds here.
    const holds = rates ? place : place - 1;
    const [first, last] = place > from ? [from, place - 1] : [holds, holds];
    let [sum, count, low, high] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let at = first; at <= last && first >= 0; at += 1) {
      const mean = line.mean[at];
      if (mean === null || mean === undefined) continue;
      sum += mean;
      count += 1;
      low = Math.min(low, line.low?.[at] ?? mean);
      high = Math.max(high, line.high?.[at] ?? mean);
    }
    const over = (own.at(-1) ?? 0) < (index > 0 ? t[index - 1] : 0);
    course.mean.push(count > 0 && !over ? sum / count : null);
    course.low.push(count > 0 && !over ? low : null);
    course.high.push(count > 0 && !over ? high : null);
  });
  return course;
}

/**
 * The median of the runs that were alive, between the lowest and the highest of them.
 * @param {Course[]} courses
 * @returns {Course}
 */
function together(courses) {
  if (courses.length === 1) return courses[0];
  /** @type {(pick: (course: Course) => Values, sum: (values: number[]) => number) => Values} */
  const each = (pick, sum) => courses[0].mean.map((_, at) => {
    const alive = courses.flatMap((course) => pick(course)[at] ?? []);
    return alive.length > 0 ? sum(alive) : null;
  });
  const peaks = courses.flatMap((course) => (course.peak ? [course.peak] : [])).sort((a, b) => b[1] - a[1]);
  return {
    mean: each((course) => course.mean, median),
    low: each((course) => course.low, (values) => Math.min(...values)),
    high: each((course) => course.high, (values) => Math.max(...values)),
    peak: peaks[0] ?? null,
  };
}

/** @param {number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
