/** Paper that writes SVG: the part of a canvas that the charts use. */

class SvgPaper {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {string[]} */
    this.parts = [];
    this.path = '';
    this.clips = 0;
    this.dash = '';
    this.fillStyle = this.strokeStyle = '#000000';
    this.lineWidth = 1;
    /** @type {CanvasLineJoin} */
    this.lineJoin = 'miter';
    this.font = FONT;
    /** @type {CanvasTextAlign} */
    this.textAlign = 'start';
    /** @type {CanvasTextBaseline} */
    this.textBaseline = 'alphabetic';
    /** Groups that were opened since each `save`. @type {number[]} */
    this.open = [];
  }

  save() {
    this.open.push(0);
  }

  restore() {
    for (let left = this.open.pop() ?? 0; left > 0; left -= 1) this.parts.push('</g>');
  }

  beginPath() {
    this.path = '';
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  lineTo(x, y) {
    this.path += `${this.path ? 'L' : 'M'}${short(x)} ${short(y)}`;
  }

  closePath() {
    this.path += 'Z';
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }

  clip() {
    this.clips += 1;
    this.parts.push(`<clipPath id="clip${this.clips}"><path d="${this.path}"/></clipPath><g clip-path="url(#clip${this.clips})">`);
    this.open[this.open.length - 1] += 1;
  }

  /** @param {number[]} pattern */
  setLineDash(pattern) {
    this.dash = pattern.length > 0 ? ` stroke-dasharray="${pattern.join(' ')}"` : '';
  }

  stroke() {
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="${this.lineJoin}"${this.dash}/>`);
  }

  fill() {
    this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"/>`);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  fillRect(x, y, width, height) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${this.fillStyle}"/>`);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  fillText(text, x, y) {
    this.text(text, x, y, `fill="${this.fillStyle}"`);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  strokeText(text, x, y) {
    this.text(text, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"`);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} style
   */
  text(text, x, y, style) {
    const anchor = { right: 'end', center: 'middle' }[/** @type {string} */ (this.textAlign)] ?? 'start';
    const [, weight, size] = /^(bold )?([\d.]+)px/.exec(this.font) ?? ['', '', '11'];
    // Not every program that opens SVG knows dominant-baseline.
    const drop = { top: 0.8, middle: 0.35 }[/** @type {string} */ (this.textBaseline)] ?? 0;
    this.parts.push(`<text x="${short(x)}" y="${short(y + drop * Number(size))}" font-size="${size}"${weight ? ' font-weight="bold"' : ''} text-anchor="${anchor}" ${style}>${escapeMarkup(text)}</text>`);
  }

  finish() {
    const family = escapeMarkup(FONT_FAMILY);
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${family}">${this.parts.join('')}</svg>\n`;
  }
}

/** @param {number} value */
function short(value) {
  return String(Math.round(value * 100) / 100);
}

/** @param {string} text */
function escapeMarkup(text) {
  /** @type {Record<string, string>} */
  const names = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  // Control characters have no place in XML, escaped or not.
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, '�').replace(/[&<>"]/g, (letter) => names[letter]);
}
