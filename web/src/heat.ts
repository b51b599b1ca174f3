/** Busy share of each core over time as a heat map. */
import type { Cores } from './data.ts';
import { element, prepare } from './dom.ts';
import { dragZoom, timeAt } from './drag.ts';
import { moment } from './format.ts';
import { AXIS_WIDTH, RIGHT_SPACE } from './layout.ts';
import { color, faded, onThemeChange } from './theme.ts';
import type { View } from './view.ts';

export function buildHeat(host: HTMLElement, cores: Cores, view: View): void {
  const row = cores.names.length <= 16 ? 12 : cores.names.length <= 64 ? 6 : 3;
  const height = row * cores.names.length;
  const readout = element('p', 'readout num', 'Each row is a core; the stronger the colour, the busier.');
  const box = element('div', 'heat-box');
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Busy share of ${cores.names.length} cores over time; the table below has the figures.`);
  box.append(canvas);
  host.append(readout, box);
  const busy = (core: number, column: number): number | null => {
    const letter = cores.rows[core].charCodeAt(column);
    return letter >= 48 ? (letter - 48) / 64 : null;
  };
  const draw = () => {
    const width = box.clientWidth;
    const context = prepare(canvas, width, height);
    if (!context || width === 0) return;
    const inner = width - AXIS_WIDTH - RIGHT_SPACE;
    const column_s = view.end / cores.columns;
    const place = (t: number) => AXIS_WIDTH + ((t - view.from) / (view.to - view.from)) * inner;
    const first = Math.max(0, Math.floor(view.from / column_s));
    const last = Math.min(cores.columns - 1, Math.ceil(view.to / column_s));
    const tint = color('c0');
    context.save();
    context.beginPath();
    context.rect(AXIS_WIDTH, 0, inner, height);
    context.clip();
    for (let core = 0; core < cores.names.length; core += 1) {
      for (let column = first; column <= last; column += 1) {
        const share = busy(core, column);
        context.fillStyle = share === null ? color('grid') : faded(tint, 0.05 + 0.95 * share);
        const from = place(column * column_s);
        context.fillRect(from, core * row, place((column + 1) * column_s) - from + 0.5, row - (row > 4 ? 1 : 0));
      }
    }
    context.restore();
    context.fillStyle = color('faint');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const every = Math.max(1, Math.ceil(cores.names.length / (height / 14)));
    cores.names.forEach((name, core) => {
      if (core % every === 0) context.fillText(name, AXIS_WIDTH - 8, core * row + row / 2);
    });
  };
  box.addEventListener('pointermove', (event) => {
    const core = Math.floor((event.clientY - box.getBoundingClientRect().top) / row);
    const t = timeAt(box, event.clientX, view);
    const column = Math.min(cores.columns - 1, Math.floor((t / view.end) * cores.columns));
    if (core < 0 || core >= cores.names.length) return;
    const share = busy(core, column);
    const text = share === null ? 'not measured' : `${Math.round(share * 100)} % busy`;
    readout.textContent = `Core ${cores.names[core]} at ${moment(t)}: ${text}`;
  });
  dragZoom(box, view);
  view.onChange(draw);
  onThemeChange(draw);
  new ResizeObserver(draw).observe(box);
}
