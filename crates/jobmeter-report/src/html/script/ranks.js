/** The map of a job's ranks over time: a row per rank, chosen figure, order and search, read by mouse and keyboard. */

/**
 * @typedef {object} PackedRanks mirrors rank_map.rs
 * @property {number} columns
 * @property {number} column_s
 * @property {string[]} nodes
 * @property {string[]} ends
 * @property {string[]} ids
 * @property {string} rank
 * @property {string} node
 * @property {string} end
 * @property {string} bad
 * @property {string} begin_ms
 * @property {string} life_ms
 * @property {string} cpu_ms
 * @property {string} peak_kib
 * @property {{id: string, title: string, measure: Measure, step: number, top: number, rows: string[]}[]} maps
 *
 * @typedef {object} RankFigure one figure of all ranks; NaN where it was not measured
 * @property {string} id
 * @property {string} title
 * @property {Measure} measure
 * @property {number} top
 * @property {Float32Array} cells row after row
 *
 * @typedef {object} Ranks lists have one entry per rank, null where unknown
 * @property {number} count
 * @property {number} columns
 * @property {number} column_s
 * @property {string[]} names
 * @property {Values} rank
 * @property {string[]} node
 * @property {string[]} end
 * @property {boolean[]} bad
 * @property {Values} begin_ms
 * @property {Values} life_ms
 * @property {Values} cpu_ms
 * @property {Values} peak_kib
 * @property {RankFigure[]} figures
 */

/** Rows of this height are comfortable; of many ranks each has one pixel. */
const RANK_ROW = 16;
const RANK_HEIGHT = 640;
const RANK_WINDOW = 1024;

/**
 * @param {PackedRanks} packed
 * @returns {Ranks}
 */
function unpackRanks(packed) {
  const { columns, column_s, nodes, ends, ids } = packed;
  const rank = unpackDifferences(packed.rank);
  const count = rank.length;
  const figures = packed.maps.map(({ id, title, measure, step, top, rows }) => {
    const cells = new Float32Array(count * columns).fill(Number.NaN);
    rows.forEach((row, place) => unpackDifferences(row).forEach((value, column) => {
      if (value !== null) cells[place * columns + column] = value * step;
    }));
    return { id, title, measure, top, cells };
  });
  const node = unpack(packed.node);
  return {
    count, columns, column_s, rank, figures,
    names: rank.map((number, place) => (number === null ? ids[place] : String(number))),
    node: rank.map((_, place) => nodes[node[place] ?? -1] ?? ''),
    end: unpack(packed.end).map((place) => ends[place ?? -1] ?? ''),
    bad: unpack(packed.bad).map((bad) => bad === 1),
    begin_ms: unpack(packed.begin_ms), life_ms: unpack(packed.life_ms),
    cpu_ms: unpack(packed.cpu_ms), peak_kib: unpack(packed.peak_kib),
  };
}

/**
 * Orders of the rows: largest first, but for ranks and nodes. What is unknown comes last.
 * @type {Record<string, [string, (ranks: Ranks, place: number) => number | null]>}
 */
const RANK_ORDERS = {
  rank: ['rank', (ranks, place) => -(ranks.rank[place] ?? Number.POSITIVE_INFINITY)],
  node: ['node', () => 0],
  cpu: ['CPU time', (ranks, place) => ranks.cpu_ms[place] ?? null],
  peak: ['peak of RAM', (ranks, place) => ranks.peak_kib[place] ?? null],
  end: ['end, last first', (ranks, place) => {
    const [begin, life] = [ranks.begin_ms[place], ranks.life_ms[place]];
    return begin === null || begin === undefined ? null : begin + (life ?? Number.POSITIVE_INFINITY);
  }],
};

/**
 * The places of the ranks that match, in order.
 * @param {Ranks} ranks
 * @param {string} order
 * @param {string} wanted
 * @returns {number[]}
 */
function orderedRanks(ranks, order, wanted) {
  const places = Array.from({ length: ranks.count }, (_, place) => place).filter((place) => rankMatches(ranks, place, wanted));
  const key = RANK_ORDERS[order][1];
  const by_node = order === 'node';
  const keys = places.map((place) => key(ranks, place) ?? Number.NEGATIVE_INFINITY);
  const by_place = new Map(places.map((place, index) => [place, keys[index]]));
  return places.sort((a, b) => {
    if (by_node && ranks.node[a] !== ranks.node[b]) return ranks.node[a].localeCompare(ranks.node[b], 'en', { numeric: true });
    const [first, second] = [by_place.get(a) ?? 0, by_place.get(b) ?? 0];
    return first === second ? (ranks.rank[a] ?? a) - (ranks.rank[b] ?? b) : second > first ? 1 : -1;
  });
}

/**
 * A number is a rank, two with a dash are all between them; other words are looked for in the node and the end.
 * @param {Ranks} ranks
 * @param {number} place
 * @param {string} wanted
 */
function rankMatches(ranks, place, wanted) {
  const number = ranks.rank[place];
  return wanted.split(/[\s,]+/).filter(Boolean).every((word) => {
    const range = /^(\d+)-(\d+)$/.exec(word);
    if (range) return number !== null && number >= Number(range[1]) && number <= Number(range[2]);
    if (/^\d+$/.test(word) && number !== null) return number === Number(word);
    return [ranks.names[place], ranks.node[place], ranks.end[place]].some((text) => text.toLowerCase().includes(word));
  });
}

class RankMap {
  /**
   * @param {HTMLElement} host
   * @param {Ranks} ranks
   * @param {View} view
   */
  constructor(host, ranks, view) {
    this.ranks = ranks;
    this.view = view;
    this.figure = ranks.figures[0];
    this.order = 'rank';
    this.wanted = '';
    /** The rows that are shown, by their place in the lists. @type {number[]} */
    this.rows = [];
    this.row_height = RANK_ROW;
    /** Row and column of the cell that is read out; -1 where none is. */
    this.row = -1;
    this.column = -1;
    this.waiting = false;
    this.box = element('div', 'ranks-box');
    this.spacer = element('div', 'ranks-spacer');
    this.canvas = element('canvas');
    this.readout = element('p', 'readout num');
    this.legend = element('p', 'ranks-legend');
    /** On paper every figure has a picture of its own, none taller than a sheet. */
    this.papers = ranks.figures.map(() => element('canvas', 'ranks-paper'));
    this.box.append(this.spacer, this.canvas);
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'group');
    this.box.setAttribute('aria-roledescription', 'map of ranks');
    host.append(this.tools(), this.legend, this.readout, this.box, ...this.papers);
    this.box.addEventListener('scroll', () => this.later());
    this.box.addEventListener('pointermove', (event) => this.hover(event));
    this.box.addEventListener('pointerleave', () => view.point(null));
    this.box.addEventListener('keydown', (event) => this.key(event));
    dragZoom(this.box, view);
    view.onChange(() => this.later());
    this.arrange();
    keepDrawn(this.box, () => this.draw());
  }

  tools() {
    const tools = element('div', 'ranks-tools');
    const which = element('div', 'ranks-which');
    which.setAttribute('role', 'group');
    which.setAttribute('aria-label', 'Figure on the map');
    const buttons = this.ranks.figures.map((figure) => pushButton('quiet', figure.title, () => {
      this.figure = figure;
      buttons.forEach((button, place) => button.setAttribute('aria-pressed', String(this.ranks.figures[place] === figure)));
      this.arrange();
      this.later();
    }));
    buttons.forEach((button, place) => button.setAttribute('aria-pressed', String(place === 0)));
    which.append(...buttons);
    const label = element('label', '', 'Sorted by');
    const select = element('select');
    for (const [value, [title]] of Object.entries(RANK_ORDERS)) {
      const option = element('option', '', title);
      option.value = value;
      select.append(option);
    }
    select.addEventListener('change', () => {
      this.order = select.value;
      this.arrange();
      this.later();
    });
    label.append(select);
    const filter = element('input', 'filter');
    filter.type = 'search';
    filter.placeholder = 'Find 17, 32-47, a node, killed …';
    filter.setAttribute('aria-label', 'Show only ranks of this number, range, node or end');
    filter.addEventListener('input', () => {
      this.wanted = filter.value.toLowerCase();
      this.arrange();
      this.later();
    });
    tools.append(which, label, filter);
    return tools;
  }

  /** Decides which rows are shown, in which order and how high. */
  arrange() {
    const { ranks, figure } = this;
    this.rows = orderedRanks(ranks, this.order, this.wanted);
    this.row = this.column = -1;
    this.row_height = within(Math.floor(RANK_HEIGHT / Math.max(this.rows.length, 1)), 1, RANK_ROW);
    const height = this.rows.length * this.row_height;
    this.spacer.style.height = `${height + RANK_AXIS}px`;
    this.box.style.height = `${Math.min(height, RANK_WINDOW) + RANK_AXIS}px`;
    this.box.scrollTop = 0;
    const top = format(figure.top, figure.measure);
    const ramp = element('span', 'ramp');
    this.legend.replaceChildren('0', ramp, element('span', 'num', `${top}, the highest of all ranks`), element('span', '', 'empty: not measured, or not alive'));
    if (ranks.bad.includes(true)) this.legend.append(element('span', '', '× or a bar at the right: did not succeed'));
    this.box.setAttribute('aria-label', `${figure.title} of ${this.rows.length} ranks over time, from 0 to ${top}. `
      + 'Up and down choose a rank, left and right a moment, plus and minus zoom, Escape resets; the table below has the figures.');
    this.readout.textContent = this.wanted ? `${this.rows.length} of ${ranks.count} ranks match` : 'Point at the map to read a rank; drag to zoom.';
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const width = drawingWidth(this.box);
    if (width === 0) return;
    if (printing) this.papers.forEach((paper, place) => drawRanksOnPaper(paper, this, this.ranks.figures[place], width));
    else drawRanksOnScreen(this.canvas, this, width);
  }

  /** @param {number} t */
  columnAt(t) {
    return within(Math.floor(t / this.ranks.column_s), 0, this.ranks.columns - 1);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const t = timeAt(this.box, event.clientX, this.view);
    this.view.point(t);
    const y = event.clientY - this.box.getBoundingClientRect().top + this.box.scrollTop;
    this.choose(Math.floor(y / this.row_height), this.columnAt(t));
  }

  /**
   * @param {number} row
   * @param {number} column
   */
  choose(row, column) {
    if (row < 0 || row >= this.rows.length || (row === this.row && column === this.column)) return;
    this.row = row;
    this.column = column;
    this.readout.textContent = this.describe();
    this.later();
  }

  describe() {
    const { ranks, figure, column } = this;
    const place = this.rows[this.row];
    const value = figure.cells[place * ranks.columns + column];
    const [cpu, peak] = [ranks.cpu_ms[place], ranks.peak_kib[place]];
    const parts = [
      `${ranks.rank[place] === null ? '' : 'Rank '}${ranks.names[place]}${ranks.node[place] ? ` on ${ranks.node[place]}` : ''}`,
      `${figure.title} at ${moment((column + 0.5) * ranks.column_s)}: ${Number.isNaN(value) ? 'not measured' : format(value, figure.measure)}`,
    ];
    if (cpu !== null && cpu !== undefined) parts.push(`CPU time in all ${duration(cpu / 1e3)}`);
    if (peak !== null && peak !== undefined) parts.push(`peak ${bytes(peak * 1024)}`);
    return [...parts, ranks.end[place]].join(' · ');
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { view, rows, ranks } = this;
    /** @type {Record<string, [number, number]>} */
    const steps = {
      ArrowDown: [1, 0], ArrowUp: [-1, 0], PageDown: [20, 0], PageUp: [-20, 0], Home: [-rows.length, 0], End: [rows.length, 0],
      ArrowRight: [0, 1], ArrowLeft: [0, -1],
    };
    const step = steps[event.key];
    if (step && rows.length > 0) {
      const first = this.row < 0;
      const jump = event.shiftKey ? 10 : 1;
      const row = first ? 0 : within(this.row + step[0] * jump, 0, rows.length - 1);
      const column = first ? this.columnAt(view.from) : within(this.column + step[1] * jump, 0, ranks.columns - 1);
      this.choose(row, column);
      const t = (column + 0.5) * ranks.column_s;
      const width = view.to - view.from;
      if (t < view.from || t > view.to) view.set(t - width / 2, t + width / 2);
      view.point(t);
      scrollToRow(this.box, row * this.row_height, this.row_height, RANK_WINDOW);
      announce(this.describe());
    } else if (!view.zoomByKey(event.key)) return;
    event.preventDefault();
  }
}
