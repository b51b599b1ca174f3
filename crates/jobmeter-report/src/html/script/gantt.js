/** The process timeline: every process a bar from start to end, drawn on a canvas no taller than its window. */

const GANTT_ROW = 17;
const GANTT_HEIGHT = 420;
/** From this many on, packed rows are the better first look. */
const MANY_PROCESSES = 150;

class Gantt {
  /**
   * @param {HTMLElement} host
   * @param {Processes} processes
   * @param {View} view
   */
  constructor(host, processes, view) {
    this.processes = processes;
    this.view = view;
    this.box = element('div', 'gantt-box');
    this.spacer = element('div', 'gantt-spacer');
    this.canvas = element('canvas');
    this.readout = element('p', 'readout num');
    this.chosen = -1;
    this.wanted = '';
    this.waiting = false;
    this.packed = processes.pid.length > MANY_PROCESSES;
    /** Processes whose descendants are hidden. @type {Set<number>} */
    this.folded = new Set();
    /** The processes of each row that is shown, and the row of each process; -1 where it is not shown. @type {number[][]} */
    this.rows = [];
    this.row_of = new Int32Array(processes.pid.length);
    /** @type {Map<string, number>} */
    const programs = new Map();
    /** The colour of each name: that of its program. */
    this.tints = processes.names.map((name) => {
      const program = programOf(name);
      if (!programs.has(program)) programs.set(program, programs.size);
      return (programs.get(program) ?? 0) % 6;
    });
    this.layout = this.lay();
    this.arrange();
    host.append(this.tools(), this.readout, this.box);
    this.box.append(this.spacer, this.canvas);
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'group');
    this.box.setAttribute('aria-label', `Timeline of ${processes.pid.length} processes. Arrow keys choose a process, Enter folds its descendants, plus and minus zoom; the table below has the figures.`);
    this.box.addEventListener('scroll', () => this.later());
    this.box.addEventListener('pointermove', (event) => this.hover(event));
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.box.addEventListener('click', (event) => {
      if (event.clientX - this.box.getBoundingClientRect().left < AXIS_WIDTH) this.fold(this.under(event));
    });
    dragZoom(this.box, view);
    view.onChange(() => this.later());
    this.say(-1);
    keepDrawn(this.box, () => this.draw());
  }

  tools() {
    const tools = element('div', 'gantt-tools');
    const filter = element('input', 'filter');
    filter.type = 'search';
    filter.placeholder = 'Find by command or PID';
    filter.setAttribute('aria-label', 'Show only processes with this in their command line, or of this PID');
    filter.addEventListener('input', () => {
      this.wanted = filter.value.toLowerCase();
      this.refresh();
      if (this.wanted) this.readout.textContent = `${this.rows.flat().length} processes match`;
      else this.say(-1);
    });
    const rows = pushButton('quiet', 'One row each', () => {
      this.packed = !this.packed;
      rows.setAttribute('aria-pressed', String(!this.packed));
      this.layout = this.lay();
      this.refresh();
    });
    rows.setAttribute('aria-pressed', String(!this.packed));
    tools.append(filter, rows);
    return tools;
  }

  lay() {
    return this.packed ? packedLayout(this.processes, this.view.end * 1e6) : treeLayout(this.processes);
  }

  refresh() {
    this.arrange();
    this.box.scrollTop = 0;
    this.later();
  }

  /** Decides which rows are shown: those that match, and none below a folded process. */
  arrange() {
    /** @type {number[][]} */
    const all_rows = Array.from({ length: this.layout.rows }, () => []);
    this.layout.row.forEach((row, index) => all_rows[row].push(index));
    let hidden_below = Number.POSITIVE_INFINITY;
    this.rows = all_rows.flatMap((row) => {
      if (this.wanted) {
        const found = row.filter((index) => this.matches(index));
        return found.length > 0 ? [found] : [];
      }
      const depth = this.layout.depth[row[0]];
      if (!this.packed && depth > hidden_below) return [];
      hidden_below = !this.packed && this.folded.has(row[0]) ? depth : Number.POSITIVE_INFINITY;
      return [row];
    });
    this.row_of.fill(-1);
    this.rows.forEach((row, place) => row.forEach((index) => { this.row_of[index] = place; }));
    const height = this.rows.length * GANTT_ROW;
    this.spacer.style.height = `${height}px`;
    this.box.style.height = `${within(height, GANTT_ROW, GANTT_HEIGHT)}px`;
  }

  /**
   * Hides or shows the descendants of a process, where each has a row of its own.
   * @param {number} index
   */
  fold(index) {
    if (this.packed || this.wanted || index < 0 || this.layout.children[index] === 0) return;
    if (!this.folded.delete(index)) this.folded.add(index);
    this.arrange();
    this.later();
    announce(`${this.nameOf(index)}: ${this.layout.children[index]} descendants ${this.folded.has(index) ? 'hidden' : 'shown'}`);
  }

  /** @param {number} index */
  nameOf(index) {
    return this.processes.names[this.processes.name[index]];
  }

  /** @param {number} index */
  matches(index) {
    return this.nameOf(index).toLowerCase().includes(this.wanted) || String(this.processes.pid[index]) === this.wanted;
  }

  /**
   * @param {number} index
   * @returns {[number, number]}
   */
  ends(index) {
    const { start_us, life_us } = this.processes;
    const life = life_us[index];
    return [start_us[index] / 1e6, life === null ? this.view.end : (start_us[index] + life) / 1e6];
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
    const height = within(this.rows.length * GANTT_ROW, GANTT_ROW, GANTT_HEIGHT);
    if (width === 0) return;
    const context = prepare(this.canvas, width, height);
    if (!context) return;
    const inner = width - AXIS_WIDTH - RIGHT_SPACE;
    const scroll = this.box.scrollTop;
    /** @param {number} t */
    const place = (t) => AXIS_WIDTH + ((t - this.view.from) / (this.view.to - this.view.from)) * inner;
    context.font = FONT;
    context.textBaseline = 'middle';
    const first = Math.floor(scroll / GANTT_ROW);
    const last = Math.min(this.rows.length - 1, Math.ceil((scroll + height) / GANTT_ROW));
    for (let row = first; row <= last; row += 1) {
      const y = row * GANTT_ROW - scroll;
      if (!this.packed) this.side(context, this.rows[row][0], y);
      for (const index of this.rows[row]) {
        const [from_s, to_s] = this.ends(index);
        if (to_s < this.view.from || from_s > this.view.to) continue;
        const from = Math.max(place(from_s), AXIS_WIDTH);
        const to = Math.min(place(to_s), AXIS_WIDTH + inner);
        this.bar(context, index, from, Math.max(to - from, 1.5), y, AXIS_WIDTH + inner);
      }
    }
  }

  /**
   * The name at the left, indented by depth, where each process has its own row.
   * @param {CanvasRenderingContext2D} context
   * @param {number} index
   * @param {number} y
   */
  side(context, index, y) {
    context.fillStyle = color('faint');
    const indent = Math.min(this.layout.depth[index], 5) * 6;
    const mark = this.layout.children[index] === 0 || this.wanted ? '' : this.folded.has(index) ? '▸ ' : '▾ ';
    // The whole command line stands at its bar.
    clippedText(context, `${mark}${programOf(this.nameOf(index)).slice(0, 40)}`, indent, y, AXIS_WIDTH - 4 - indent);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} index
   * @param {number} x
   * @param {number} width
   * @param {number} y
   * @param {number} right end of the drawing
   */
  bar(context, index, x, width, y, right) {
    const { name, status } = this.processes;
    const tint = (status[index] ?? 0) > 0 ? color('bad') : color(`c${this.tints[name[index]]}`);
    context.fillStyle = faded(tint, index === this.chosen ? 0.8 : 0.42);
    context.fillRect(x, y + 2, width, GANTT_ROW - 4);
    const hidden = this.folded.has(index) && !this.packed ? ` + ${this.layout.children[index]}` : '';
    const text = `${withoutFolder(this.nameOf(index)).slice(0, 200)}${hidden}`;
    // In a row of its own, what does not fit into a short bar stands beside it.
    const beside = right - x - width;
    if (!this.packed && width < 120 && beside > 2 * width && context.measureText(text).width > width - 8) {
      context.fillStyle = color('faint');
      clippedText(context, text, x + width + 5, y, beside - 8);
    } else if (width >= 40) {
      context.fillStyle = color('text');
      clippedText(context, text, x + 5, y, width - 8);
    }
  }

  /** @param {MouseEvent} event */
  under(event) {
    const bounds = this.box.getBoundingClientRect();
    const row = Math.floor((event.clientY - bounds.top + this.box.scrollTop) / GANTT_ROW);
    const t = timeAt(this.box, event.clientX, this.view);
    // Two pixels of grace: short processes are thinner than a pointer.
    const grace = ((this.view.to - this.view.from) / Math.max(bounds.width, 1)) * 2;
    const here = (this.rows[row] ?? []).filter((index) => {
      const [from, to] = this.ends(index);
      return t >= from - grace && t <= to + grace;
    });
    return here.at(-1) ?? (this.packed ? -1 : this.rows[row]?.[0] ?? -1);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const index = this.under(event);
    if (index !== this.chosen) this.choose(index);
  }

  /** @param {number} index */
  choose(index) {
    this.chosen = index;
    this.say(index);
    this.later();
  }

  /** @param {number} index */
  say(index) {
    this.readout.textContent = index >= 0 ? this.describe(index) : `Point at a bar to see its process; drag to zoom${this.packed ? '' : '; click a name to fold its descendants'}.`;
  }

  /** @param {number} index */
  describe(index) {
    const { pid, parent, cpu_us, rss_kib, status, life_us } = this.processes;
    const [from, to] = this.ends(index);
    const [label, cpu, rss, code] = [this.nameOf(index), cpu_us[index], rss_kib[index], status[index]];
    const parts = [
      label.length > 160 ? `${label.slice(0, 160)}…` : label,
      `PID ${pid[index]} of ${parent[index]}`,
      `from ${moment(from)}`,
      life_us[index] === null ? 'still running' : `for ${duration(to - from)}`,
      cpu === null ? 'CPU unknown' : `CPU ${duration(cpu / 1e6)}`,
      rss === null ? 'RAM unknown' : `peak ${bytes(rss * 1024)}`,
    ];
    if (code !== null) parts.push((code & 0x7f) === 0 ? `exit ${(code >> 8) & 0xff}` : `signal ${code & 0x7f}`);
    return parts.join(' · ');
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    const step = steps[event.key];
    if (step !== undefined) {
      const order = this.rows.flat();
      if (order.length === 0) return;
      const index = order[within(order.indexOf(this.chosen) + step, 0, order.length - 1)];
      this.choose(index);
      scrollToRow(this.box, this.row_of[index] * GANTT_ROW, GANTT_ROW, this.box.clientHeight);
      announce(this.describe(index));
    } else if (event.key === 'ArrowRight') this.view.pan(0.2);
    else if (event.key === 'ArrowLeft') this.view.pan(-0.2);
    else if (event.key === 'Enter') this.fold(this.chosen);
    else if (!this.view.zoomByKey(event.key)) return;
    event.preventDefault();
  }
}

/**
 * A command line as a person says it: `python train.py`, not `/usr/bin/python train.py`.
 * @param {string} command
 */
function withoutFolder(command) {
  return command.replace(/^[^\s']*\//, '');
}

/** @param {string} command */
function programOf(command) {
  return withoutFolder(command).split(' ', 1)[0];
}

/**
 * Text of one row, cut at a width, with a sign that it was.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {number} width
 */
function clippedText(context, text, x, y, width) {
  const room = Math.abs(width);
  let shown = text;
  if (context.measureText(text).width > room) {
    // The longest beginning that fits: between `fits` letters and `long` ones.
    let [fits, long] = [0, text.length];
    while (long - fits > 1) {
      const middle = (fits + long) >> 1;
      if (context.measureText(`${text.slice(0, middle)}…`).width > room) long = middle;
      else fits = middle;
    }
    shown = fits > 0 ? `${text.slice(0, fits)}…` : '';
  }
  context.fillText(shown, x, y + GANTT_ROW / 2);
}
