// Spans to pixels. A column of pixels shows what its time was spent on: each kind has the
// height of its share, so that a picture of three days is as true as one of 50 us. Pure: fills
// arrays that it is given; its cost does not depend on how many spans there are to a pixel.

/** @typedef {import("./types").Spans} Spans */

/**
 * How kinds look. A slot is a kind's place in the stack, from the bottom.
 * @typedef {object} Palette
 * @property {number} count slots
 * @property {Uint8Array} slots slot of each kind; 255: none
 * @property {Uint32Array} colours of a slot, as a pixel (A B G R)
 * @property {Uint32Array} seconds the pattern's other colour
 * @property {Uint8Array} patterns 0: none, 1: stripes that rise, 2: stripes that fall, 3: dots, 4: grid
 * @property {Uint8Array} strong 1: seen however short it is
 */

/**
 * Adds the shares of `spans` between `clipFrom` and `clipTo` to `columns`, `palette.count` for each
 * of `width` pixels from `from` on.
 * @param {Float32Array} columns
 * @param {number} width
 * @param {Palette} palette
 * @param {Spans} spans
 * @param {number} from
 * @param {number} nsPerPixel
 * @param {number} clipFrom
 * @param {number} clipTo
 */
export function accumulate(columns, width, palette, spans, from, nsPerPixel, clipFrom, clipTo) {
  const { times, halves, shares, count } = spans, { slots, count: depth } = palette;
  const perNs = 1 / nsPerPixel;
  const low = Math.max(clipFrom, from), high = Math.min(clipTo, from + width * nsPerPixel);
  for (let index = firstAfter(times, count, low); index < count; index++) {
    const begin = times[index * 4], end = times[index * 4 + 1];
    if (begin >= high) break;
    const left = ((begin > low ? begin : low) - from) * perNs, right = ((end < high ? end : high) - from) * perNs;
    if (right < left || end < low) continue;
    const slot = slots[halves[index * 16 + 10]];
    if (slot === 255) continue;
    const share = shares[index * 8 + 7];
    const first = Math.floor(left), last = Math.min(Math.floor(right), width - 1);
    if (first >= last) {
      // A span without length still was there.
      if (first < width) columns[first * depth + slot] += Math.max((right - left) * share, 1e-6);
      continue;
    }
    columns[first * depth + slot] += (first + 1 - left) * share;
    for (let column = first + 1; column < last; column++) columns[column * depth + slot] += share;
    columns[last * depth + slot] += Math.min(right - last, 1) * share;
  }
}

/**
 * The first span that may reach `at`: they are sorted and those of one bin overlap only within it,
 * so the one before is looked at too.
 * @param {Float64Array} times
 * @param {number} count
 * @param {number} at
 */
function firstAfter(times, count, at) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle * 4 + 1] < at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 8);
}

/**
 * Draws `columns` as a row of pixels and empties them.
 * @param {Uint32Array} pixels
 * @param {number} stride pixels of a line
 * @param {number} width
 * @param {number} top first line
 * @param {number} height lines
 * @param {Float32Array} columns
 * @param {Palette} palette
 * @param {number} ground colour where nothing is known
 * @param {number} phase where patterns begin, so that they move with what they are on
 */
export function paint(pixels, stride, width, top, height, columns, palette, ground, phase) {
  const depth = palette.count;
  let runSlot = -2, runFrom = 0;
  for (let column = 0; column <= width; column++) {
    const slot = column < width ? solid(columns, column * depth, depth) : -3;
    if (slot === runSlot && slot !== -2) continue;
    if (runSlot >= -1) fill(pixels, stride, runFrom, column, top, height, palette, runSlot, ground, phase);
    if (slot === -2) stack(pixels, stride, column, top, height, columns, palette, ground, phase);
    [runSlot, runFrom] = [slot, column];
  }
  columns.fill(0, 0, width * depth);
}

/**
 * The slot that has a whole column; -1: nothing is there, -2: several share it.
 * @param {Float32Array} columns
 * @param {number} at
 * @param {number} depth
 */
function solid(columns, at, depth) {
  let found = -1;
  for (let slot = 0; slot < depth; slot++) {
    const share = columns[at + slot];
    if (share === 0) continue;
    if (found !== -1 || share < 0.999) return -2;
    found = slot;
  }
  return found;
}

/**
 * @param {Uint32Array} pixels
 * @param {number} stride
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} height
 * @param {Palette} palette
 * @param {number} slot -1: the ground
 * @param {number} ground
 * @param {number} phase
 */
function fill(pixels, stride, left, right, top, height, palette, slot, ground, phase) {
  const pattern = slot < 0 ? 0 : palette.patterns[slot];
  const colour = slot < 0 ? ground : palette.colours[slot], second = slot < 0 ? ground : palette.seconds[slot];
  for (let line = top; line < top + height; line++) {
    const start = line * stride;
    pixels.fill(colour, start + left, start + right);
    if (pattern === 0) continue;
    for (let column = left; column < right; column++) {
      if (marked(pattern, column + phase, line)) pixels[start + column] = second;
    }
  }
}

/**
 * Whether a pattern has its other colour there.
 * @param {number} pattern
 * @param {number} x
 * @param {number} y
 */
function marked(pattern, x, y) {
  switch (pattern) {
    case 1: return ((x + y) & 7) < 3;
    case 2: return ((x - y) & 7) < 2;
    case 3: return (x & 3) === 0 && ((y + ((x >> 2) & 1) * 2) & 3) === 0;
    case 4: return ((x + y) & 7) === 0 || ((x - y) & 7) === 0;
    default: return false;
  }
}

/**
 * One column that several kinds share: strong ones get a line at least.
 * @param {Uint32Array} pixels
 * @param {number} stride
 * @param {number} column
 * @param {number} top
 * @param {number} height
 * @param {Float32Array} columns
 * @param {Palette} palette
 * @param {number} ground
 * @param {number} phase
 */
function stack(pixels, stride, column, top, height, columns, palette, ground, phase) {
  const depth = palette.count, at = column * depth;
  let total = 0, strongLines = 0, last = -1;
  for (let slot = 0; slot < depth; slot++) total += columns[at + slot];
  const perShare = total > 1 ? height / total : height;
  for (let slot = 0; slot < depth; slot++) {
    const share = columns[at + slot];
    if (share === 0) continue;
    if (palette.strong[slot]) strongLines += Math.max(1, Math.round(share * perShare));
    else last = slot;
  }
  let weakLeft = Math.max(0, height - strongLines), line = top + height;
  for (let slot = 0; slot < depth && line > top; slot++) {
    const share = columns[at + slot];
    if (share === 0) continue;
    let lines = Math.round(share * perShare);
    if (palette.strong[slot]) lines = Math.max(1, lines);
    // The last of the quiet kinds takes what rounding left.
    else lines = slot === last && total > 0.98 ? weakLeft : Math.min(lines, weakLeft);
    if (!palette.strong[slot]) weakLeft -= lines;
    const pattern = palette.patterns[slot], colour = palette.colours[slot], second = palette.seconds[slot];
    for (; lines > 0 && line > top; lines--) {
      line -= 1;
      pixels[line * stride + column] = pattern !== 0 && marked(pattern, column + phase, line) ? second : colour;
    }
  }
  while (line > top) {
    line -= 1;
    pixels[line * stride + column] = ground;
  }
}

/**
 * The span of `spans` at `at` that a person means: the shortest that covers it, or the one with
 * the largest share of a bin; -1: none.
 * @param {Spans} spans
 * @param {number} at
 * @param {number} slack nanoseconds that it may be missed by
 */
export function indexAt(spans, at, slack) {
  const { times, shares, count } = spans;
  let best = -1, bestMiss = Infinity, bestShare = 0;
  for (let index = firstAfter(times, count, at - slack); index < count; index++) {
    const begin = times[index * 4], end = times[index * 4 + 1];
    if (begin > at + slack) break;
    const miss = at < begin ? begin - at : at >= end ? at - end : 0;
    if (miss > slack) continue;
    const share = shares[index * 8 + 7];
    if (miss < bestMiss || (miss === bestMiss && share > bestShare)) [best, bestMiss, bestShare] = [index, miss, share];
  }
  return best;
}
