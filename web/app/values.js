// Values to pixels: a line of steps, with what it touched inside a pixel as its height. Pure,
// like spans.js.

/** @typedef {import("./types").Values} Values */

/**
 * Lowest, highest and last value of each pixel; NaN where there is none.
 * @typedef {object} Columns
 * @property {Float64Array} low
 * @property {Float64Array} high
 * @property {Float64Array} last
 */

/**
 * @param {number} width
 * @returns {Columns}
 */
export function columnsOf(width) {
  const empty = () => new Float64Array(width).fill(NaN);
  return { low: empty(), high: empty(), last: empty() };
}

/**
 * Adds `values` between `clipFrom` and `clipTo`. A record at the very start of a tile says what held
 * before it.
 * @param {Columns} columns
 * @param {number} width
 * @param {Values} values
 * @param {number} from
 * @param {number} nsPerPixel
 * @param {number} clipFrom
 * @param {number} clipTo
 */
export function accumulate(columns, width, values, from, nsPerPixel, clipFrom, clipTo) {
  const { numbers, count } = values, { low, high, last } = columns;
  for (let index = 0; index < count; index++) {
    const at = index * 5, begin = numbers[at], end = numbers[at + 1];
    if (begin >= clipTo) break;
    // What came before still holds at the left edge.
    const early = end < Math.max(clipFrom, from);
    const first = early ? Math.max(0, Math.floor((clipFrom - from) / nsPerPixel)) : Math.floor((Math.max(begin, clipFrom) - from) / nsPerPixel);
    const final = early ? first : Math.floor((Math.min(end, clipTo) - from) / nsPerPixel);
    if (first >= width) break;
    const [least, most, now] = early ? [numbers[at + 4], numbers[at + 4], numbers[at + 4]] : [numbers[at + 2], numbers[at + 3], numbers[at + 4]];
    for (let column = Math.max(0, first); column <= Math.min(final, width - 1); column++) {
      if (early || Number.isNaN(low[column])) {
        low[column] = least;
        high[column] = most;
      } else {
        low[column] = Math.min(low[column], least);
        high[column] = Math.max(high[column], most);
      }
      last[column] = now;
    }
  }
}

/**
 * Where nothing new was seen, the last value holds.
 * @param {Columns} columns
 * @param {number} width
 */
export function hold({ low, high, last }, width) {
  let now = NaN;
  for (let column = 0; column < width; column++) {
    if (Number.isNaN(last[column])) {
      low[column] = high[column] = last[column] = now;
    } else if (!Number.isNaN(now)) {
      // A step is drawn in the column in which it happens.
      low[column] = Math.min(low[column], now);
      high[column] = Math.max(high[column], now);
    }
    now = last[column];
  }
}

/**
 * Draws columns between 0 and `most` into the lines from `top` on.
 * @param {Uint32Array} pixels
 * @param {number} stride
 * @param {number} width
 * @param {number} top
 * @param {number} height
 * @param {Columns} columns
 * @param {number} most
 * @param {object} look
 * @param {number} look.colour
 * @param {number | null} look.under fills what lies below the line
 * @param {number} look.thick lines
 * @param {number} look.dash columns that are drawn of each 12; 12: all
 */
export function paint(pixels, stride, width, top, height, columns, most, { colour, under, thick, dash }) {
  const scale = (height - thick) / (most > 0 ? most : 1), bottom = top + height;
  for (let column = 0; column < width; column++) {
    const low = columns.low[column], high = columns.high[column];
    if (Number.isNaN(low)) continue;
    const upper = Math.max(top, Math.round(bottom - thick - Math.max(0, high) * scale));
    // A value beyond `most` ends at the top.
    const lower = Math.min(bottom, Math.max(top, Math.round(bottom - Math.max(0, low) * scale)));
    if (under !== null) for (let line = lower; line < bottom; line++) pixels[line * stride + column] = under;
    if (column % 12 >= dash && lower - upper <= thick) continue;
    for (let line = upper; line < Math.max(lower, upper + thick) && line < bottom; line++) pixels[line * stride + column] = colour;
  }
}

/**
 * The value that holds at `at`: null where none is known.
 * @param {Values} values
 * @param {number} at
 */
export function valueAt({ numbers, count }, at) {
  let found = null;
  for (let index = 0; index < count && numbers[index * 5] <= at; index++) found = numbers[index * 5 + 4];
  return found;
}

/**
 * A round number of at least `value`, so that the top of a plot can be read.
 * @param {number} value
 * @param {string | null} unit
 * @returns {number}
 */
export function roundTop(value, unit) {
  if (!(value > 0)) return 1;
  if (unit?.startsWith("bytes")) {
    const unitOf = 1024 ** Math.floor(Math.log2(value) / 10);
    return roundTop(value / unitOf, null) * unitOf;
  }
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((n) => n * power >= value * 0.999999) ?? 10) * power;
}
