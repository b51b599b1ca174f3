// The page around the charts: hostile names, themes, contrast, copying, phones, paper, several runs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { PAGES, SHOTS, chart, colours, launch, onPage, picture } from './browser.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

for (const name of ['hostile.html', 'static.html']) {
  test(`hostile names are text in ${name}`, () => onPage(browser, name, async (page) => {
    assert.equal(await page.evaluate(() => 'pwned' in window), false);
    assert.equal(await page.locator('img, iframe, object, embed').count(), 0);
    assert.equal(await page.locator('script').count(), name === 'static.html' ? 0 : 2);
    const names = (await page.locator('table.phases th[scope=row]').allTextContents());
    assert.ok(names.includes('<script>window.pwned=1</script>'), names.join('\n').slice(0, 500));
    assert.ok(names.includes('"><img src=x onerror=window.pwned=2>'));
    assert.ok(names.includes('it\'s "quoted" & <b>bold</b>'));
    assert.ok(names.includes('safe\\u{202e}gpj.exe\\u{202c}'));
    assert.ok(names.includes(`long-${'x'.repeat(10_240)}`), 'ten kilobytes are all there');
    assert.equal(await page.locator('h1').first().textContent(), '<script>window.pwned=1</script>');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'long names do not widen the page');
  }));
}

test('hostile names are text in the charts and the timeline', () => onPage(browser, 'hostile.html', async (page) => {
  const titles = await page.locator('.phase').evaluateAll((nodes) => nodes.map((node) => /** @type {HTMLElement} */ (node).title));
  assert.ok(titles.some((title) => title.startsWith('</script><script>window.pwned=3</script>: ')));
  await page.getByRole('searchbox').fill('<script>window');
  // Every 35th of 3,000 processes has each of the seven names; two of them hold the text.
  assert.match(await page.locator('.gantt .readout').textContent() ?? '', /^17[0-9] processes match$/);
}));

test('the theme can be switched and is followed by the charts', () => onPage(browser, 'sample.html', async (page) => {
  const canvas = chart(page, 'cpu').locator('canvas');
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [light, drawn] = [await background(), await picture(canvas)];
  await page.locator('#theme').click();
  assert.notEqual(await background(), light);
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.notEqual(await picture(canvas), drawn);
  await page.locator('#theme').click();
  assert.equal(await background(), light);
}));

test('the system\'s theme is followed', async () => {
  /** @type {string[]} */
  const backgrounds = [];
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await onPage(browser, 'sample.html', async (page) => {
      backgrounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    }, { colorScheme });
  }
  assert.notEqual(backgrounds[0], backgrounds[1]);
});

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`text has contrast AA in ${colorScheme}`, () => onPage(browser, 'compare.html', async (page) => {
    for (const details of await page.locator('details').all()) await details.evaluate((node) => { /** @type {HTMLDetailsElement} */ (node).open = true; });
    const weak = await page.evaluate(() => {
      const channels = (/** @type {string} */ text) => (text.match(/[\d.]+/g) ?? []).map(Number);
      const luminance = (/** @type {number[]} */ rgb) => rgb.slice(0, 3).map((value) => value / 255)
        .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
        .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
      const behind = (/** @type {Element | null} */ node) => {
        for (; node; node = node.parentElement) {
          const rgb = channels(getComputedStyle(node).backgroundColor);
          if (rgb.length === 3 || rgb[3] === 1) return rgb;
        }
        return [255, 255, 255];
      };
      const found = new Set();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        if (!parent || !walker.currentNode.textContent?.trim() || !parent.checkVisibility() || parent.closest('script, style, :disabled')) continue;
        const [text, back] = [luminance(channels(getComputedStyle(parent).color)), luminance(behind(parent))];
        const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
        if (ratio < 4.5) found.add(`${parent.className || parent.tagName}: ${ratio.toFixed(2)}`);
      }
      return [...found];
    });
    assert.deepEqual(weak, []);
  }, { colorScheme }));
}

test('copy buttons copy', () => onPage(browser, 'sample.html', async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('link', { name: 'why, and snippets to copy' }).click();
  const button = page.locator('.snippet .copy').first();
  await button.click();
  await page.waitForFunction(() => document.querySelector('.snippet .copy')?.textContent === 'Copied');
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^#SBATCH --cpus-per-task=8\n#SBATCH --mem=13G\n/);
}));

test('server, cost and allocation are a table that can be read out', () => onPage(browser, 'sample.html', async (page) => {
  const section = page.getByRole('region', { name: 'Server and cost' });
  await section.locator('summary').click();
  assert.match(await section.locator('dl').innerText(), /shared with others[^]*others used the rest[^]*gcp\/g2-standard-24/);
  const table = section.getByRole('table', { name: 'What a run costs, on demand' });
  assert.deepEqual(await table.getByRole('columnheader').allInnerTexts(),
    ['Server', 'Per hour', 'Per run', 'Per 1,000 runs']);
  const rows = await table.locator('tbody tr').allInnerTexts();
  assert.equal(rows.length, 2);
  assert.match(rows[0], /^This server aws\/g5\.12xlarge.*Price: vendor price list.*, as of 2025\s.*5\.67 USD.*5672 USD$/s);
  assert.match(rows[1], /^Recommended gcp\/g2-standard-24.*Price: vendor price list.*, as of 2025\s.*2\.00 USD.*2001 USD$/s);
  await section.locator('summary').click();
  assert.equal(await section.getByText('saves 3.67 USD a run').isVisible(), false);
  await page.emulateMedia({ media: 'print' });
  assert.ok(await section.getByText('saves 3.67 USD a run').isVisible(), 'the saving is printed too');
}));

test('names of a catalogue are text', () => onPage(browser, 'hostile.html', async (page) => {
  const costs = page.locator('table.costs');
  assert.equal(await costs.locator('tbody th bdi').first().textContent(), '"><img src=x onerror=window.pwned=2>');
  assert.equal(await page.evaluate(() => 'pwned' in window), false);
}));

test('everything that can be clicked can be reached with the keyboard and has a name', () => onPage(browser, 'short.html', async (page) => {
  const wanted = await page.locator('button:visible:enabled, summary:visible, input:visible, a[href]:visible').count();
  const reached = new Set();
  for (let step = 0; step < wanted * 3 && reached.size < wanted; step += 1) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => {
      const node = document.activeElement;
      if (!node || !node.matches('button, summary, input, a[href]')) return null;
      /** @type {any} */ (window).order ??= new Map();
      const order = /** @type {any} */ (window).order;
      if (!order.has(node)) order.set(node, order.size);
      const label = node.getAttribute('aria-label') ?? node.textContent?.trim();
      return label ? String(order.get(node)) : 'nameless';
    });
    assert.notEqual(name, 'nameless');
    if (name !== null) reached.add(name);
  }
  assert.equal(reached.size, wanted);
}));

test('several runs are compared and overlaid', () => onPage(browser, 'compare.html', async (page) => {
  const wall = page.locator('table.comparison tr', { hasText: 'Wall time' });
  assert.match(await wall.textContent() ?? '', /1 h 00 min.*1 h 10 min.*×1\.17/);
  const overlaid = page.locator('.plot[data-run="compare"][data-panel="cpu"]');
  assert.deepEqual(await overlaid.locator('.key-label').allTextContents(), ['train-resnet, job', 'train-resnet, larger batch, job']);
  assert.ok(await colours(overlaid.locator('canvas')) > 20);
  assert.equal(await page.locator('#run-1').isVisible(), false);
  await page.getByRole('tab', { name: 'larger batch' }).click();
  await page.locator('#run-1').waitFor();
  await page.waitForFunction(() => document.querySelectorAll('#run-1 .plot canvas').length > 5);
}));

test('runs of one name are a group: median and band, told apart, coloured where a difference was found', () => onPage(browser, 'sets.html', async (page) => {
  assert.deepEqual(await page.locator('.comparison').first().locator('thead .name').allTextContents(), ['base', 'larger batch']);
  assert.equal(await page.locator('.finding').textContent(), 'larger batch: regression in Wall time ×1.29, CPU time ×1.68, Peak RAM ×1.3');
  // What is the same in both is folded.
  assert.equal(await page.locator('.comparison th', { hasText: 'Processes at once' }).isVisible(), false);
  await page.getByText('9 figures are the same').click();
  assert.equal(await page.locator('.comparison th', { hasText: 'Processes at once' }).isVisible(), true);
  assert.match(await page.locator('.comparison tr', { hasText: 'Wall time' }).textContent() ?? '', /10\.2 s.*10\.0 s – 10\.5 s.*×1\.29 regression/);
  const coloured = await page.locator('.comparison .ratio.more, .comparison .ratio.less').allTextContents();
  assert.equal(coloured.length, 3, coloured.join());
  const overlaid = page.locator('.plot[data-run="compare"][data-panel="ram"]');
  assert.deepEqual(await overlaid.locator('.key-label').allTextContents(), ['base, job, median of 6', 'larger batch, job, median of 6']);
  assert.ok(await colours(overlaid.locator('canvas')) > 20);
  const tabs = await page.getByRole('tab').allTextContents();
  assert.equal(new Set(tabs).size, 12, tabs.join());
  await page.getByText('Each of the 12 runs').click();
  assert.equal(await page.locator('table.each-run tbody tr').count(), 12);
  await page.locator('table.each-run a').nth(7).click();
  // The link changes the address, and the page follows it in a later turn.
  await page.locator('#run-7').waitFor();
  assert.match(await page.locator('#run-7 h1').textContent() ?? '', /^larger batch .* UTC$/);
}));

test('motion is left out where people ask for it', () => onPage(browser, 'short.html', async (page) => {
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), 'auto');
}, { reducedMotion: 'reduce' }));

test('drawn charts stand in for interactive ones', () => onPage(browser, 'static.html', async (page) => {
  assert.equal(await page.locator('.drawn svg').count(), 11);
  assert.equal(await page.getByText('not built').count(), 0, 'a page that was asked for says nothing of missing charts');
}));

for (const name of ['plot-light.svg', 'plot-dark.svg', 'plot-hostile.svg', 'plot-compare.svg']) {
  test(`${name} opens in a browser`, () => onPage(browser, name, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.tagName), 'svg');
    assert.ok(await page.locator('path').count() > 10);
    assert.equal(await page.locator('script, img').count(), 0);
    const clipped = await page.evaluate(() => [...document.querySelectorAll('text')]
      .filter((node) => { const box = node.getBoundingClientRect(); return box.left < -1 || box.right > document.documentElement.clientWidth + 8; })
      .map((node) => node.textContent));
    assert.deepEqual(clipped, []);
    // Pictures of bare SVG documents cannot be taken; inside a page they can.
    const inside = await page.context().newPage();
    await inside.setContent(readFileSync(`${PAGES}${name}`, 'utf8'));
    await inside.screenshot({ path: `${SHOTS}${name}.png`, fullPage: true });
  }));
}

for (const [device, width] of /** @type {const} */ ([['desktop', 1280], ['phone', 390]])) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const name of ['sample', 'compare', 'hostile', 'static']) {
      test(`${name} fits a ${device} in ${colorScheme}`, () => onPage(browser, `${name}.html`, async (page) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
        await page.screenshot({ path: `${SHOTS}${name}-${device}-${colorScheme}.png`, fullPage: true });
      }, { viewport: { width, height: 900 }, colorScheme }));
    }
  }
}
