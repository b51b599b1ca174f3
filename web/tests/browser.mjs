// A real Chromium with every page watched: a console message, an error or a request fails the test that saw it.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export { launch } from './launch.mjs';

export const PAGES = fileURLToPath(new URL('../../artefacts/report/', import.meta.url));
export const SHOTS = fileURLToPath(new URL('../../artefacts/screenshots/', import.meta.url));
mkdirSync(SHOTS, { recursive: true });

export const expected = JSON.parse(readFileSync(`${PAGES}expected.json`, 'utf8'));

/**
 * Opens a made-up report, runs the test, and then holds the page to its promises.
 * @param {import('playwright-core').Browser} browser
 * @param {string} name
 * @param {(page: import('playwright-core').Page) => Promise<void>} body
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
export async function onPage(browser, name, body, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const complaints = [];
  const address = `file://${PAGES}${name}`;
  page.on('console', (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== address) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  if (name.endsWith('.html') && name !== 'static.html') await page.waitForSelector('html[data-ready]');
  await body(page);
  assert.deepEqual(complaints, []);
  await context.close();
}

/**
 * Number of different colours on a canvas.
 * @param {import('playwright-core').Locator} canvas
 * @returns {Promise<number>}
 */
export function colours(canvas) {
  return canvas.evaluate((node) => {
    const element = /** @type {HTMLCanvasElement} */ (node);
    const context = element.getContext('2d');
    if (!context) return 0;
    const { data } = context.getImageData(0, 0, element.width, element.height);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 24) | (data[at + 1] << 16) | (data[at + 2] << 8) | data[at + 3]);
    return seen.size;
  });
}

/**
 * The picture on a canvas, to see whether it changed.
 * @param {import('playwright-core').Locator} canvas
 * @returns {Promise<string>}
 */
export function picture(canvas) {
  return canvas.evaluate((node) => /** @type {HTMLCanvasElement} */ (node).toDataURL());
}

/**
 * Waits until the picture on a canvas is another one: drawings follow in the next frame. Playwright's own limit ends it.
 * @param {import('playwright-core').Locator} canvas
 * @param {string} before
 */
export async function redrawn(canvas, before) {
  const handle = await canvas.elementHandle();
  await canvas.page().waitForFunction(([node, known]) => /** @type {HTMLCanvasElement} */ (node).toDataURL() !== known, /** @type {const} */ ([handle, before]));
}

/** @param {import('playwright-core').Page} page @param {string} id */
export function chart(page, id) {
  return page.locator(`#run-0 .plot[data-panel="${id}"]`);
}

/**
 * Moves the mouse over a chart to a share of its width.
 * @param {import('playwright-core').Page} page @param {string} id @param {number} share
 */
export async function pointAt(page, id, share) {
  const area = chart(page, id).locator('.over');
  await area.scrollIntoViewIfNeeded();
  const box = await area.boundingBox();
  assert.ok(box, 'the chart is on the screen');
  await page.mouse.move(box.x + box.width * share, box.y + box.height / 2);
  return box;
}

/**
 * The value of a line in the box at the cursor of the chart under the pointer.
 * @param {import('playwright-core').Page} page @param {string} id @param {string} label @returns {Promise<string>}
 */
export async function tipValue(page, id, label) {
  const row = chart(page, id).locator('.tip-row', { has: page.getByText(label, { exact: true }) });
  return (await row.locator('.tip-value').textContent()) ?? '';
}

/**
 * What the line beside the title of a chart says of the time under the cursor: one text per line shown.
 * @param {import('playwright-core').Page} page @param {string} id @returns {Promise<string[]>}
 */
export function nowValues(page, id) {
  return page.locator('#run-0 figure', { has: page.locator(`.plot[data-panel="${id}"]`) }).locator('.now-item').allTextContents();
}

/** @param {import('playwright-core').Page} page @param {string} id @param {string} label @returns {Promise<string>} */
export async function keyValue(page, id, label) {
  const key = chart(page, id).locator('.key', { has: page.getByText(label, { exact: true }) });
  return (await key.locator('.key-value').textContent()) ?? '';
}

/** @param {import('playwright-core').Page} page @param {string} id @param {number} from @param {number} to */
export async function drag(page, id, from, to) {
  const box = await pointAt(page, id, from);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), box.y + box.height / 2);
  await page.mouse.move(box.x + box.width * to, box.y + box.height / 2);
  await page.mouse.up();
}

/** @param {number} bytes */
export function gigabytes(bytes) {
  const value = bytes / 1e9;
  return `${Number(value.toFixed(value >= 9.995 ? 1 : 2))} GB`;
}
