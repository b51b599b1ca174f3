/** The leading line of a panel from each run, put on one common time axis. */

/**
 * @param {Run[]} runs
 * @param {string} id
 * @returns {Panel | null}
 */
function overlaid(runs, id) {
  const found = runs.flatMap((run, index) => {
    const panel = run.panels.find((candidate) => candidate.id === id);
    return panel?.has_lead ? [{ panel, line: panel.lines[0], label: run.label, index }] : [];
  });
  if (found.length === 0) return null;
  const { title, measure: kind } = found[0].panel;
  const t = [...new Set(found.flatMap(({ panel }) => panel.t))].sort((a, b) => a - b);
  const lines = found.map(({ panel, line, label, index }) => {
    const places = placesOn(t, panel.t, STEPPED.has(kind));
    /** @param {Values | null} values */
    const spread = (values) => values && places.map((place) => (place === null ? null : values[place]));
    const name = found.length > 1 && panel.lines.length > 1 ? `${label}, ${line.label.toLowerCase()}` : label;
    return {
      label: name, role: String(index % 6), shown: true, peak: line.peak,
      mean: spread(line.mean) ?? [], low: spread(line.low), high: spread(line.high),
    };
  });
  return { id, title, measure: kind, limits: [], bound: null, bound_shown: false, has_lead: true, t, lines };
}

/**
 * For each time of the common axis the place in a run's own axis that holds there: the last one not after it, or for
 * rates, which speak of the time before them, the first one not before it. None outside of the run's own points.
 * @param {number[]} t
 * @param {number[]} own
 * @param {boolean} rates
 */
function placesOn(t, own, rates) {
  let place = 0;
  return t.map((now) => {
    if (own.length === 0 || now < own[0] || now > own[own.length - 1]) return null;
    while (rates ? own[place] < now : own[place + 1] <= now) place += 1;
    return place;
  });
}
