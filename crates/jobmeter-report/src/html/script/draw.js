/** Draws the inside of a chart: grid, phases, bands, lines, limits and marks, on a canvas or as SVG. */

const FONT_FAMILY = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
const FONT = `11px ${FONT_FAMILY}`;

/**
 * What a drawing needs of a canvas; `SvgPaper` has the same.
 * @typedef {Pick<CanvasRenderingContext2D, 'save' | 'restore' | 'beginPath' | 'moveTo' | 'lineTo' | 'closePath' | 'rect'
 *   | 'clip' | 'stroke' | 'fill' | 'fillRect' | 'fillText' | 'strokeText' | 'setLineDash' | 'fillStyle' | 'strokeStyle'
 *   | 'lineWidth' | 'lineJoin' | 'font' | 'textAlign' | 'textBaseline'>} Paper
 */

/**
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {{spans: Span[], marks: Mark[]}} backdrop
 */
function drawPlot(paper, plot, backdrop) {
  const { frame, panel } = plot;
  drawAxes(paper, plot);
  paper.save();
  paper.beginPath();
  paper.rect(frame.left, frame.top, frame.width, frame.height);
  paper.clip();
  drawPhases(paper, plot, backdrop.spans);
  drawPeakBound(paper, plot);
  // Later lines are drawn on top: context first, the job last.
  const lines = panel.lines.filter((line) => line.shown).reverse();
  for (const line of lines) drawBand(paper, plot, line);
  for (const line of lines) drawLine(paper, plot, line);
  drawMarks(paper, plot, backdrop.marks);
  paper.restore();
  drawLimits(paper, plot);
}

/**
 * @param {Paper} paper
 * @param {Plot} plot
 */
function drawAxes(paper, plot) {
  const { frame, panel, from, to } = plot;
  paper.font = FONT;
  paper.lineWidth = 1;
  paper.strokeStyle = color('grid');
  paper.fillStyle = color('faint');
  paper.textAlign = 'right';
  paper.textBaseline = 'middle';
  for (const value of valueMarks(panel.measure, plot.top, 4)) {
    const y = Math.round(plot.y(value)) + 0.5;
    strokeLine(paper, frame.left, y, frame.left + frame.width, y);
    paper.fillText(format(value, panel.measure, 'short'), frame.left - 8, y);
  }
  const times = timeMarks(from, to, Math.max(2, Math.floor(frame.width / 95)));
  const step = times.length > 1 ? times[1] - times[0] : 1;
  paper.textAlign = 'center';
  paper.textBaseline = 'top';
  for (const t of times) {
    const x = Math.round(plot.x(t)) + 0.5;
    strokeLine(paper, x, frame.top, x, frame.top + frame.height);
    paper.fillText(clock(t, step), x, frame.top + frame.height + 8);
  }
}

/**
 * @param {Paper} paper
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function strokeLine(paper, x1, y1, x2, y2) {
  paper.beginPath();
  paper.moveTo(x1, y1);
  paper.lineTo(x2, y2);
  paper.stroke();
}

/**
 * The stretches of a column between its gaps, as places on the paper.
 * @param {Plot} plot
 * @param {Values} values
 * @returns {[number, number][][]}
 */
function stretches(plot, values) {
  const { panel } = plot;
  const stepped = STEPPED.has(panel.measure);
  const [first, last] = inView(panel.t, plot.from, plot.to);
  /** @type {[number, number][][]} */
  const found = [];
  /** @type {[number, number][]} */
  let open = [];
  for (let at = first; at <= last; at += 1) {
    const value = values[at];
    if (value === null || value === undefined) {
      if (open.length > 0) found.push(open);
      open = [];
      continue;
    }
    const [x, y] = [plot.x(panel.t[at]), plot.y(value)];
    // What is known of a rate begins at the point before it, also after a gap.
    if (stepped && at > 0) open.push([plot.x(panel.t[at - 1]), y]);
    open.push([x, y]);
  }
  if (open.length > 0) found.push(open);
  return found;
}

/**
 * The room between the highest value drawn and what the peak cannot exceed.
 * @param {Paper} paper
 * @param {Plot} plot
 */
function drawPeakBound(paper, plot) {
  const { frame, panel: { bound, bound_shown, lines } } = plot;
  if (!bound || !bound_shown) return;
  const top = plot.y(bound[1]);
  paper.fillStyle = faded(color('system'), 0.22);
  paper.fillRect(frame.left, top, frame.width, plot.y(Math.min(lines[0].peak?.[1] ?? 0, bound[1])) - top);
}

/**
 * From the leading line up to a line that bounds it.
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {Line} line
 */
function drawBoundBand(paper, plot, line) {
  const [lead] = plot.panel.lines;
  fillBetween(paper, plot, line.mean, line.mean.map((value, at) => (value === null ? null : lead.mean[at] ?? 0)));
}

/**
 * From the lowest to the highest value where ticks were merged.
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {Line} line
 */
function drawBand(paper, plot, line) {
  paper.fillStyle = faded(roleColor(line.role), line.role === 'system' ? 0.16 : 0.24);
  if (line.role === 'bound') drawBoundBand(paper, plot, line);
  else if (line.low && line.high) fillBetween(paper, plot, line.high, line.low);
}

/**
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {Values} high
 * @param {Values} low has its gaps where `high` has them
 */
function fillBetween(paper, plot, high, low) {
  const lower = stretches(plot, low);
  stretches(plot, high).forEach((upper, index) => {
    paper.beginPath();
    for (const [x, y] of upper) paper.lineTo(x, y);
    for (const [x, y] of lower[index].reverse()) paper.lineTo(x, y);
    paper.closePath();
    paper.fill();
  });
}

/**
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {Line} line
 */
function drawLine(paper, plot, line) {
  // A bound is a band, not a measured line.
  if (line.role === 'bound') return;
  paper.strokeStyle = roleColor(line.role);
  paper.lineWidth = line.role === 'system' ? 1.2 : 1.7;
  paper.lineJoin = 'round';
  for (const stretch of stretches(plot, line.mean)) {
    const [[x, y]] = stretch;
    // A point between two gaps has no length.
    if (stretch.length === 1) {
      paper.fillStyle = roleColor(line.role);
      paper.fillRect(x - 2.5, y - 2.5, 5, 5);
      continue;
    }
    paper.beginPath();
    for (const place of stretch) paper.lineTo(...place);
    paper.stroke();
  }
}

/**
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {Span[]} spans
 */
function drawPhases(paper, plot, spans) {
  const { frame } = plot;
  for (const span of spans) {
    if (span.lane > 0 || span.to_s < plot.from || span.from_s > plot.to) continue;
    const from = Math.max(plot.x(span.from_s), frame.left);
    const to = Math.min(plot.x(span.to_s), frame.left + frame.width);
    paper.fillStyle = faded(phaseColor(spans, span.name), 0.09);
    paper.fillRect(from, frame.top, Math.max(to - from, 1), frame.height);
  }
}

/**
 * @param {Paper} paper
 * @param {Plot} plot
 * @param {Mark[]} marks
 */
function drawMarks(paper, plot, marks) {
  const { frame } = plot;
  paper.lineWidth = 1;
  paper.strokeStyle = color('faint');
  paper.setLineDash([2, 3]);
  for (const mark of marks) {
    const x = Math.round(plot.x(mark.t_s)) + 0.5;
    if (x >= frame.left && x <= frame.left + frame.width + 1) strokeLine(paper, x, frame.top, x, frame.top + frame.height);
  }
  paper.setLineDash([]);
}

/**
 * @param {Paper} paper
 * @param {Plot} plot
 */
function drawLimits(paper, plot) {
  const { frame, panel } = plot;
  const right = frame.left + frame.width;
  paper.font = FONT;
  paper.textAlign = 'right';
  paper.textBaseline = 'alphabetic';
  let last = Number.NEGATIVE_INFINITY;
  const visible = panel.limits.filter(([, value]) => value <= plot.top * 1.000001).sort((a, b) => b[1] - a[1]);
  for (const [label, value] of visible) {
    const y = Math.round(plot.y(value)) + 0.5;
    paper.lineWidth = 1;
    paper.strokeStyle = color('faint');
    paper.setLineDash([5, 4]);
    strokeLine(paper, frame.left, y, right, y);
    paper.setLineDash([]);
    // Labels of neighbouring lines stand below each other.
    const above = y - 5;
    const place = above - 11 > frame.top && above - last > 13 ? above : Math.max(y + 12, last + 13);
    last = place;
    const text = `${label} ${format(value, panel.measure, 'short')}`;
    paper.lineWidth = 3;
    paper.strokeStyle = color('surface');
    paper.strokeText(text, right - 4, place);
    paper.fillStyle = color('faint');
    paper.fillText(text, right - 4, place);
  }
}
