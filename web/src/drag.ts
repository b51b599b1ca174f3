/** Zooming by dragging over a canvas that is not a chart, with the same feel as on the charts. */
import { element } from './dom.ts';
import { AXIS_WIDTH, RIGHT_SPACE } from './layout.ts';
import type { View } from './view.ts';

/** The time at a horizontal place in the box. */
export function timeAt(box: HTMLElement, client_x: number, view: View): number {
  const bounds = box.getBoundingClientRect();
  const share = (client_x - bounds.left - AXIS_WIDTH) / (bounds.width - AXIS_WIDTH - RIGHT_SPACE);
  return view.from + Math.min(Math.max(share, 0), 1) * (view.to - view.from);
}

export function dragZoom(box: HTMLElement, view: View): void {
  const mark = element('div', 'drag');
  mark.hidden = true;
  box.append(mark);
  let from: number | null = null;
  box.addEventListener('pointerdown', (event) => {
    // Fingers scroll; only a mouse or a pen draws a range.
    if (event.pointerType === 'touch' || event.button !== 0) return;
    const bounds = box.getBoundingClientRect();
    if (event.clientX > bounds.left + box.clientWidth) return;
    from = event.clientX;
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener('pointermove', (event) => {
    if (from === null) return;
    const left = box.getBoundingClientRect().left;
    mark.hidden = Math.abs(event.clientX - from) < 3;
    mark.style.left = `${Math.min(from, event.clientX) - left}px`;
    mark.style.width = `${Math.abs(event.clientX - from)}px`;
    mark.style.top = `${box.scrollTop}px`;
  });
  box.addEventListener('pointerup', (event) => {
    if (from !== null && Math.abs(event.clientX - from) >= 3) {
      const ends = [timeAt(box, from, view), timeAt(box, event.clientX, view)].sort((a, b) => a - b);
      view.set(ends[0], ends[1]);
    }
    from = null;
    mark.hidden = true;
  });
  box.addEventListener('pointercancel', () => {
    from = null;
    mark.hidden = true;
  });
  box.addEventListener('dblclick', () => view.reset());
}
