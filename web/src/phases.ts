/** The strip of phases above the charts, in step with their zoom. */
import type { Span } from './data.ts';
import { element } from './dom.ts';
import { duration } from './format.ts';
import { AXIS_WIDTH, RIGHT_SPACE } from './layout.ts';
import { color, faded, onThemeChange } from './theme.ts';
import type { View } from './view.ts';

const LANE = 20;
const MAX_LANES = 4;

/** The same name has the same colour; neighbours differ. */
export function phaseColor(spans: Span[], name: string): string {
  const names: string[] = [];
  for (const span of spans) {
    if (!names.includes(span.name)) names.push(span.name);
    if (span.name === name || names.length > 24) break;
  }
  return color(`c${(names.length - 1) % 6}`);
}

export function buildPhases(host: HTMLElement, spans: Span[], view: View): void {
  const lanes = Math.min(MAX_LANES, Math.max(...spans.map((span) => span.lane)) + 1);
  host.style.height = `${lanes * LANE}px`;
  host.setAttribute('aria-hidden', 'true');
  const draw = () => {
    host.replaceChildren();
    const width = host.clientWidth - AXIS_WIDTH - RIGHT_SPACE;
    const place = (t: number) => ((t - view.from) / (view.to - view.from)) * width;
    for (const span of spans) {
      if (span.lane >= lanes || span.to_s < view.from || span.from_s > view.to) continue;
      const from = Math.max(place(span.from_s), 0);
      const to = Math.min(place(span.to_s), width);
      const box = element('div', 'phase');
      const tint = phaseColor(spans, span.name);
      box.style.left = `${AXIS_WIDTH + from}px`;
      box.style.width = `${Math.max(to - from, 1)}px`;
      box.style.top = `${span.lane * LANE}px`;
      box.style.background = faded(tint, 0.18);
      box.style.borderLeftColor = tint;
      box.title = `${span.name}: ${duration(span.to_s - span.from_s)}`;
      if (to - from > 24) box.append(element('bdi', '', span.name));
      box.addEventListener('dblclick', () => view.set(span.from_s, span.to_s));
      host.append(box);
    }
  };
  view.onChange(draw);
  onThemeChange(draw);
  new ResizeObserver(draw).observe(host);
}
