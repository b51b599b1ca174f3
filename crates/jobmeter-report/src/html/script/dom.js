/** Small helpers. Text of the job enters the page here, as text and never as markup. */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} [class_name]
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[K]}
 */
function element(tag, class_name = '', text = '') {
  const node = document.createElement(tag);
  if (class_name) node.className = class_name;
  if (text) node.textContent = text;
  return node;
}

/**
 * A button that does something on this page.
 * @param {string} class_name
 * @param {string} text
 * @param {() => void} action
 */
function pushButton(class_name, text, action) {
  const button = element('button', class_name, text);
  button.type = 'button';
  button.addEventListener('click', action);
  return button;
}

/**
 * @param {string} selector
 * @param {ParentNode} [root]
 * @returns {HTMLElement[]}
 */
function all(selector, root = document) {
  return [...root.querySelectorAll(selector)].filter((node) => node instanceof HTMLElement);
}

/**
 * Says something to screen readers.
 * @param {string} text
 */
function announce(text) {
  const live = document.getElementById('live');
  if (live) live.textContent = text;
}

/**
 * A value within two ends.
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function within(value, least, most) {
  return Math.min(Math.max(value, least), most);
}

/**
 * Gives a canvas a size in CSS pixels with sharp device pixels, and its context scaled to CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D | null}
 */
function prepare(canvas, width, height) {
  const ratio = canvasRatio();
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
