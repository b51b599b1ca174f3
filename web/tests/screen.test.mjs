// What is seen first, on a desk and on a phone; what moves and what does not; what can be taken away.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { chart, colours, launch, onPage, picture, pointAt } from './browser.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

for (const [width, height] of [[1440, 900], [390, 844]]) {
  test(`the first screen answers at ${width} × ${height}`, () => onPage(browser, 'sample.html', async (page) => {
    /** @param {import('playwright-core').Locator} part */
    const bottom = async (part) => {
      const box = await part.boundingBox();
      assert.ok(box, 'it is on the page');
      return box.y + box.height;
    };
    assert.ok(await bottom(page.getByText('Succeeded', { exact: true })) < height);
    for (const title of ['Time', 'Peak memory', 'CPU time', 'GPUs']) {
      const card = page.locator('.cards .tile', { has: page.getByText(title, { exact: true }) });
      assert.ok(await bottom(card) < height, title);
    }
    assert.ok(await bottom(page.locator('.next').first()) < height, 'the advice');
    // The upper part of a chart at least; on a desk CPU and memory whole and side by side.
    const [cpu, ram] = [chart(page, 'cpu').locator('canvas'), chart(page, 'ram').locator('canvas')];
    assert.ok(await colours(cpu) > 20, 'drawn');
    if (width > 1000) {
      assert.ok(await bottom(cpu) < height && await bottom(ram) < height);
      assert.equal((await cpu.boundingBox())?.y, (await ram.boundingBox())?.y, 'at the same height');
    } else assert.ok(await bottom(cpu) - 120 < height, 'the chart begins on the first screen');
  }, { viewport: { width, height } }));
}

for (const [width, height] of [[1440, 900], [390, 844]]) {
  test(`a comparison says at once what differs at ${width} × ${height}`, () => onPage(browser, 'sets.html', async (page) => {
    /** @param {import('playwright-core').Locator} part */
    const place = async (part) => {
      const box = await part.boundingBox();
      assert.ok(box, 'it is on the page');
      return box;
    };
    const finding = await place(page.locator('.finding'));
    assert.ok(finding.y + finding.height < height / 3);
    // Both sets side by side, nothing to be scrolled to.
    for (const cell of await page.locator('.comparison').first().locator('tbody td').all()) {
      const box = await place(cell);
      assert.ok(box.x >= 0 && box.x + box.width <= width, `${box.x} ${box.width}`);
    }
    if (width > 1000) {
      const canvas = await place(page.locator('.plot[data-run="compare"][data-panel="ram"] canvas'));
      assert.ok(canvas.y + canvas.height < height, 'the charts are on the first screen');
    }
  }, { viewport: { width, height } }));
}

test('on a phone no figure is hidden behind an edge', () => onPage(browser, 'sample.html', async (page) => {
  for (const details of await page.locator('details').all()) await details.evaluate((node) => { /** @type {HTMLDetailsElement} */ (node).open = true; });
  // Charts in figures, and every figure with all of its parts.
  const hidden = await page.locator('.chart table, table.figures').evaluateAll((tables) => tables
    .filter((table) => table.getBoundingClientRect().right > innerWidth || table.scrollWidth > table.clientWidth + 1)
    .map((table) => table.textContent?.slice(0, 60)));
  assert.deepEqual(hidden, []);
}, { viewport: { width: 390, height: 844 } }));

test('cursors, boxes and keys do not move a chart', () => onPage(browser, 'sample.html', async (page) => {
  const canvases = page.locator('#run-0 .plot canvas');
  const places = () => canvases.evaluateAll((nodes) => nodes.map((node) => {
    const { x, y, width, height } = node.getBoundingClientRect();
    return [x, y + scrollY, width, height].join();
  }));
  const still = await places();
  for (const share of [0.05, 0.4, 0.99]) {
    await pointAt(page, 'cpu', share);
    assert.deepEqual(await places(), still);
  }
  assert.ok(await chart(page, 'cpu').locator('.tip').isVisible());
  const box = await chart(page, 'cpu').locator('.tip').boundingBox();
  const frame = await chart(page, 'cpu').locator('.canvas').boundingBox();
  assert.ok(box && frame && box.x >= frame.x - 1 && box.x + box.width <= frame.x + frame.width + 1, 'the box stays inside');
  for (const key of await chart(page, 'ram').locator('.key').all()) {
    await key.click();
    assert.deepEqual(await places(), still);
  }
}));

test('a bound is a band that is asked for, and the chart is scaled to the data until then', () => onPage(browser, 'sample.html', async (page) => {
  const canvas = chart(page, 'ram').locator('canvas');
  for (const name of ['Plain sum (upper bound)', 'Peak is below']) {
    const key = chart(page, 'ram').locator('.key', { hasText: name });
    assert.equal(await key.getAttribute('aria-pressed'), 'false');
    const without = await picture(canvas);
    await key.click();
    assert.notEqual(await picture(canvas), without, name);
    await key.click();
    assert.equal(await picture(canvas), without, name);
  }
  // Red is for what failed.
  const red = await canvas.evaluate((node) => {
    const { width, height } = /** @type {HTMLCanvasElement} */ (node);
    const data = /** @type {HTMLCanvasElement} */ (node).getContext('2d')?.getImageData(0, 0, width, height).data ?? [];
    let found = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200 && data[at] > 150 && data[at + 1] < 90 && data[at + 2] < 90) found += 1;
    return found;
  });
  assert.equal(red, 0);
}));

test('what stayed at zero is named and not drawn', () => onPage(browser, 'failed.html', async (page) => {
  assert.equal(await chart(page, 'net').count(), 0);
  assert.ok(await page.getByText('Zero throughout, so not drawn: Network of the machine').isVisible());
  const keys = await chart(page, 'psi').locator('.key-label').allTextContents();
  assert.ok(keys.includes('For CPU') && !keys.includes('For memory'), keys.join());
  assert.match(await page.locator('figure:has([data-panel="psi"]) .zero').textContent() ?? '', /For memory/);
}));

test('a run that failed says so above any advice, with what is known of the reason', () => onPage(browser, 'failed.html', async (page) => {
  assert.equal(await page.locator('.verdict').first().textContent(), 'Out of memory');
  const reason = page.locator('.verdict-text.failed');
  assert.match(await reason.textContent() ?? '', /OOM killer.*oom_kill of the job's control group rose from 0 to 1/s);
  // What to ask for next time is not said of a run that did not come to its end; the link to the doubts stays.
  assert.equal(await page.getByText('Next time').count(), 0);
  const [told, next] = [await reason.boundingBox(), await page.locator('.next').boundingBox()];
  assert.ok(told && next && told.y + told.height < next.y);
  assert.equal(await page.locator('.cards .tile-title').last().textContent(), 'Disk');
}));

test('a chart can be saved as PNG and as SVG', () => onPage(browser, 'hostile.html', async (page) => {
  for (const kind of ['PNG', 'SVG']) {
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: `Save RAM as ${kind}` }).click();
    const file = await waiting;
    assert.equal(file.suggestedFilename(), `ram.${kind.toLowerCase()}`);
    const content = readFileSync(await file.path());
    if (kind === 'PNG') {
      assert.equal(content.subarray(1, 4).toString(), 'PNG');
      assert.equal(content.readUInt32BE(16), 2000);
    } else {
      const drawn = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        return { error: parsed.querySelector('parsererror')?.textContent, paths: parsed.querySelectorAll('path').length, scripts: parsed.querySelectorAll('script').length };
      }, content.toString());
      assert.equal(drawn.error, undefined);
      assert.ok(drawn.paths > 10 && drawn.scripts === 0, JSON.stringify(drawn));
    }
  }
}, { acceptDownloads: true }));

for (const name of ['sample.html', 'failed.html', 'compare.html', 'static.html']) {
  // The test of contrast looks at both themes; everything else is the same in both.
  for (const colorScheme of /** @type {('light' | 'dark')[]} */ (name === 'sample.html' ? ['light', 'dark'] : ['light'])) {
    test(`axe finds nothing on ${name} in ${colorScheme}`, () => onPage(browser, name, async (page) => {
      for (const details of await page.locator('details').all()) await details.evaluate((node) => { /** @type {HTMLDetailsElement} */ (node).open = true; });
      // The page's policy lets no script in; the debugger's own evaluation is not the page.
      await page.evaluate(AXE);
      const found = await page.evaluate(async () => {
        const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] });
        return violations.map((/** @type {any} */ rule) => `${rule.id}: ${rule.nodes.length} × ${rule.nodes[0].html.slice(0, 160)}`);
      });
      assert.deepEqual(found, []);
    }, { colorScheme }));
  }
}
