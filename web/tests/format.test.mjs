// The page writes numbers as the terminal does, although they are written in two languages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** @param {string} path */
const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const source = read('crates/jobmeter-report/src/html/script/format.js');
/**
 * @type {{format: (value: number, unit: string, style: string) => string,
 *   timeMarks: (from: number, to: number, steps: number) => number[]}}
 */
const { format, timeMarks } = new Function(`${source}; return { format, timeMarks };`)();

test('numbers read the same in the page and in the terminal', () => {
  /** @type {{unit: string, style: string, value: number, text: string}[]} */
  const cases = JSON.parse(read('fixtures/format.json'));
  assert.ok(cases.length > 500);
  const shown = cases.map((row) => ({ ...row, text: format(row.value, row.unit, row.style) }));
  assert.deepEqual(shown, cases);
});

test('every axis of time has a length, however narrow', () => {
  for (let end = 1e-3; end < 1e7; end *= 1.1) {
    const marks = timeMarks(0, end, 2);
    assert.ok(marks.length >= 2 && marks.length <= 4, `${end} s has ${marks.length} marks`);
  }
});
