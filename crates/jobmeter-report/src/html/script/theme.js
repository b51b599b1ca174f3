/** Light and dark: follows the system until the reader chooses. What is drawn reads its colours from here. */

const THEME_KEY = 'jobmeter-theme';
/** @type {(() => void)[]} */
const redraws = [];
/** @type {Map<string, string>} */
let colors = new Map();
/** On paper everything is drawn in light colours and at one width, whatever the window has. */
let printing = false;
const PAPER_WIDTH = 800;

/**
 * The colour of a CSS variable, such as `c0` or `text`.
 * @param {string} name
 */
function color(name) {
  let value = colors.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    colors.set(name, value);
  }
  return value;
}

/** @param {string} role */
function roleColor(role) {
  return color(role === 'bound' || role === 'system' ? 'system' : `c${role}`);
}

/**
 * A `#rrggbb` colour made translucent.
 * @param {string} hex
 * @param {number} alpha
 */
function faded(hex, alpha) {
  const value = Number.parseInt(hex.slice(1), 16);
  return `rgba(${value >> 16}, ${(value >> 8) & 255}, ${value & 255}, ${alpha})`;
}

/** Device pixels of a canvas for each CSS pixel. */
function canvasRatio() {
  return printing ? 2 : window.devicePixelRatio || 1;
}

/**
 * The width to draw at: that of the box, or that of the paper.
 * @param {HTMLElement} box
 */
function drawingWidth(box) {
  return printing ? PAPER_WIDTH : box.clientWidth;
}

/**
 * Draws now, and again when the colours, the width of the box or the medium change.
 * @param {HTMLElement} box
 * @param {() => void} draw
 */
function keepDrawn(box, draw) {
  let width = box.clientWidth;
  redraws.push(draw);
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    draw();
  }).observe(box);
  draw();
}

/** @param {string | null} theme */
function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  colors = new Map();
  for (const draw of redraws) draw();
}

/**
 * @param {() => void} complete builds what has not been built yet
 */
function startTheme(complete) {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  /** @type {string | null} */
  let chosen = null;
  try {
    chosen = localStorage.getItem(THEME_KEY);
  } catch {
    // Pages opened from a file may have no storage; the choice then lasts as long as the page.
  }
  if (chosen !== 'light' && chosen !== 'dark') chosen = null;
  applyTheme(chosen);
  dark.addEventListener('change', () => applyTheme(chosen));
  document.getElementById('theme')?.addEventListener('click', () => {
    chosen = (chosen ?? (dark.matches ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem(THEME_KEY, chosen);
    } catch {
      // As above.
    }
    applyTheme(chosen);
  });
  window.addEventListener('beforeprint', () => {
    printing = true;
    complete();
    applyTheme('light');
  });
  window.addEventListener('afterprint', () => {
    printing = false;
    applyTheme(chosen);
  });
}
