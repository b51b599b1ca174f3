// The map of a job's ranks: drawn, true under mouse and keyboard, sorted, searched, printed, and readable at 1,024 ranks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { SHOTS, colours, launch, onPage, picture, redrawn } from './browser.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** The made-up job: 96 ranks on 6 nodes for 240 s; rank 64 was killed after 160 s and rank 49 left no record. */
const PAGE = 'ranks.html';
const box = '.ranks-box';

/** @param {import('playwright-core').Page} page */
async function readout(page) {
  return (await page.locator('.ranks .readout').textContent()) ?? '';
}

/**
 * Points at a row of so many, at a share of the time.
 * @param {import('playwright-core').Page} page @param {number} row @param {number} rows @param {number} share
 */
async function pointAtRank(page, row, rows, share) {
  await page.locator(box).scrollIntoViewIfNeeded();
  const place = await page.locator(box).boundingBox();
  assert.ok(place, 'the map is on the screen');
  const height = place.height - 26;
  await page.mouse.move(place.x + 74 + (place.width - 96) * share, place.y + ((row + 0.5) / rows) * height);
  return readout(page);
}

test('the map tells rank, node and value of what is pointed at', () => onPage(browser, PAGE, async (page) => {
  assert.ok(await colours(page.locator(`${box} canvas`)) > 50, 'it is drawn');
  // In the middle only rank 0 works, with 4 to 4.3 cores.
  const alone = await pointAtRank(page, 0, 96, 0.5);
  assert.match(alone, /^Rank 0 on node000 · CPU at 02:00 min: 4\.\d+ cores · CPU time in all .* · peak .* · The job ran to its end/);
  assert.match(await pointAtRank(page, 20, 96, 0.5), /^Rank 20 on node001 · CPU at 02:00 min: 0\.\d+ cores/);
  assert.match(await pointAtRank(page, 49, 96, 0.5), /^Rank 49 · CPU at 02:00 min: not measured · left no record/);
  // After its end a rank has no value.
  assert.match(await pointAtRank(page, 64, 96, 0.5), /^Rank 64 on node004 .*killed by signal 9/);
  assert.match(await pointAtRank(page, 64, 96, 0.9), /not measured/);
  await page.getByRole('button', { name: 'Memory', exact: true }).click();
  assert.match(await pointAtRank(page, 95, 96, 0.99), /^Rank 95 on node005 · Memory at .*: 1\.\d+ GB/);
}));

test('rows can be sorted and searched', () => onPage(browser, PAGE, async (page) => {
  const canvas = page.locator(`${box} canvas`);
  const sort = page.getByLabel('Sorted by');
  const by_rank = await picture(canvas);
  await sort.selectOption('cpu');
  await redrawn(canvas, by_rank);
  // Every eighth rank is the busier; the least is the one without a record, then the one that was killed.
  const busiest = Number(/^Rank (\d+)/.exec(await pointAtRank(page, 0, 96, 0.3))?.[1]);
  assert.equal(busiest % 8, 3);
  assert.match(await pointAtRank(page, 95, 96, 0.3), /^Rank 49 /);
  assert.match(await pointAtRank(page, 94, 96, 0.3), /^Rank 64 /);
  await sort.selectOption('peak');
  assert.match(await pointAtRank(page, 0, 96, 0.3), /^Rank 9\d /);
  await sort.selectOption('end');
  assert.match(await pointAtRank(page, 94, 96, 0.3), /^Rank 64 /);
  const search = page.getByLabel('Show only ranks of this number, range, node or end');
  for (const [words, found] of /** @type {[string, number][]} */ ([['17', 1], ['32-47', 16], ['node003', 15], ['killed', 1], ['left no record', 1], ['node003 50', 1], ['nothing', 0]])) {
    await search.fill(words);
    assert.equal(await readout(page), `${found} of 96 ranks match`, words);
  }
  await sort.selectOption('rank');
  await search.fill('32-47');
  // Few rows are high enough for their names.
  const height = (await page.locator(box).boundingBox())?.height ?? 0;
  assert.equal(Math.round(height), 16 * 16 + 26);
  assert.match(await pointAtRank(page, 2, 16, 0.5), /^Rank 34 /);
}));

test('the keyboard reads the map and zooms with the charts', () => onPage(browser, PAGE, async (page) => {
  await page.locator(box).focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await readout(page), /^Rank 0 /);
  for (let step = 0; step < 3; step += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+ArrowRight');
  assert.match(await readout(page), /^Rank 3 on node000 · CPU at 6\.\d+ s: 0\.\d+ cores/);
  assert.equal(await page.locator('#live').textContent(), await readout(page));
  await page.keyboard.press('End');
  assert.match(await readout(page), /^Rank 95 /);
  const before = await picture(page.locator(`${box} canvas`));
  await page.keyboard.press('+');
  await redrawn(page.locator(`${box} canvas`), before);
  assert.equal(await page.locator('[data-reset="0"]').isDisabled(), false, 'all charts are zoomed');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('[data-reset="0"]').isDisabled(), true);
}));

test('a thousand ranks fit, a pixel each, and each can be read', () => onPage(browser, 'many-ranks.html', async (page) => {
  const ready = Number(await page.evaluate(() => document.documentElement.dataset.ready));
  assert.ok(ready > 0);
  assert.match(await pointAtRank(page, 700, 1024, 0.5), /^Rank 700 on node043 /);
  assert.match(await pointAtRank(page, 682, 1024, 0.9), /^Rank 682 .*not measured .*killed by signal 9/);
  const place = await page.locator(box).boundingBox();
  assert.equal(Math.round(place?.height ?? 0), 1024 + 26);
}, { viewport: { width: 1280, height: 1300 } }));

test('on paper every figure is drawn, with its scale', () => onPage(browser, PAGE, async (page) => {
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({ media: 'print' });
  const papers = await page.locator('.ranks-paper').all();
  assert.equal(papers.length, 4);
  for (const paper of papers) {
    assert.ok(await colours(paper) > 50);
    const height = (await paper.boundingBox())?.height ?? 0;
    assert.ok(height > 100 && height < 500, `${height} fits a sheet`);
  }
  assert.equal(await page.locator(box).isVisible(), false);
}, { viewport: { width: 718, height: 1000 } }));

for (const colorScheme of /** @type {('light' | 'dark')[]} */ (['light', 'dark'])) {
  for (const width of [1440, 390]) {
    test(`axe finds nothing on the map in ${colorScheme} at ${width} pixels`, () => onPage(browser, PAGE, async (page) => {
      for (const details of await page.locator('details').all()) await details.evaluate((node) => { /** @type {HTMLDetailsElement} */ (node).open = true; });
      await page.evaluate(AXE);
      const found = await page.evaluate(async () => {
        const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] });
        return violations.map((/** @type {any} */ rule) => `${rule.id}: ${rule.nodes.length} × ${rule.nodes[0].html.slice(0, 160)}`);
      });
      assert.deepEqual(found, []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
      await page.locator('section:has(> .ranks)').screenshot({ path: `${SHOTS}ranks-${colorScheme}-${width}.png` });
    }, { colorScheme, viewport: { width, height: 900 } }));
  }
}

test('light is little and dark is much: the order is seen without hues', () => onPage(browser, PAGE, async (page) => {
  const shades = await page.evaluate(() => ['h0', 'h1', 'h2', 'h3'].map((name) => {
    const value = Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim().slice(1), 16);
    return 0.2126 * (value >> 16) + 0.7152 * ((value >> 8) & 255) + 0.0722 * (value & 255);
  }));
  assert.ok(shades.every((shade, place) => place === 0 || shade < shades[place - 1] - 30), shades.join());
}));
