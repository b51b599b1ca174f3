/** Numbers for people; the same rules as crates/jobmeter-report/src/format.rs. */

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/**
 * @param {number} value
 */
function number(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e15 || size < 0.0005) return value.toExponential(1);
  if (size >= 99.95) return Math.round(value).toLocaleString('en-US');
  const digits = size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 4;
  return String(Number(value.toFixed(digits)));
}

/**
 * @param {number} value
 */
function bytes(value) {
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit + 1 < BYTE_UNITS.length) {
    value /= 1000;
    unit += 1;
  }
  return `${number(unit === 0 ? Math.round(value) : value)} ${BYTE_UNITS[unit]}`;
}

/**
 * Two digits, as in 1:05.
 * @param {number} value
 */
function two(value) {
  return String(Math.floor(value)).padStart(2, '0');
}

/**
 * @param {number} seconds
 */
function duration(seconds) {
  if (seconds === 0) return '0 s';
  if (seconds < 1e-3) return `${number(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${number(seconds * 1e3)} ms`;
  if (seconds < 99.95) return `${number(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole >= 86_400) return `${Math.floor(whole / 86_400)} d ${two((whole / 3_600) % 24)} h`;
  if (whole >= 3_600) return `${Math.floor(whole / 3_600)} h ${two((whole / 60) % 60)} min`;
  return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
}

/**
 * A point in time, to the second even after hours.
 * @param {number} seconds
 */
function moment(seconds) {
  if (seconds < 99.95) return duration(seconds);
  const whole = Math.round(seconds);
  const rest = `${two((whole / 60) % 60)}:${two(whole % 60)}`;
  return whole >= 3_600 ? `${Math.floor(whole / 3_600)}:${rest} h` : `${rest} min`;
}

/**
 * @param {Measure} kind
 * @param {number} value
 */
function measure(kind, value) {
  switch (kind) {
    case 'bytes': return bytes(value);
    case 'bytes_per_second': return `${bytes(value)}/s`;
    case 'count_per_second': return `${number(value)}/s`;
    case 'ratio': return `${number(value * 100)} %`;
    case 'watts': return `${number(value)} W`;
    case 'celsius': return `${number(value)} °C`;
    case 'hertz': return `${number(value / 1e6)} MHz`;
    default: return number(value);
  }
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
  return marks;
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
