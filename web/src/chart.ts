/** One chart: lines of means over bands from minimum to maximum, with phases, marks and limits behind. */
import uPlot from 'uplot';
import type { Line, Mark, Panel, Span } from './data.ts';
import { announce, element } from './dom.ts';
import { clock, measure, moment, timeMarks, valueMarks } from './format.ts';
import { AXIS_WIDTH, RIGHT_SPACE } from './layout.ts';
import { Legend } from './legend.ts';
import { phaseColor } from './phases.ts';
import { color, faded, onThemeChange, roleColor } from './theme.ts';
import type { View } from './view.ts';

const FONT = '11px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
const HEIGHT = 190;

interface Backdrop {
  spans: Span[];
  marks: Mark[];
}

export function buildChart(host: HTMLElement, panel: Panel, view: View, backdrop: Backdrop): void {
  const { data, series, bands, places } = columns(panel.lines);
  const legend = new Legend(panel.lines, panel.measure, (index, shown) => {
    for (const place of places[index]) plot.setSeries(place, { show: shown });
  });
  const canvas = element('div', 'canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'group');
  canvas.setAttribute('aria-roledescription', 'chart');
  canvas.setAttribute('aria-label', describe(panel));
  host.append(legend.root, canvas);
  const options: uPlot.Options = {
    width: Math.max(canvas.clientWidth, 200),
    height: HEIGHT,
    padding: [10, RIGHT_SPACE, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: `view-${view.key}`, setSeries: false },
      drag: { x: true, y: false, setScale: false },
      y: false,
      points: { size: 7 },
      bind: { dblclick: () => () => { view.reset(); return null; } },
    },
    scales: {
      x: { time: false, range: () => [view.from, view.to] },
      y: { range: (_, _low, high) => [0, top(panel, high)] },
    },
    axes: axes(panel),
    series,
    bands,
    hooks: {
      drawClear: [(u) => drawPhases(u, backdrop.spans)],
      draw: [(u) => drawLimits(u, panel), (u) => drawMarks(u, backdrop.marks)],
      setSelect: [(u) => select(u, view)],
      setCursor: [(u) => {
        const index = u.cursor.idx ?? null;
        legend.show(index);
        view.say(index === null ? null : panel.t[index]);
      }],
    },
  };
  const plot: uPlot = new uPlot(options, [panel.t, ...data] as uPlot.AlignedData, canvas);
  panel.lines.forEach((line, index) => {
    if (!line.shown) for (const place of places[index]) plot.setSeries(place, { show: false });
  });
  view.onChange(() => plot.setScale('x', { min: view.from, max: view.to }));
  onThemeChange(() => plot.redraw(false, true));
  keyboard(canvas, plot, panel, view, legend);
  new ResizeObserver(() => {
    if (canvas.clientWidth > 0 && canvas.clientWidth !== plot.width) plot.setSize({ width: canvas.clientWidth, height: HEIGHT });
  }).observe(canvas);
}

/** Lines as uPlot's columns: a mean each, and two more for the edges of its band. */
function columns(lines: Line[]) {
  const data: (number | null)[][] = [];
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const places: number[][] = Array.from(lines, () => []);
  // Later columns are drawn on top: context first, the job last.
  for (const [index, line] of [...lines.entries()].reverse()) {
    const stroke = () => roleColor(line.role);
    const own = places[index];
    if (line.low && line.high) {
      const edge: uPlot.Series = { stroke: 'transparent', width: 0, points: { show: false } };
      series.push({ ...edge }, { ...edge });
      data.push(line.high, line.low);
      const high = series.length - 2;
      bands.push({ series: [high, high + 1], fill: () => faded(stroke(), line.role === 'system' ? 0.16 : 0.24) });
      own.push(high, high + 1);
    }
    series.push({
      stroke,
      width: line.role === 'system' || line.role === 'bound' ? 1.2 : 1.7,
      dash: line.role === 'bound' ? [5, 4] : undefined,
      points: { show: false },
      spanGaps: false,
    });
    data.push(line.mean);
    own.push(series.length - 1);
  }
  return { data, series, bands, places };
}

/** A limit far above the data would flatten it; it then stands in the table only. */
function near(panel: Panel, highest: number): [string, number][] {
  return panel.limits.filter(([, value]) => value <= highest * 1.6);
}

function top(panel: Panel, high: number | null): number {
  const highest = high ?? 0;
  const limit = Math.max(0, ...near(panel, highest).map(([, value]) => value));
  return valueMarks(panel.measure, Math.max(highest, limit) || 1, 4).at(-1) ?? 1;
}

function axes(panel: Panel): uPlot.Axis[] {
  const common = {
    stroke: () => color('faint'),
    font: FONT,
    grid: { stroke: () => color('grid'), width: 1 },
    ticks: { show: false },
  };
  return [
    {
      ...common,
      size: 26,
      splits: (u, _axis, from, to) => timeMarks(from, to, Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 95))),
      values: (_, splits) => splits.map((t) => clock(t, splits.length > 1 ? splits[1] - splits[0] : 1)),
    },
    {
      ...common,
      size: AXIS_WIDTH,
      splits: (_u, _axis, _low, high) => valueMarks(panel.measure, high, 4),
      values: (_, splits) => splits.map((value) => measure(panel.measure, value)),
    },
  ];
}

function select(u: uPlot, view: View): void {
  const { left, width } = u.select;
  if (width < 3) return;
  const from = u.posToVal(left, 'x');
  const to = u.posToVal(left + width, 'x');
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  view.set(from, to);
}

function drawPhases(u: uPlot, spans: Span[]): void {
  const { ctx, bbox } = u;
  ctx.save();
  for (const span of spans) {
    if (span.lane > 0) continue;
    const from = Math.max(u.valToPos(span.from_s, 'x', true), bbox.left);
    const to = Math.min(u.valToPos(span.to_s, 'x', true), bbox.left + bbox.width);
    if (to <= bbox.left || from >= bbox.left + bbox.width) continue;
    ctx.fillStyle = faded(phaseColor(spans, span.name), 0.09);
    ctx.fillRect(from, bbox.top, Math.max(to - from, 1), bbox.height);
  }
  ctx.restore();
}

function drawLimits(u: uPlot, panel: Panel): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const highest = (u.scales.y.max ?? 0) / 1.000001;
  ctx.save();
  ctx.font = FONT.replace('11px', `${11 * ratio}px`);
  ctx.textAlign = 'right';
  ctx.strokeStyle = ctx.fillStyle = color('limit');
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  let last = Number.NEGATIVE_INFINITY;
  const visible = panel.limits.filter(([, value]) => value <= highest * 1.000002).sort((a, b) => b[1] - a[1]);
  for (const [label, value] of visible) {
    const y = Math.round(u.valToPos(value, 'y', true));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    // Labels of neighbouring lines stand below each other.
    const above = y - 5 * ratio;
    const place = above - 11 * ratio > bbox.top && above - last > 13 * ratio ? above : Math.max(y + 12 * ratio, last + 13 * ratio);
    last = place;
    const text = `${label} ${measure(panel.measure, value)}`;
    ctx.lineWidth = 3 * ratio;
    ctx.setLineDash([]);
    ctx.strokeStyle = color('surface');
    ctx.strokeText(text, bbox.left + bbox.width - 4 * ratio, place);
    ctx.fillText(text, bbox.left + bbox.width - 4 * ratio, place);
    ctx.lineWidth = ratio;
    ctx.strokeStyle = color('limit');
    ctx.setLineDash([5 * ratio, 4 * ratio]);
  }
  ctx.restore();
}

function drawMarks(u: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = color('faint');
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  for (const mark of marks) {
    const x = Math.round(u.valToPos(mark.t_s, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function describe(panel: Panel): string {
  const lines = panel.lines.filter((line) => line.shown && line.peak)
    .map((line) => `${line.label} peaks at ${measure(panel.measure, line.peak![1])} after ${moment(line.peak![0])}`);
  return `${panel.title}. ${lines.join('; ')}. Arrow keys move the cursor, plus and minus zoom, Escape resets.`;
}

function keyboard(host: HTMLElement, u: uPlot, panel: Panel, view: View, legend: Legend): void {
  let at: number | null = null;
  const go = (index: number) => {
    at = Math.min(Math.max(index, 0), panel.t.length - 1);
    const t = panel.t[at];
    if (t < view.from || t > view.to) view.set(t - (view.to - view.from) / 2, t + (view.to - view.from) / 2);
    u.setCursor({ left: u.valToPos(t, 'x'), top: 10 });
    announce(`At ${moment(t)}. ${legend.sentence(at)}`);
  };
  host.addEventListener('keydown', (event) => {
    const here = at ?? u.cursor.idx ?? panel.t.findIndex((t) => t >= view.from);
    const jump = event.shiftKey ? 20 : 1;
    if (event.key === 'ArrowRight') go(at === null ? here : here + jump);
    else if (event.key === 'ArrowLeft') go(here - jump);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(panel.t.length - 1);
    else if (event.key === '+' || event.key === '=') view.zoom(0.5, panel.t[here]);
    else if (event.key === '-') view.zoom(2, panel.t[here]);
    else if (event.key === 'Escape') { view.reset(); at = null; }
    else return;
    event.preventDefault();
  });
  host.addEventListener('blur', () => {
    at = null;
    u.setCursor({ left: -10, top: -10 });
  });
}
