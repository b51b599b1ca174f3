/** Saving a chart as a picture of its own, with its title and its keys. */

const SAVED_WIDTH = 1000;
const SAVED_HEAD = 52;

/**
 * @param {Chart} chart
 * @returns {HTMLElement[]}
 */
function saveButtons(chart) {
  const save = element('span', 'save');
  for (const [kind, action] of /** @type {const} */ ([['PNG', savePng], ['SVG', saveSvg]])) {
    const button = pushButton('save-button', kind, () => action(chart));
    button.setAttribute('aria-label', `Save ${chart.panel.title} as ${kind}`);
    button.title = `Save this chart as ${kind}`;
    save.append(button);
  }
  return [save];
}

/**
 * @param {Paper} paper
 * @param {Chart} chart
 */
function drawSaved(paper, { panel, view, backdrop }) {
  const height = SAVED_HEAD + CHART_HEIGHT * 1.5;
  paper.fillStyle = color('surface');
  paper.fillRect(0, 0, SAVED_WIDTH, height);
  paper.fillStyle = color('text');
  paper.font = `bold 14px ${FONT_FAMILY}`;
  paper.textAlign = 'left';
  paper.textBaseline = 'alphabetic';
  paper.fillText(panel.title, 12, 22);
  paper.font = FONT;
  let x = 12;
  for (const line of panel.lines) {
    // Letters are about 6 pixels wide at this size; a key that would stick out is left to the page.
    const width = 30 + line.label.length * 6;
    if (!line.shown || x + width > SAVED_WIDTH) continue;
    paper.fillStyle = roleColor(line.role);
    paper.fillRect(x, 34, 10, 10);
    paper.fillStyle = color('text');
    paper.fillText(line.label, x + 15, 43);
    x += width;
  }
  const frame = {
    left: AXIS_WIDTH, top: SAVED_HEAD + CHART_TOP, width: SAVED_WIDTH - AXIS_WIDTH - RIGHT_SPACE,
    height: height - SAVED_HEAD - CHART_TOP - CHART_BOTTOM,
  };
  drawPlot(paper, layOut(panel, frame, view), backdrop);
}

/** @param {Chart} chart */
function saveSvg(chart) {
  const paper = new SvgPaper(SAVED_WIDTH, SAVED_HEAD + CHART_HEIGHT * 1.5);
  drawSaved(paper, chart);
  download(new Blob([paper.finish()], { type: 'image/svg+xml' }), `${chart.panel.id}.svg`);
}

/** @param {Chart} chart */
function savePng(chart) {
  const canvas = element('canvas');
  canvas.width = SAVED_WIDTH * 2;
  canvas.height = (SAVED_HEAD + CHART_HEIGHT * 1.5) * 2;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.scale(2, 2);
  drawSaved(context, chart);
  canvas.toBlob((blob) => {
    if (blob) download(blob, `${chart.panel.id}.png`);
  });
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const link = element('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has taken the file over by then, or the reader has left.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
