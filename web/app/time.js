// The time axis: which marks it has, what is written at them, what moments are called, and
// moments that people type. Times are nanoseconds since the session's start.

const SECOND = 1e9, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const LONG_STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * SECOND)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * MINUTE), [1, 2, 3, 6, 12].map((n) => n * HOUR), [1, 2, 5, 10, 20, 50].map((n) => n * DAY));

/**
 * The smallest round step of at least `least` nanoseconds.
 * @param {number} least
 */
export function roundStep(least) {
  if (least > SECOND / 2) return LONG_STEPS.find((step) => step >= least) ?? 100 * DAY;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * 0.999999) ?? power * 10;
}

/** @param {number} step */
function decimalsOf(step) {
  return step >= SECOND ? 0 : Math.min(9, Math.ceil(-Math.log10(step / SECOND) - 1e-9));
}

/**
 * A moment with so many decimals of a second: "3.250 s", "12:05.5", "1 d 02:03:04"; in a short
 * session "20 ms".
 * @param {number} ns
 * @param {number} decimals
 * @param {boolean} [short] all moments are within the first second
 */
export function moment(ns, decimals, short = false) {
  if (short && decimals > 0 && Math.abs(ns) < SECOND) {
    const [unit, name, less] = decimals > 6 ? [1e3, "us", 6] : [1e6, "ms", 3];
    return `${(ns / unit).toFixed(Math.max(0, decimals - less))} ${name}`;
  }
  // In whole units of the last digit, so that no 59.99 becomes 60.0.
  const unit = 10 ** (9 - decimals);
  const ticks = Math.round(Math.abs(ns) / unit), perSecond = 10 ** decimals;
  const whole = Math.floor(ticks / perSecond), rest = ticks % perSecond;
  const tail = decimals > 0 ? `.${String(rest).padStart(decimals, "0")}` : "";
  const sign = ns < 0 && ticks > 0 ? "-" : "";
  if (whole < 60) return `${sign}${whole}${tail} s`;
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const seconds = two(whole % 60) + tail, minutes = Math.floor(whole / 60) % 60;
  if (whole < 3600) return `${sign}${minutes}:${seconds}`;
  const hours = Math.floor(whole / 3600) % 24, days = Math.floor(whole / 86400);
  if (days === 0) return `${sign}${hours}:${two(minutes)}:${seconds}`;
  return `${sign}${days} d ${two(hours)}:${two(minutes)}:${seconds}`;
}

/**
 * A moment as exact as it matters in a window of `span` nanoseconds.
 * @param {number} ns
 * @param {number} span
 */
export function momentIn(ns, span) {
  return moment(ns, decimalsOf(Math.max(1, span / 1000)), span < SECOND);
}

/**
 * @typedef {object} Tick
 * @property {number} at
 * @property {string} text empty: a small mark
 */

/**
 * Marks of the axis. Where a window is far from the start and short, labels count from `base`,
 * which is then named at the edge.
 * @param {number} from
 * @param {number} to
 * @param {number} width pixels
 * @returns {{ticks: Tick[], base: string | null}}
 */
export function axis(from, to, width) {
  const span = Math.max(1, to - from), apart = 92;
  const step = roundStep((span * apart) / Math.max(apart, width));
  const decimals = decimalsOf(step);
  const relative = decimals >= 4 && from >= 10 * step;
  const unit = relative ? 1000 * 10 ** Math.floor(Math.log10(span)) / 100 : 0;
  const base = relative ? Math.floor(from / unit) * unit : 0;
  const ticks = [];
  const minor = step / 5;
  for (let n = Math.ceil(from / minor); n * minor <= to && ticks.length < 2000; n++) {
    const at = n * minor;
    ticks.push({ at, text: n % 5 === 0 ? (relative ? offset(at - base) : moment(at, decimals, to <= SECOND)) : "" });
  }
  return { ticks, base: relative ? moment(base, decimalsOf(unit), to <= SECOND) : null };
}

/** @param {number} ns */
function offset(ns) {
  const rounded = Math.round(ns);
  if (rounded < 1000) return `+${rounded} ns`;
  const [value, unit] = rounded < 1e6 ? [rounded / 1e3, "us"] : rounded < 1e9 ? [rounded / 1e6, "ms"] : [rounded / 1e9, "s"];
  return `+${Number(value.toFixed(3))} ${unit}`;
}

/**
 * A moment or a duration as typed: "3.25s", "12 ms", "1:02:03.5", "250us"; null: it is none.
 * @param {string} text
 */
export function parse(text) {
  const plain = text.trim().toLowerCase();
  const simple = plain.match(/^(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|m|min|h|d)$/);
  if (simple) {
    const units = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: SECOND, m: MINUTE, min: MINUTE, h: HOUR, d: DAY };
    return Number(simple[1]) * units[/** @type {keyof typeof units} */ (simple[2])];
  }
  const clock = plain.match(/^(?:(\d+)\s*d\s+)?(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:\.\d+)?)$/);
  if (!clock) return null;
  const [, days = "0", hours = "0", minutes, seconds] = clock;
  return Number(days) * DAY + Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
}
