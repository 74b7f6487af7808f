// Figures as people read them: three digits at most, followed by the unit. Same output as
// crates/model/src/units.rs; web/tests/units.json holds both to it.

/**
 * `value` with so many decimals; halves go to the even digit, as in the reports.
 * @param {number} value
 * @param {number} digits
 */
function fixed(value, digits) {
  const twice = value * 2 ** (digits + 1);
  if (Number.isInteger(twice) && twice % 2 !== 0) {
    const scaled = Math.floor(value * 10 ** digits);
    return ((scaled % 2 === 0 ? scaled : scaled + 1) / 10 ** digits).toFixed(digits);
  }
  return value.toFixed(digits);
}

/** @param {number} value */
function threeDigits(value) {
  return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/** @param {number} seconds */
function longDuration(seconds) {
  const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60;
  if (hours >= 2) return `${hours} h ${String(minutes).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/**
 * A duration in nanoseconds: "640 ns", "16 us", "71.6 ms", "2.01 s", "3 min 20 s".
 * @param {number | null} ns
 */
export function duration(ns) {
  if (ns === null || !Number.isFinite(ns)) return "-";
  ns = Math.max(0, Math.round(ns));
  if (ns === 0) return "0";
  if (ns < 1_000) return `${ns} ns`;
  if (ns < 9_950) return `${fixed(ns / 1e3, 1)} us`;
  if (ns < 999_500) return `${fixed(ns / 1e3, 0)} us`;
  if (ns < 999_500_000) return `${threeDigits(ns / 1e6)} ms`;
  if (ns < 119_500_000_000) return `${threeDigits(ns / 1e9)} s`;
  return longDuration(Math.round(ns / 1e9));
}

/**
 * Bytes, in powers of 1024: "512 B", "9.6 MiB", "84 MiB".
 * @param {number} count
 */
export function bytes(count) {
  if (count < 1024) return `${Math.max(0, Math.trunc(count))} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = count / 1024, unit = 0;
  while (unit < units.length - 1 && value >= 1023.5) {
    value /= 1024;
    unit += 1;
  }
  return `${fixed(value, value < 9.95 ? 1 : 0)} ${units[unit]}`;
}

/**
 * A share, 0 to 1: never rounds up to all nor down to nothing.
 * @param {number} share
 */
export function percent(share) {
  const value = share * 100;
  if (!Number.isFinite(value)) return "-";
  if (value <= 0) return "0 %";
  if (value < 0.1) return "< 0.1 %";
  if (value < 9.95) return `${fixed(value, 1)} %`;
  if (value > 99 && value < 100) return "> 99 %";
  return `${fixed(value, 0)} %`;
}

/**
 * A count with separators: "103,060".
 * @param {number} value
 */
export function count(value) {
  return String(Math.trunc(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/**
 * So many things: "1 pause", "12 pauses".
 * @param {number} value
 * @param {string} one
 * @param {string} many
 */
export function counted(value, one, many) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/**
 * A value of a track in the unit that it has.
 * @param {number} value
 * @param {string | null} unit
 */
export function quantity(value, unit) {
  if (!Number.isFinite(value)) return "-";
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes/s") return `${bytes(value)}/s`;
  if (unit === "ns") return duration(value);
  if (unit === "share") return percent(value);
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".");
  const text = (value < 0 ? "-" : "") + count(Number(whole)) + (rest ? `.${rest}` : "");
  return unit ? `${text} ${unit}` : text;
}
