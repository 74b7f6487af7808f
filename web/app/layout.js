// Where rows are: each group's tracks below each other, closed groups as one thin row. Pure.

/** @typedef {import("./types").Group} Group */
/** @typedef {import("./types").Row} Row */

/** Heights in CSS pixels. */
export const HEIGHTS = { main: 22, under: 13, values: 46, marks: 14, closed: 12, within: 2, between: 12, top: 8 };

/** With more groups than this, lanes are closed at first. */
export const OPEN_AT_FIRST = 24;

/**
 * Groups that are closed at first: those that the session folds, and all that hold only spans, where there are many. The first, of pauses, stays open.
 * @param {Group[]} groups
 * @returns {Set<number>}
 */
export function closedAtFirst(groups) {
  const many = groups.length > OPEN_AT_FIRST;
  const onlySpans = (/** @type {Group} */ group) => group.tracks.every((track) => track.form === "spans");
  return new Set(groups.flatMap((group, index) => (group.folded || (many && index > 0 && onlySpans(group)) ? [index] : [])));
}

/** Most lines that can be distinguished in one plot. */
const LINES = 6;

/**
 * Whether a track belongs into the plot above it: values of one unit. Those without one are each of their own.
 * @param {Row} last
 * @param {import("./types").Track} track
 */
function shares(last, track) {
  const values = track.form === "values" && last.form === "values" && last.tracks.length < LINES;
  return values && track.unit !== null && last.tracks[0].unit === track.unit;
}

/** How much higher rows get at most where there is room. */
const STRETCH = 1.7;

/**
 * All rows, from the top, and how high they are together: higher where few rows have much `room`.
 * @param {Group[]} groups
 * @param {Set<number>} closed
 * @param {number} [room] CSS pixels
 */
export function fitted(groups, closed, room = 0) {
  const least = layout(groups, closed, 1);
  const stretch = Math.min(STRETCH, Math.floor((room / Math.max(1, least.height)) * 10) / 10);
  return stretch > 1 ? layout(groups, closed, stretch) : least;
}

/**
 * All rows, from the top, and how high they are together. Values of one unit that follow each other
 * share a plot.
 * @param {Group[]} groups
 * @param {Set<number>} closed
 * @param {number} stretch
 * @returns {{rows: Row[], height: number}}
 */
export function layout(groups, closed, stretch) {
  /** @type {Row[]} */
  const rows = [];
  let y = HEIGHTS.top;
  groups.forEach((group, index) => {
    const isClosed = closed.has(index);
    let first = true, spans = 0;
    for (const track of group.tracks) {
      const last = rows[rows.length - 1];
      if (!first && shares(last, track)) {
        last.tracks.push(track);
        continue;
      }
      if (isClosed && !first) continue;
      const plain = isClosed ? HEIGHTS.closed : track.form === "values" ? HEIGHTS.values
        : track.form === "marks" ? HEIGHTS.marks : spans++ === 0 ? HEIGHTS.main : HEIGHTS.under;
      const height = Math.round(plain * stretch);
      rows.push({ form: track.form, tracks: [track], group: index, y, height, first, closed: isClosed });
      y += height + HEIGHTS.within;
      first = false;
    }
    if (!first) y += (isClosed ? 4 : HEIGHTS.between) - HEIGHTS.within;
  });
  return { rows, height: y };
}

/**
 * Indices of the rows that touch `[top, bottom)`.
 * @param {Row[]} rows
 * @param {number} top
 * @param {number} bottom
 * @returns {[number, number]} first, and one past the last
 */
export function visible(rows, top, bottom) {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].y + rows[middle].height <= top) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < rows.length && rows[end].y < bottom) end += 1;
  return [low, end];
}

/**
 * The row at `y`, or the one that is nearest within a few pixels.
 * @param {Row[]} rows
 * @param {number} y
 * @returns {Row | null}
 */
export function rowAt(rows, y) {
  const [first] = visible(rows, y - 2, y + 2);
  const row = rows[first];
  return row && y >= row.y - 2 && y < row.y + row.height + 2 ? row : null;
}

/**
 * The row that shows a track: its own, or its group's where that is closed.
 * @param {Row[]} rows
 * @param {number} track
 */
export function rowOf(rows, track) {
  return rows.find((row) => row.tracks.some((one) => one.id === track)) ?? null;
}
