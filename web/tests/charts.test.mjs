// Charts: drawn, telling the truth under the cursor, zooming together, switching lines, obeying the keyboard.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chart, colours, drag, expected, gigabytes, keyValue, launch, nowValues, onPage, picture, pointAt, tipValue } from './browser.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test('every chart is drawn', () => onPage(browser, 'sample.html', async (page) => {
  const hosts = await page.locator('#run-0 .plot').count();
  assert.equal(hosts, 11);
  for (let index = 0; index < hosts; index += 1) {
    const canvas = page.locator('#run-0 .plot').nth(index).locator('canvas');
    assert.ok(await colours(canvas) > 20, `chart ${index} is blank`);
  }
  assert.ok(await colours(page.locator('#run-0 .heat canvas')) > 20, 'the heat map is blank');
  assert.ok(await colours(page.locator('#run-0 .gantt canvas')) > 20, 'the timeline is blank');
}));

test('hover shows the value under the cursor', () => onPage(browser, 'short.html', async (page) => {
  const { t_s, bytes } = expected.short;
  await pointAt(page, 'ram', t_s / 12);
  assert.equal(await tipValue(page, 'ram', 'Job'), gigabytes(bytes));
  assert.equal(await page.locator('[data-range="0"]').textContent(), `at ${t_s} s`);
  // One tick beside the peak is something else.
  await pointAt(page, 'ram', (t_s - 0.1) / 12);
  assert.notEqual(await tipValue(page, 'ram', 'Job'), gigabytes(bytes));
}));

test('cursors of all charts move together', () => onPage(browser, 'short.html', async (page) => {
  await pointAt(page, 'cpu', expected.short.t_s / 12);
  assert.equal((await nowValues(page, 'ram'))[0], gigabytes(expected.short.bytes));
  assert.ok(await chart(page, 'ram').locator('.rule').isVisible());
  await page.mouse.move(5, 5);
  assert.deepEqual(await nowValues(page, 'ram'), []);
  assert.equal(await chart(page, 'ram').locator('.rule').isVisible(), false);
}));

test('a peak of one tick survives the reduction and is found after zooming', () => onPage(browser, 'sample.html', async (page) => {
  const { t_s, bytes } = expected.sample;
  assert.equal(await keyValue(page, 'ram', 'Job'), `peak ${gigabytes(bytes)}`);
  await drag(page, 'ram', (t_s - 30) / 3600, (t_s + 30) / 3600);
  const range = await page.locator('[data-range="0"]').textContent();
  const values = new Set();
  for (let share = 0.4; share < 0.6; share += 0.005) {
    await pointAt(page, 'ram', share);
    values.add((await tipValue(page, 'ram', 'Job')).split(' to ').at(-1)?.replace(')', ''));
  }
  assert.ok(values.has(gigabytes(bytes)), `${gigabytes(bytes)} is not among ${[...values]} (${range})`);
}));

test('dragging zooms all charts, and reset and double click undo it', () => onPage(browser, 'sample.html', async (page) => {
  const ram = chart(page, 'ram').locator('canvas');
  const before_zoom = await picture(ram);
  const reset = page.locator('[data-reset="0"]');
  assert.ok(await reset.isDisabled());
  await drag(page, 'cpu', 0.25, 0.5);
  await page.mouse.move(5, 5);
  assert.notEqual(await picture(ram), before_zoom, 'the other charts follow');
  assert.match(await page.locator('[data-range="0"]').textContent() ?? '', /^(14:5\d|15:0\d) min to (29:5\d|30:0\d) min$/);
  assert.ok(await reset.isEnabled());
  await reset.click();
  await page.mouse.move(5, 5);
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(await picture(ram), before_zoom);
  await drag(page, 'cpu', 0.25, 0.5);
  await chart(page, 'cpu').locator('.canvas').dblclick();
  assert.ok(await reset.isDisabled());
}));

test('a key switches its line', () => onPage(browser, 'sample.html', async (page) => {
  const canvas = chart(page, 'cpu').locator('canvas');
  const shown = await picture(canvas);
  const key = chart(page, 'cpu').locator('.key').first();
  await key.click();
  assert.equal(await key.getAttribute('aria-pressed'), 'false');
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.notEqual(await picture(canvas), shown);
  await key.click();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(await picture(canvas), shown);
}));

test('phases and marks are visible', () => onPage(browser, 'sample.html', async (page) => {
  const names = await page.locator('#run-0 .phase-strip').first().locator('.phase').allTextContents();
  assert.deepEqual(names, ['load data', 'preprocess', 'train', 'epoch', 'epoch', 'epoch', 'epoch', 'epoch', 'evaluate']);
  // Just below the top edge of the panel two phases have two different tints.
  const tints = await chart(page, 'net').locator('canvas').evaluate((node) => {
    const canvas = /** @type {HTMLCanvasElement} */ (node);
    const row = canvas.getContext('2d')?.getImageData(74, 14, canvas.width - 96, 1).data ?? new Uint8ClampedArray();
    return [0.05, 0.2, 0.5, 0.95].map((share) => Math.floor((row.length / 4) * share) * 4).map((at) => row.slice(at, at + 4).join());
  });
  assert.equal(new Set(tints).size, 4, tints.join(' '));
  await page.locator('#run-0 .phase', { hasText: 'train' }).first().dblclick();
  assert.match(await page.locator('[data-range="0"]').textContent() ?? '', /^18:00 min to 51:00 min$/);
}));

test('a chart obeys the keyboard', () => onPage(browser, 'short.html', async (page) => {
  const canvas = chart(page, 'ram').locator('.canvas');
  await canvas.focus();
  await page.keyboard.press('End');
  assert.match(await page.locator('#live').textContent() ?? '', /^At 12 s\. Job: /);
  await page.keyboard.press('ArrowLeft');
  assert.match(await page.locator('#live').textContent() ?? '', /^At 11\.9 s\. Job: /);
  await page.keyboard.press('+');
  assert.ok(await page.locator('[data-reset="0"]').isEnabled());
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('[data-reset="0"]').isDisabled());
}));

test('thousands of processes stay usable', () => onPage(browser, 'sample.html', async (page) => {
  const box = page.locator('#run-0 .gantt-box');
  await box.scrollIntoViewIfNeeded();
  const frame = await box.boundingBox();
  assert.ok(frame);
  await page.mouse.move(frame.x + 600, frame.y + 8);
  assert.match(await page.locator('#run-0 .gantt .readout').textContent() ?? '', /^python train\.py --epochs 5 .* · PID 4242 of 1 · from 0 s · for 1 h 00 min · CPU 1 h 00 min · peak 50\.3 MB · exit 0$/);
  await page.getByRole('button', { name: 'One row each' }).click();
  assert.equal(await box.evaluate((node) => node.scrollHeight), 3001 * 17);
  const canvas = page.locator('#run-0 .gantt canvas');
  assert.ok(await canvas.evaluate((node) => /** @type {HTMLCanvasElement} */ (node).clientHeight) <= 420, 'only the window is drawn');
  const top = await picture(canvas);
  await box.evaluate((node) => { node.scrollTop = 20_000; });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.notEqual(await picture(canvas), top);
  await page.getByRole('searchbox').fill('gcc');
  assert.equal(await page.locator('#run-0 .gantt .readout').textContent(), '600 processes match');
  assert.equal(await box.evaluate((node) => node.scrollHeight), 600 * 17, 'only those are shown');
  await box.focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await page.locator('#live').textContent() ?? '', /PID \d+ of \d+/);
}));

test('the tree of processes folds', () => onPage(browser, 'short.html', async (page) => {
  const box = page.locator('#run-0 .gantt-box');
  await box.scrollIntoViewIfNeeded();
  const rows = () => box.evaluate((node) => Math.round(/** @type {HTMLElement} */ (node.querySelector('.gantt-spacer')).offsetHeight / 17));
  assert.equal(await rows(), 41);
  await box.click({ position: { x: 20, y: 8 } });
  assert.equal(await rows(), 1, 'the first process has all the others below it');
  assert.match(await page.locator('#live').textContent() ?? '', /^python train\.py .*: 40 descendants hidden$/);
  await box.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await rows(), 41);
}));
