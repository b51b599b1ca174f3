/**
 * Numbers for people, written as crates/jobmeter-model/src/format.rs writes them; fixtures/format.json holds both to the
 * same text.
 */

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/**
 * The factor from the unit to what is written, the digits behind the point, and the name behind the number.
 * @type {Record<string, [number, number, string]>}
 */
const PLAIN_UNITS = {
  nanos_per_second: [1e-7, 1, ' %'],
  count: [1, 1, ''],
  per_second: [1, 2, '/s'],
  cores: [1, 2, ' cores'],
  ratio: [100, 1, ' %'],
  ppm: [1e-4, 1, ' %'],
  milli: [1e-3, 2, ''],
  microjoules: [1e-6, 1, ' J'],
  joules: [1, 1, ' J'],
  microwatts: [1e-6, 1, ' W'],
  milliwatts: [1e-3, 1, ' W'],
  watts: [1, 1, ' W'],
  millicelsius: [1e-3, 1, ' °C'],
  celsius: [1, 1, ' °C'],
  hertz: [1e-6, 0, ' MHz'],
  grams: [1, 2, ' g'],
  bits: [1, 0, ''],
};

/**
 * So many digits behind the point; what lies exactly between two goes to the even one, as in Rust.
 * @param {number} value
 * @param {number} digits
 */
function fixed(value, digits) {
  if (value >= 1e21) return BigInt(value).toString() + (digits > 0 ? `.${'0'.repeat(digits)}` : '');
  const exact = value.toFixed(digits + 30);
  const [below, rest] = [exact.slice(0, -30), exact.slice(-30)];
  const lower = below.endsWith('.') ? below.slice(0, -1) : below;
  if (/^50*$/.test(rest) && Number(lower[lower.length - 1]) % 2 === 0) return lower;
  return value.toFixed(digits);
}

/**
 * @param {number} value
 * @param {number} digits
 */
function exponential(value, digits) {
  return value.toExponential(digits).replace('e+', 'e');
}

/**
 * A whole number with its thousands set apart.
 * @param {number} value
 */
function grouped(value) {
  const whole = BigInt(Math.floor(value + 0.5)).toString();
  return whole.replace(/(?<=\d)(?=(\d{3})+$)/g, ',');
}

/**
 * About three significant digits and none that say nothing.
 * @param {number} value not negative
 */
function number(value) {
  if (value === 0) return '0';
  if (value >= 1e15) return exponential(value, 2);
  if (value < 0.0005) return exponential(value, 1);
  if (value >= 99.95) return grouped(value);
  return String(Number(fixed(value, value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 4)));
}

/**
 * Three significant digits.
 * @param {number} value
 */
function threeDigits(value) {
  return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/**
 * @param {number} value
 * @param {boolean} short
 */
function scaledBytes(value, short) {
  let unit = 0;
  while (value >= 999.5 && unit + 1 < BYTE_UNITS.length) {
    value /= 1000;
    unit += 1;
  }
  const text = unit === 0 ? number(Math.floor(value + 0.5)) : short ? number(value) : threeDigits(value);
  return `${text} ${BYTE_UNITS[unit]}`;
}

/**
 * Two digits, as in 1:05.
 * @param {number} value
 */
function two(value) {
  return String(Math.floor(value)).padStart(2, '0');
}

/**
 * @param {number} nanoseconds
 * @param {boolean} short
 */
function scaledTime(nanoseconds, short) {
  const ns = Math.floor(nanoseconds + 0.5);
  if (ns === 0) return '0 s';
  if (ns < 1000) return `${ns} ns`;
  const show = short ? number : threeDigits;
  if (ns < 999_500) return `${show(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${show(ns / 1e6)} ms`;
  if (ns < 59.95e9) return `${show(ns / 1e9)} s`;
  const whole = Math.floor(ns / 1e9 + 0.5);
  if (whole >= 86_400) return twoUnits(whole, 86_400, 'd', 3_600, 'h', short);
  if (whole >= 3_600) return twoUnits(whole, 3_600, 'h', 60, 'min', short);
  return twoUnits(whole, 60, 'min', 1, 's', short);
}

/**
 * @param {number} seconds
 * @param {number} size
 * @param {string} name
 * @param {number} partSize
 * @param {string} partName
 * @param {boolean} short a part that is zero is left out
 */
function twoUnits(seconds, size, name, partSize, partName, short) {
  const part = Math.floor((seconds % size) / partSize);
  const whole = `${Math.floor(seconds / size)} ${name}`;
  return short && part === 0 ? whole : `${whole} ${two(part)} ${partName}`;
}

/**
 * @param {number} joules
 */
function energy(joules) {
  if (joules < 999.5) return `${number(joules)} J`;
  if (joules < 999.5e3) return `${number(joules / 1e3)} kJ`;
  return `${number(joules / 1e6)} MJ`;
}

/**
 * A value that is not negative.
 * @param {number} value
 * @param {string} unit
 * @param {'full' | 'short' | 'rounded' | 'bare'} style
 */
function writeSize(value, unit, style) {
  const short = style === 'short';
  if (unit === 'bytes') return scaledBytes(value, short);
  if (unit === 'bytes_per_second') return `${scaledBytes(value, short)}/s`;
  if (unit === 'nanos') return scaledTime(value, short);
  if (short && unit === 'microjoules') return energy(value / 1e6);
  if (short && unit === 'joules') return energy(value);
  const [factor, digits, name] = PLAIN_UNITS[unit] ?? [1, 3, ''];
  const scaled = value * factor;
  let text;
  if (short) text = number(scaled);
  else if (style === 'rounded' && scaled < 999.5 && [' %', ' W', ' °C'].includes(name)) text = fixed(scaled, 0);
  else if (unit === 'per_second') text = number(scaled);
  else if (unit === 'count' && !(scaled < 1000 && scaled % 1 !== 0)) text = grouped(scaled);
  else if (scaled >= 999.95 && unit !== 'bits') text = grouped(scaled);
  else text = fixed(scaled, digits);
  return style === 'bare' || (short && unit === 'cores') ? text : `${text}${name}`;
}

/**
 * A value in its unit, as text for people.
 * @param {number} value
 * @param {string} unit
 * @param {'full' | 'short' | 'rounded' | 'bare'} style
 */
function format(value, unit, style = 'full') {
  const text = writeSize(Math.abs(value), unit, style);
  // What rounds to nothing has no sign.
  return value < 0 && /[1-9]/.test(text) ? `-${text}` : text;
}

/**
 * @param {number} value
 */
function bytes(value) {
  return format(value, 'bytes');
}

/**
 * @param {number} seconds
 */
function duration(seconds) {
  return format(seconds * 1e9, 'nanos');
}

/**
 * A point in time, to the second even after hours.
 * @param {number} seconds
 */
function moment(seconds) {
  if (seconds === 0) return '0 s';
  if (seconds < 59.95) return format(seconds * 1e9, 'nanos', 'short');
  const whole = Math.round(seconds);
  const rest = `${two((whole / 60) % 60)}:${two(whole % 60)}`;
  return whole >= 3_600 ? `${Math.floor(whole / 3_600)}:${rest} h` : `${rest} min`;
}

/**
 * A value of a chart; its title says whether it counts cores.
 * @param {Measure} kind
 * @param {number} value
 */
function measure(kind, value) {
  return format(value, kind, kind === 'cores' ? 'bare' : 'full');
}

/**
 * 1, 2 or 5 times a power of ten, not below `least`.
 * @param {number} least
 */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * power >= least * 0.999999) ?? 10) * power;
}

/**
 * Round marks from zero to above the highest value, in the unit that people read.
 * @param {Measure} kind
 * @param {number} highest
 * @param {number} steps
 * @returns {number[]}
 */
function valueMarks(kind, highest, steps) {
  if (!(highest > 0)) highest = 1;
  const whole = kind === 'bytes' || kind === 'bytes_per_second' || kind === 'count';
  const step = Math.max(roundStep(highest / steps), whole ? 1 : 0);
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

const TIME_STEPS = [
  60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000,
];

/**
 * Round points in time between two ends.
 * @param {number} from
 * @param {number} to
 * @param {number} steps
 * @returns {number[]}
 */
function timeMarks(from, to, steps) {
  const least = Math.max((to - from) / Math.max(steps, 1), 1e-9);
  let step = roundStep(least);
  if (least > 10 && least <= 30) step = least > 20 ? 30 : 20;
  if (least > 30) step = TIME_STEPS.find((candidate) => candidate >= least) ?? roundStep(least);
  /** @type {number[]} */
  const marks = [];
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to + 1e-9; index += 1) marks.push(index * step);
  // A single mark tells no length; on a narrow screen the next finer step has room.
  return marks.length < 2 && steps < 10 ? timeMarks(from, to, steps + 1) : marks;
}

/**
 * The label of a time mark, as fine as the marks are apart.
 * @param {number} seconds
 * @param {number} step
 */
function clock(seconds, step) {
  if (Math.abs(seconds) < 1e-12) return '0';
  if (seconds < 60 || step < 1) return seconds < 1 ? `${number(seconds * 1e3)} ms` : `${Number(seconds.toFixed(4))} s`;
  const whole = Math.round(seconds);
  if (whole >= 3_600) {
    const tail = step < 60 ? `:${two(whole % 60)}` : ' h';
    return `${Math.floor(whole / 3_600)}:${two((whole / 60) % 60)}${tail}`;
  }
  return whole % 60 === 0 && step >= 60 ? `${whole / 60} min` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}
