/** The JSON block of the page, and its series unpacked. Mirrors payload.rs beside this folder. */

/**
 * @typedef {'cores' | 'bytes' | 'bytes_per_second' | 'count' | 'per_second'
 *   | 'ratio' | 'watts' | 'celsius' | 'hertz' | 'plain'} Measure
 * @typedef {(number | null)[]} Values one entry per point or process; null where unknown
 * @typedef {{name: string, from_s: number, to_s: number, lane: number}} Span
 * @typedef {{name: string, t_s: number}} Mark
 * @typedef {{names: string[], columns: number, rows: string[]}} Cores
 *
 * @typedef {object} PackedLine
 * @property {string} label
 * @property {string} role
 * @property {boolean} shown
 * @property {number} step
 * @property {string} mean
 * @property {string} [below]
 * @property {string} [above]
 * @property {[number, number] | null} peak
 *
 * @typedef {object} PackedPanel
 * @property {string} id
 * @property {string} title
 * @property {Measure} measure
 * @property {[string, number][]} limits
 * @property {[string, number] | null} bound what the peak of the first line cannot exceed
 * @property {boolean} has_lead whether the first line stands for the panel among several runs
 * @property {PackedLine[]} lines
 *
 * @typedef {object} PackedRun
 * @property {string} label
 * @property {number} group runs of one name have the same number
 * @property {string} note what tells it from others of its name
 * @property {number} end_s
 * @property {string} t_us
 * @property {PackedPanel[]} panels
 * @property {Cores | null} cores
 * @property {Span[]} spans
 * @property {Mark[]} marks
 * @property {{names: string[]} & Record<Exclude<keyof Processes, 'names'>, string>} processes
 * @property {PackedRanks | null} ranks
 *
 * @typedef {object} Processes one entry per process in every list but `names`
 * @property {string[]} names
 * @property {number[]} name
 * @property {number[]} pid
 * @property {number[]} parent
 * @property {number[]} start_us
 * @property {Values} life_us
 * @property {Values} cpu_us
 * @property {Values} rss_kib
 * @property {Values} status
 *
 * @typedef {object} Line a line of a chart: means, and where ticks were merged their minima and maxima
 * @property {string} label
 * @property {string} role
 * @property {boolean} shown
 * @property {Values} mean
 * @property {Values | null} low
 * @property {Values | null} high
 * @property {[number, number] | null} peak
 *
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} title
 * @property {Measure} measure
 * @property {[string, number][]} limits
 * @property {[string, number] | null} bound
 * @property {boolean} bound_shown
 * @property {boolean} has_lead
 * @property {number[]} t
 * @property {Line[]} lines
 *
 * @typedef {object} Run
 * @property {string} label
 * @property {number} group
 * @property {string} note
 * @property {number} end
 * @property {Panel[]} panels
 * @property {Cores | null} cores
 * @property {Span[]} spans
 * @property {Mark[]} marks
 * @property {Processes} processes
 * @property {PackedRanks | null} ranks
 */

/** @returns {Run[]} */
function readRuns() {
  const block = document.getElementById('data');
  /** @type {{runs: PackedRun[]}} */
  const packed = JSON.parse(block?.textContent ?? '{"runs":[]}');
  return packed.runs.map(unpackRun);
}

/**
 * @param {PackedRun} run
 * @returns {Run}
 */
function unpackRun(run) {
  const t = known(unpackDifferences(run.t_us)).map((us) => us / 1e6);
  const panels = run.panels.map((panel) => ({ ...panel, t, bound_shown: false, lines: panel.lines.map(unpackLine) }));
  const { label, group, note, cores, spans, marks, ranks } = run;
  const processes = unpackProcesses(run.processes);
  return { label, group, note, end: Math.max(run.end_s, 1e-6), panels, cores, spans, marks, processes, ranks };
}

/**
 * A column that has no gaps.
 * @param {Values} values
 */
function known(values) {
  return values.map((value) => value ?? 0);
}

/**
 * @param {PackedLine} line
 * @returns {Line}
 */
function unpackLine(line) {
  const { label, role, shown, step, peak, below, above } = line;
  const steps = unpackDifferences(line.mean);
  const mean = steps.map((value) => (value === null ? null : value * step));
  /** @type {(packed: string | undefined, sign: number) => Values | null} */
  const away = (packed, sign) => {
    if (packed === undefined) return null;
    const distance = known(unpack(packed));
    return steps.map((value, index) => (value === null ? null : (value + sign * distance[index]) * step));
  };
  return { label, role, shown, mean, low: away(below, -1), high: away(above, 1), peak };
}

/**
 * @param {PackedRun['processes']} packed
 * @returns {Processes}
 */
function unpackProcesses(packed) {
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
