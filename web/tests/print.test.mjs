// Paper: every chart and tab is drawn without waiting or scrolling, and no table is cut.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ARGUMENTS, CHROMIUM } from './launch.mjs';
import { PAGES, colours, launch, onPage } from './browser.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test('before printing, charts of all tabs are drawn at the width of the paper', () => onPage(browser, 'compare.html', async (page) => {
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  const canvases = await page.locator('.plot canvas').all();
  assert.equal(canvases.length, await page.locator('.plot').count(), 'every chart is there');
  for (const canvas of canvases) {
    assert.equal(await canvas.evaluate((node) => /** @type {HTMLCanvasElement} */ (node).width), 1600);
    assert.ok(await colours(canvas) > 10, 'and drawn');
  }
  assert.ok(await colours(page.locator('#run-1 .gantt canvas')) > 10);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  const width = await canvases[0].evaluate((node) => /** @type {HTMLCanvasElement} */ (node).width);
  assert.ok(width > 200 && width < 1280, `back at the width of the window: ${width}`);
}));

test('no table sticks out of the paper', () => onPage(browser, 'compare.html', async (page) => {
  await page.emulateMedia({ media: 'print' });
  const wide = await page.locator('table').evaluateAll((tables) => tables
    .filter((table) => table.checkVisibility() && table.getBoundingClientRect().right > innerWidth + 1)
    .map((table) => table.className));
  assert.deepEqual(wide, []);
  assert.equal(await page.locator('#theme').isVisible(), false);
  // 718 CSS pixels are a sheet of A4 with the browser's own margins.
}, { viewport: { width: 718, height: 1000 } }));

/**
 * Counts pixels of the first two colours of the charts on each sheet of a PDF.
 * @param {string} folder
 * @param {string} pdf
 */
function colouredPixels(folder, pdf) {
  execFileSync('pdftoppm', ['-r', '60', pdf, join(folder, 'sheet')]);
  let found = 0;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.ppm'))) {
    const file = readFileSync(join(folder, name));
    const head = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(file.subarray(0, 40).toString('latin1'));
    assert.ok(head);
    for (let at = head[0].length; at + 2 < file.length; at += 3) {
      const [r, g, b] = [file[at], file[at + 1], file[at + 2]];
      // Blue of the job, orange of the second line; far from grey and from the tints of phases.
      if ((b > 150 && r < 110 && g < 150) || (r > 150 && g < 130 && b < 70)) found += 1;
    }
  }
  return found;
}

test('the command line of Chromium prints every chart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobmeter-print-'));
  try {
    /** @param {string} name */
    const printed = (name) => {
      const pdf = join(folder, 'page.pdf');
      execFileSync(CHROMIUM, ['--headless', ...ARGUMENTS, `--user-data-dir=${join(folder, 'profile')}`, '--no-pdf-header-footer',
        `--print-to-pdf=${pdf}`, `file://${PAGES}${name}`], { stdio: 'ignore', timeout: 120_000 });
      return colouredPixels(folder, pdf);
    };
    // Eleven charts, a heat map and the timeline; the text alone has a few hundred such pixels.
    const pixels = printed('sample.html');
    assert.ok(pixels > 15_000, `${pixels} coloured pixels`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
