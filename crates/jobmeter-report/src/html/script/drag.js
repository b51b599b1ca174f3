/** Zooming by dragging over anything that has the time from left to right. */

/**
 * The time at a horizontal place in the box.
 * @param {HTMLElement} box
 * @param {number} client_x
 * @param {View} view
 */
function timeAt(box, client_x, view) {
  const left = box.getBoundingClientRect().left + AXIS_WIDTH;
  const share = (client_x - left) / (box.clientWidth - AXIS_WIDTH - RIGHT_SPACE);
  return view.from + within(share, 0, 1) * (view.to - view.from);
}

/**
 * Scrolls a window so that a row in it is seen, to its middle where it was not.
 * @param {HTMLElement} box
 * @param {number} y
 * @param {number} row_height
 * @param {number} seen height of what is seen of the rows
 */
function scrollToRow(box, y, row_height, seen) {
  if (y < box.scrollTop || y > box.scrollTop + seen - row_height) box.scrollTop = y - seen / 2;
}

/**
 * @param {HTMLElement} box
 * @param {View} view
 */
function dragZoom(box, view) {
  const mark = element('div', 'drag');
  mark.hidden = true;
  box.append(mark);
  /** @type {number | null} */
  let from = null;
  box.addEventListener('pointerdown', (event) => {
    // Fingers scroll; only a mouse or a pen draws a range.
    if (event.pointerType === 'touch' || event.button !== 0) return;
    const bounds = box.getBoundingClientRect();
    // Not on the scroll bar.
    if (event.clientX > bounds.left + box.clientWidth) return;
    from = event.clientX;
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener('pointermove', (event) => {
    if (from === null) return;
    const bounds = box.getBoundingClientRect();
    const ends = [from, event.clientX].map((x) => within(x, bounds.left + AXIS_WIDTH, bounds.left + box.clientWidth - RIGHT_SPACE));
    mark.hidden = Math.abs(event.clientX - from) < 3;
    mark.style.left = `${Math.min(...ends) - bounds.left}px`;
    mark.style.width = `${Math.abs(ends[1] - ends[0])}px`;
    mark.style.top = `${box.scrollTop}px`;
  });
  box.addEventListener('pointerup', (event) => {
    if (from !== null && Math.abs(event.clientX - from) >= 3) {
      const [a, b] = [timeAt(box, from, view), timeAt(box, event.clientX, view)];
      view.set(Math.min(a, b), Math.max(a, b));
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
