// How long a page takes to open, from navigation to the last chart: one Markdown row.
// node bench/open.mjs PAGE.html [MILLISECONDS]
import { resolve } from 'node:path';
import { launch } from '../tests/launch.mjs';

const LIMIT_MS = Number(process.argv[3] ?? 1000);

const path = resolve(process.argv[2] ?? '');
const browser = await launch();
/** @type {{text: number, paint: number, ready: number}[]} */
const times = [];
for (let round = 0; round < 5; round += 1) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`file://${path}`);
  await page.waitForSelector('html[data-ready]');
  times.push(await page.evaluate(() => {
    const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'));
    const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
    return { text: navigation.domContentLoadedEventEnd, paint, ready: Number(document.documentElement.dataset.ready) };
  }));
  await page.close();
}
await browser.close();
/** @param {(time: {text: number, paint: number, ready: number}) => number} of */
const median = (of) => Math.round(times.map(of).sort((a, b) => a - b)[2]);
const ready = median((t) => t.ready);
process.stdout.write('| page | first paint | loaded | all charts drawn | at most | held |\n|---|---|---|---|---|---|\n');
process.stdout.write(`| ${path.split('/').at(-1)} | ${median((t) => t.paint)} ms | ${median((t) => t.text)} ms | ${ready} ms `
  + `| ${LIMIT_MS} ms | ${ready <= LIMIT_MS ? 'yes' : 'NO'} |\n`);
