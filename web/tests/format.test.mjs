// The charts show numbers as the text of the report does, although they are written in two languages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PAGES } from './browser.mjs';

const source = readFileSync(new URL('../../crates/jobmeter-report/src/html/script/format.js', import.meta.url), 'utf8');
/** @type {{measure: (kind: string, value: number) => string, duration: (seconds: number) => string}} */
const { measure, duration } = new Function(`${source}; return { measure, duration };`)();

test('numbers read the same in charts and text', () => {
  /** @type {[string, number, string][]} */
  const formats = JSON.parse(readFileSync(`${PAGES}expected.json`, 'utf8')).formats;
  assert.ok(formats.length > 50);
  const shown = formats.map(([kind, value]) => [kind, value, kind === 'duration' ? duration(value) : measure(kind, value)]);
  assert.deepEqual(shown, formats);
});
