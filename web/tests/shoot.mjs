import { chromium } from 'playwright-core';
const [dir] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox','--disable-gpu','--disable-quic','--no-first-run','--disable-background-networking','--disable-component-update','--disable-sync'] });
for (const [name, width, scheme] of [['sample', 1280, 'light'], ['sample', 1280, 'dark'], ['sample', 390, 'light'], ['sample', 390, 'dark'], ['compare', 1280, 'light'], ['hostile', 1280, 'light']]) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  page.on('console', (m) => console.log(m.type(), m.text())); page.on('pageerror', (e) => console.log('ERR', e.message));
  await page.goto(`file://${dir}/${name}.html`);
  await page.waitForSelector('html[data-ready]', { timeout: 15000 });
  await page.screenshot({ path: `${dir}/shot-${name}-${width}-${scheme}.png`, fullPage: true });
  await page.close();
}
await browser.close();
