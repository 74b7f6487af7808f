// Arithmetic of levels and tiles: a bin of level k is 2^(10+2k) ns long, a tile 1024 bins.
// As docs/formats/levels.md has it.

/**
 * Length of a tile in nanoseconds.
 * @param {number} level
 */
export function tileLength(level) {
  return 2 ** (20 + 2 * level);
}

/**
 * The level at which a bin is at most a pixel, where there is one.
 * @param {number} nsPerPixel
 * @param {number} top
 */
export function levelFor(nsPerPixel, top) {
  const level = Math.floor((Math.log2(Math.max(nsPerPixel, 1)) - 10) / 2);
  return Math.min(Math.max(level, 0), Math.max(top, 0));
}

/**
 * First and last tile of `level` that `[from, to)` touches.
 * @param {number} level
 * @param {number} from
 * @param {number} to
 * @returns {[number, number]}
 */
export function tilesOf(level, from, to) {
  const length = tileLength(level);
  const first = Math.max(0, Math.floor(from / length));
  return [first, Math.max(first, Math.ceil(to / length) - 1)];
}
