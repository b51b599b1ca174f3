/** The process timeline: every process a bar from start to end, drawn on a canvas no taller than its window. */
import type { Processes } from './data.ts';
import { announce, element, prepare } from './dom.ts';
import { dragZoom, timeAt } from './drag.ts';
import { bytes, duration, moment } from './format.ts';
import { type Layout, packedLayout, treeLayout } from './lanes.ts';
import { AXIS_WIDTH, RIGHT_SPACE } from './layout.ts';
import { color, faded, onThemeChange } from './theme.ts';
import type { View } from './view.ts';

const ROW = 17;
const MAX_HEIGHT = 420;
/** From this many on, packed rows are the better first look. */
const MANY = 150;

export function buildGantt(host: HTMLElement, processes: Processes, view: View): void {
  new Gantt(host, processes, view);
}

class Gantt {
  private readonly box = element('div', 'gantt-box');
  private readonly spacer = element('div', 'gantt-spacer');
  private readonly canvas = element('canvas');
  private readonly readout = element('p', 'readout num');
  private readonly filter = element('input', 'filter');
  private layout: Layout;
  private by_row: number[][] = [];
  private packed: boolean;
  private chosen = -1;
  private wanted = '';
  private waiting = false;

  constructor(host: HTMLElement, private readonly processes: Processes, private readonly view: View) {
    this.packed = processes.pid.length > MANY;
    this.layout = this.arrange();
    host.append(this.tools(), this.readout, this.box);
    this.box.append(this.spacer, this.canvas);
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'group');
    this.box.setAttribute('aria-label', `Timeline of ${processes.pid.length} processes. Arrow keys choose a process, plus and minus zoom; the table below has the figures.`);
    this.box.addEventListener('scroll', () => this.later());
    this.box.addEventListener('pointermove', (event) => this.hover(event));
    this.box.addEventListener('keydown', (event) => this.key(event));
    dragZoom(this.box, view);
    view.onChange(() => this.later());
    onThemeChange(() => this.later());
    new ResizeObserver(() => this.later()).observe(this.box);
    this.say(-1);
    this.later();
  }

  private tools(): HTMLElement {
    const tools = element('div', 'gantt-tools');
    this.filter.type = 'search';
    this.filter.placeholder = 'Highlight by name or PID';
    this.filter.setAttribute('aria-label', 'Highlight processes by name or PID');
    this.filter.addEventListener('input', () => {
      this.wanted = this.filter.value.toLowerCase();
      const found = this.wanted ? this.processes.pid.filter((_, index) => this.matches(index)).length : 0;
      if (this.wanted) this.readout.textContent = `${found} processes match`;
      this.later();
    });
    const rows = element('button', 'quiet', 'One row each');
    rows.type = 'button';
    rows.setAttribute('aria-pressed', String(!this.packed));
    rows.addEventListener('click', () => {
      this.packed = !this.packed;
      rows.setAttribute('aria-pressed', String(!this.packed));
      this.layout = this.arrange();
      this.box.scrollTop = 0;
      this.later();
    });
    tools.append(this.filter, rows);
    return tools;
  }

  private arrange(): Layout {
    const layout = this.packed ? packedLayout(this.processes, this.view.end * 1e6) : treeLayout(this.processes);
    this.by_row = Array.from({ length: layout.rows }, () => []);
    layout.row.forEach((row, index) => this.by_row[row].push(index));
    const height = layout.rows * ROW;
    this.spacer.style.height = `${height}px`;
    this.box.style.height = `${Math.min(height, MAX_HEIGHT)}px`;
    return layout;
  }

  private matches(index: number): boolean {
    const { names, name, pid } = this.processes;
    return names[name[index]].toLowerCase().includes(this.wanted) || String(pid[index]) === this.wanted;
  }

  private ends(index: number): [number, number] {
    const { start_us, life_us } = this.processes;
    const life = life_us[index];
    return [start_us[index] / 1e6, life === null ? this.view.end : (start_us[index] + life) / 1e6];
  }

  private later(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const width = this.box.clientWidth;
    const height = this.box.clientHeight;
    if (width === 0) return;
    const context = prepare(this.canvas, width, height);
    if (!context) return;
    const inner = width - AXIS_WIDTH - RIGHT_SPACE;
    const scroll = this.box.scrollTop;
    const place = (t: number) => AXIS_WIDTH + ((t - this.view.from) / (this.view.to - this.view.from)) * inner;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const first = Math.floor(scroll / ROW);
    const last = Math.min(this.layout.rows - 1, Math.ceil((scroll + height) / ROW));
    for (let row = first; row <= last; row += 1) {
      const y = row * ROW - scroll;
      if (!this.packed) this.side(context, this.by_row[row][0], y);
      for (const index of this.by_row[row]) {
        const [from_s, to_s] = this.ends(index);
        if (to_s < this.view.from || from_s > this.view.to) continue;
        const from = Math.max(place(from_s), AXIS_WIDTH);
        const to = Math.min(place(to_s), AXIS_WIDTH + inner);
        this.bar(context, index, from, Math.max(to - from, 1.5), y);
      }
    }
  }

  /** The name at the left, indented by depth, where each process has its own row. */
  private side(context: CanvasRenderingContext2D, index: number, y: number): void {
    const { names, name } = this.processes;
    context.save();
    context.beginPath();
    context.rect(0, y, AXIS_WIDTH - 4, ROW);
    context.clip();
    context.fillStyle = color('faint');
    context.fillText(names[name[index]].slice(0, 40), Math.min(this.layout.depth[index], 5) * 6, y + ROW / 2);
    context.restore();
  }

  private bar(context: CanvasRenderingContext2D, index: number, x: number, width: number, y: number): void {
    const { names, name, status } = this.processes;
    const faint = this.wanted !== '' && !this.matches(index);
    const failed = (status[index] ?? 0) > 0;
    const tint = failed ? color('bad') : color(`c${name[index] % 6}`);
    context.fillStyle = faded(tint, faint ? 0.1 : index === this.chosen ? 0.8 : 0.42);
    context.fillRect(x, y + 2, width, ROW - 4);
    if (width < 40 || faint) return;
    context.save();
    context.beginPath();
    context.rect(x, y, width - 3, ROW);
    context.clip();
    context.fillStyle = color('text');
    context.fillText(names[name[index]].slice(0, 60), x + 5, y + ROW / 2);
    context.restore();
  }

  private at(event: PointerEvent): number {
    const bounds = this.box.getBoundingClientRect();
    const row = Math.floor((event.clientY - bounds.top + this.box.scrollTop) / ROW);
    const t = timeAt(this.box, event.clientX, this.view);
    // Two pixels of grace: short processes are thinner than a pointer.
    const grace = ((this.view.to - this.view.from) / Math.max(bounds.width, 1)) * 2;
    const here = (this.by_row[row] ?? []).filter((index) => {
      const [from, to] = this.ends(index);
      return t >= from - grace && t <= to + grace;
    });
    return here.length > 0 ? here[here.length - 1] : this.packed ? -1 : this.by_row[row]?.[0] ?? -1;
  }

  private hover(event: PointerEvent): void {
    const index = this.at(event);
    if (index !== this.chosen) this.choose(index);
  }

  private choose(index: number): void {
    this.chosen = index;
    this.say(index);
    this.later();
  }

  private say(index: number): void {
    this.readout.textContent = index < 0 ? 'Point at a bar to see its process; drag to zoom.' : this.describe(index);
  }

  private describe(index: number): string {
    const { names, name, pid, parent, cpu_us, rss_kib, status, life_us } = this.processes;
    const [from, to] = this.ends(index);
    const [label, cpu, rss, code] = [names[name[index]], cpu_us[index], rss_kib[index], status[index]];
    const parts = [
      label.length > 80 ? `${label.slice(0, 80)}…` : label,
      `PID ${pid[index]} of ${parent[index]}`,
      `from ${moment(from)}`,
      life_us[index] === null ? 'still running' : `for ${duration(to - from)}`,
      cpu === null ? 'CPU unknown' : `CPU ${duration(cpu / 1e6)}`,
      rss === null ? 'RAM unknown' : `peak ${bytes(rss * 1024)}`,
    ];
    if (code !== null) parts.push((code & 0x7f) === 0 ? `exit ${(code >> 8) & 0xff}` : `signal ${code & 0x7f}`);
    return parts.join(' · ');
  }

  private key(event: KeyboardEvent): void {
    const count = this.processes.pid.length;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (step !== undefined) {
      const index = Math.min(Math.max(this.chosen + step, 0), count - 1);
      this.choose(index);
      const y = this.layout.row[index] * ROW;
      if (y < this.box.scrollTop || y > this.box.scrollTop + this.box.clientHeight - ROW) this.box.scrollTop = y - this.box.clientHeight / 2;
      announce(this.describe(index));
    } else if (event.key === '+' || event.key === '=') this.view.zoom(0.5);
    else if (event.key === '-') this.view.zoom(2);
    else if (event.key === 'ArrowRight') this.view.pan(0.2);
    else if (event.key === 'ArrowLeft') this.view.pan(-0.2);
    else if (event.key === 'Escape') this.view.reset();
    else return;
    event.preventDefault();
  }
}
