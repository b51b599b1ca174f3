/** Reads the packed integers of crates/jobmeter-report/src/html/pack.rs. */

const PACK_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const PACK_VALUE = new Int8Array(128).fill(-1);
for (let index = 0; index < 64; index += 1) PACK_VALUE[PACK_DIGITS.charCodeAt(index)] = index;

/**
 * @param {string} text
 * @returns {Values}
 */
function unpack(text) {
  /** @type {Values} */
  const out = [];
  let value = 0;
  let weight = 1;
  for (let at = 0; at < text.length; at += 1) {
    const digit = PACK_VALUE[text.charCodeAt(at)];
    if (digit < 0) {
      out.push(null);
      continue;
    }
    value += (digit & 31) * weight;
    weight *= 32;
    if (digit < 32) {
      out.push(value % 2 === 0 ? value / 2 : -(value + 1) / 2);
      value = 0;
      weight = 1;
    }
  }
  return out;
}

/**
 * @param {string} text
 * @returns {Values}
 */
function unpackDifferences(text) {
  let now = 0;
  return unpack(text).map((difference) => (difference === null ? null : (now += difference)));
}
