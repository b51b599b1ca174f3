/** Draws the map of ranks: one pixel per cell into a small picture, which is stretched to its place. */

/** Space for the times below the rows. */
const RANK_AXIS = 26;
/** A map on paper is no taller than this. */
const RANK_PAPER_HEIGHT = 360;
const RANK_PAPER_HEAD = 24;

/**
 * The colours from the lowest to the highest value.
 * @returns {Uint32Array} red, green and blue in the order of a picture's bytes
 */
function rankColors() {
  const stops = ['h0', 'h1', 'h2', 'h3'].map((name) => Number.parseInt(color(name).slice(1), 16));
  return Uint32Array.from({ length: 256 }, (_, place) => {
    const at = (place / 255) * (stops.length - 1);
    const lower = Math.min(Math.floor(at), stops.length - 2);
    const part = at - lower;
    const [red, green, blue] = [16, 8, 0].map((shift) => {
      const [from, to] = [(stops[lower] >> shift) & 255, (stops[lower + 1] >> shift) & 255];
      return Math.round(from + (to - from) * part);
    });
    return (255 << 24) | (blue << 16) | (green << 8) | red;
  });
}

/**
 * One pixel for each cell of the rows from `first` on; clear where nothing was measured.
 * @param {RankMap} map
 * @param {RankFigure} figure
 * @param {number} first
 * @param {number} count
 */
function rankPicture(map, figure, first, count) {
  const { columns } = map.ranks;
  const picture = element('canvas');
  picture.width = columns;
  picture.height = Math.max(count, 1);
  const image = new ImageData(columns, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  const tints = rankColors();
  for (let row = 0; row < count; row += 1) {
    const from = map.rows[first + row] * columns;
    for (let column = 0; column < columns; column += 1) {
      const value = figure.cells[from + column];
      if (!Number.isNaN(value)) pixels[row * columns + column] = tints[Math.round(within(value / figure.top, 0, 1) * 255)];
    }
  }
  picture.getContext('2d')?.putImageData(image, 0, 0);
  return picture;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {RankMap} map
 * @param {number} width
 */
function drawRanksOnScreen(canvas, map, width) {
  const { row_height, box } = map;
  const height = Math.min(map.rows.length * row_height, RANK_WINDOW);
  const context = prepare(canvas, width, height + RANK_AXIS);
  if (!context) return;
  const scroll = box.scrollTop;
  const first = Math.floor(scroll / row_height);
  const count = Math.min(Math.ceil(height / row_height) + 1, map.rows.length - first);
  drawRanks(context, map, map.figure, { top: first * row_height - scroll, height, first, count, row_height, width, edge: 0 });
  if (map.row < first || map.row >= first + count) return;
  const y = map.row * row_height - scroll;
  context.strokeStyle = color('text');
  context.lineWidth = 1.5;
  context.strokeRect(AXIS_WIDTH - 1, y - 1, width - AXIS_WIDTH - RIGHT_SPACE + 2, Math.max(row_height, 1) + 2);
}

/**
 * One figure with its scale in words and as a strip.
 * @param {HTMLCanvasElement} canvas
 * @param {RankMap} map
 * @param {RankFigure} figure
 * @param {number} width
 */
function drawRanksOnPaper(canvas, map, figure, width) {
  const row_height = Math.min(RANK_PAPER_HEIGHT / Math.max(map.rows.length, 1), RANK_ROW);
  const height = row_height * map.rows.length;
  const edge = RANK_PAPER_HEAD;
  const context = prepare(canvas, width, edge + height + RANK_AXIS);
  if (!context) return;
  drawRanks(context, map, figure, { top: edge, height, first: 0, count: map.rows.length, row_height, width, edge });
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillStyle = color('text');
  context.font = FONT;
  const y = edge / 2;
  const title = `${figure.title} of ${map.rows.length} ranks, sorted by ${RANK_ORDERS[map.order][0]}: from 0`;
  context.fillText(title, AXIS_WIDTH, y);
  const x = AXIS_WIDTH + context.measureText(title).width + 8;
  rankColors().forEach((tint, step) => {
    context.fillStyle = `rgb(${tint & 255}, ${(tint >> 8) & 255}, ${(tint >> 16) & 255})`;
    context.fillRect(x + step * 0.5, y - 5, 1, 10);
  });
  context.fillStyle = color('text');
  context.fillText(`to ${format(figure.top, figure.measure)}`, x + 136, y);
}

/**
 * @typedef {object} RankWindow where rows are drawn
 * @property {number} top of the first row
 * @property {number} height of all that is seen
 * @property {number} first row
 * @property {number} count of rows
 * @property {number} row_height
 * @property {number} width
 * @property {number} edge upper edge of what is seen
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {RankMap} map
 * @param {RankFigure} figure
 * @param {RankWindow} place
 */
function drawRanks(context, map, figure, { top, height, first, count, row_height, width, edge }) {
  const { view, ranks } = map;
  const inner = width - AXIS_WIDTH - RIGHT_SPACE;
  /** @param {number} t */
  const x = (t) => AXIS_WIDTH + ((t - view.from) / (view.to - view.from)) * inner;
  context.font = FONT;
  drawRankTimes(context, map, x, edge + height, inner);
  context.save();
  context.beginPath();
  context.rect(0, edge, width, height);
  context.clip();
  if (count > 0) {
    context.save();
    context.beginPath();
    context.rect(AXIS_WIDTH, edge, inner, height);
    context.clip();
    context.fillStyle = color('surface');
    context.fillRect(AXIS_WIDTH, edge, inner, height);
    // Each pixel is a cell; only where rows are thinner than a pixel are neighbours mixed.
    context.imageSmoothingEnabled = row_height < 1;
    context.drawImage(rankPicture(map, figure, first, count), x(0), top, x(ranks.columns * ranks.column_s) - x(0), count * row_height);
    context.restore();
  }
  context.lineWidth = 1;
  if (row_height >= 6) {
    context.strokeStyle = color('surface');
    for (let row = 1; row < count; row += 1) strokeLine(context, AXIS_WIDTH, top + row * row_height - 0.5, AXIS_WIDTH + inner, top + row * row_height - 0.5);
  }
  drawRankNames(context, map, { top, first, count, row_height });
  context.textAlign = 'left';
  context.fillStyle = color('bad');
  for (let row = 0; row < count; row += 1) {
    if (!ranks.bad[map.rows[first + row]]) continue;
    const y = top + (row + 0.5) * row_height;
    if (row_height >= 8) context.fillText('×', AXIS_WIDTH + inner + 6, y);
    else context.fillRect(AXIS_WIDTH + inner + 5, y - 1, 9, Math.max(row_height, 2));
  }
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {RankMap} map
 * @param {(t: number) => number} x
 * @param {number} y
 * @param {number} inner
 */
function drawRankTimes(context, map, x, y, inner) {
  const times = timeMarks(map.view.from, map.view.to, Math.max(2, Math.floor(inner / 95)));
  const step = times.length > 1 ? times[1] - times[0] : 1;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  context.lineWidth = 1;
  context.strokeStyle = color('control');
  context.fillStyle = color('faint');
  for (const t of times) {
    const at = Math.round(x(t)) + 0.5;
    strokeLine(context, at, y, at, y + 4);
    context.fillText(clock(t, step), at, y + 8);
  }
}

/**
 * At the left the numbers of as many ranks as have room; sorted by node, the names of the nodes.
 * @param {CanvasRenderingContext2D} context
 * @param {RankMap} map
 * @param {{top: number, first: number, count: number, row_height: number}} place
 */
function drawRankNames(context, map, { top, first, count, row_height }) {
  const { ranks, rows } = map;
  context.fillStyle = color('faint');
  context.strokeStyle = color('control');
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const by_node = map.order === 'node';
  const every = roundStep(Math.max(1, 18 / row_height));
  let begun = 0;
  for (let row = 0; row <= count; row += 1) {
    const is_new = by_node && (row === count || (row > 0 && ranks.node[rows[first + row]] !== ranks.node[rows[first + row - 1]]));
    if (is_new) {
      const middle = top + ((begun + row) / 2) * row_height;
      if ((row - begun) * row_height >= 12) clippedText(context, ranks.node[rows[first + begun]], AXIS_WIDTH - 8, middle - GANTT_ROW / 2, -AXIS_WIDTH + 12);
      const y = Math.round(top + row * row_height) - 0.5;
      if (row < count) strokeLine(context, AXIS_WIDTH - 6, y, AXIS_WIDTH, y);
      begun = row;
    } else if (!by_node && row < count && (first + row) % every === 0) {
      // The first name is not cut by the upper edge.
      const middle = Math.max(top + (row + 0.5) * row_height, row === 0 ? top + 6 : 0);
      clippedText(context, ranks.names[rows[first + row]], AXIS_WIDTH - 8, middle - GANTT_ROW / 2, -AXIS_WIDTH + 12);
    }
  }
}
