/** Reads the packed integers of crates/jobmeter-report/src/html/pack.rs. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUE = new Int8Array(128).fill(-1);
for (let index = 0; index < 64; index += 1) VALUE[DIGITS.charCodeAt(index)] = index;

export function unpack(text: string): (number | null)[] {
  const out: (number | null)[] = [];
  let value = 0;
  let weight = 1;
  for (let at = 0; at < text.length; at += 1) {
    const digit = VALUE[text.charCodeAt(at)];
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

export function unpackDifferences(text: string): (number | null)[] {
  let now = 0;
  return unpack(text).map((difference) => (difference === null ? null : (now += difference)));
}
