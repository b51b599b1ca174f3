/** Busy share of each core over time as a heat map. */

/**
 * @param {HTMLElement} host
 * @param {Cores} cores
 * @param {View} view
 */
function buildHeat(host, cores, view) {
  const row = cores.names.length <= 8 ? 18 : cores.names.length <= 16 ? 12 : cores.names.length <= 64 ? 6 : 3;
  const height = row * cores.names.length;
  const readout = element('p', 'readout num', 'Each row is a core; the stronger the colour, the busier.');
  const box = element('div', 'heat-box');
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Busy share of ${cores.names.length} cores over time; the table below has the figures.`);
  box.append(canvas);
  host.append(readout, box);
  /** @type {(core: number, column: number) => number | null} */
  const busy = (core, column) => {
    const letter = cores.rows[core].charCodeAt(column);
    return letter >= 48 ? (letter - 48) / 64 : null;
  };
  const draw = () => {
    const width = drawingWidth(box);
    const context = prepare(canvas, width, height);
    if (context && width > 0) drawHeat(context, cores, view, { width, row, busy });
  };
  box.addEventListener('pointermove', (event) => {
    const core = Math.floor((event.clientY - box.getBoundingClientRect().top) / row);
    const t = timeAt(box, event.clientX, view);
    view.point(t);
    if (core < 0 || core >= cores.names.length) return;
    const share = busy(core, Math.min(cores.columns - 1, Math.floor((t / view.end) * cores.columns)));
    const text = share === null ? 'not measured' : `${Math.round(share * 100)} % busy`;
    readout.textContent = `Core ${cores.names[core]} at ${moment(t)}: ${text}`;
  });
  box.addEventListener('pointerleave', () => view.point(null));
  dragZoom(box, view);
  view.onChange(draw);
  keepDrawn(box, draw);
}

/**
 * @param {Paper} paper
 * @param {Cores} cores
 * @param {View} view
 * @param {{width: number, row: number, busy: (core: number, column: number) => number | null}} cells
 */
function drawHeat(paper, cores, view, { width, row, busy }) {
  const inner = width - AXIS_WIDTH - RIGHT_SPACE;
  const height = row * cores.names.length;
  const column_s = view.end / cores.columns;
  /** @param {number} t */
  const place = (t) => AXIS_WIDTH + ((t - view.from) / (view.to - view.from)) * inner;
  const first = Math.max(0, Math.floor(view.from / column_s));
  const last = Math.min(cores.columns - 1, Math.ceil(view.to / column_s));
  const tint = color('c0');
  paper.save();
  paper.beginPath();
  paper.rect(AXIS_WIDTH, 0, inner, height);
  paper.clip();
  for (let core = 0; core < cores.names.length; core += 1) {
    for (let column = first; column <= last; column += 1) {
      const share = busy(core, column);
      paper.fillStyle = share === null ? color('grid') : faded(tint, 0.05 + 0.95 * share);
      const from = place(column * column_s);
      paper.fillRect(from, core * row, place((column + 1) * column_s) - from + 0.5, row - (row > 4 ? 1 : 0));
    }
  }
  paper.restore();
  paper.fillStyle = color('faint');
  paper.font = FONT;
  paper.textAlign = 'right';
  paper.textBaseline = 'middle';
  const every = Math.max(1, Math.ceil(cores.names.length / (height / 14)));
  cores.names.forEach((name, core) => {
    if (core % every === 0) paper.fillText(name, AXIS_WIDTH - 8, core * row + row / 2);
  });
}
