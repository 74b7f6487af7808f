// What is under a point, and which span comes next: from the tiles that are drawn.

import * as spans from "./spans.js";
import { valueAt } from "./values.js";
import { rowAt } from "./layout.js";

/** @typedef {import("./types").Spot} Spot */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Spans} Spans */
/** @typedef {import("./scene.js").Scene} Scene */

/**
 * @param {Row} row
 * @param {Spans} data
 * @param {number} index
 * @returns {Spot}
 */
function spotOf(row, data, index) {
  return {
    row,
    track: row.tracks[0],
    from: data.times[index * 4],
    to: data.times[index * 4 + 1],
    kind: data.halves[index * 16 + 10],
    count: data.words[index * 8 + 4],
    detail: data.words[index * 8 + 6],
    share: data.shares[index * 8 + 7],
  };
}

/**
 * The span at a point of the drawing, in CSS pixels.
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @returns {Spot | null}
 */
export function spotAt(scene, x, y) {
  const row = rowAt(scene.state.rows, y + scene.state.scroll);
  if (!row || row.form === "values") return null;
  const slack = (scene.state.view.to - scene.state.view.from) / scene.width;
  return spotIn(scene, row, scene.at(x), slack * 2);
}

/**
 * The span of a row at a moment.
 * @param {Scene} scene
 * @param {Row} row
 * @param {number} at
 * @param {number} slack
 */
export function spotIn(scene, row, at, slack) {
  for (const { data, from, to } of scene.pieces(row.tracks[0])) {
    if (!("times" in data) || at < from - slack || at >= to + slack) continue;
    const index = spans.indexAt(data, at, slack);
    if (index >= 0) return spotOf(row, data, index);
  }
  return null;
}

/**
 * The values of a plot at a moment.
 * @param {Scene} scene
 * @param {Row} row
 * @param {number} at
 */
export function valuesAt(scene, row, at) {
  return row.tracks.map((track) => {
    let value = null;
    for (const { data, from } of scene.pieces(track)) {
      if ("numbers" in data && from <= at) value = valueAt(data, at) ?? value;
    }
    return { track, value };
  });
}

/**
 * The next span of a row after `at` (or the previous one), among those that are drawn.
 * @param {Scene} scene
 * @param {Row} row
 * @param {Spot | null} now
 * @param {number} at where to begin without one
 * @param {1 | -1} direction
 * @returns {Spot | null}
 */
export function step(scene, row, now, at, direction) {
  /** @type {Spot | null} */
  let best = null;
  // What begins and ends as the span that is left, is that span in another tile.
  const origin = now && now.track === row.tracks[0] ? now.from : at;
  for (const { data } of scene.pieces(row.tracks[0])) {
    if (!("times" in data)) continue;
    for (let index = 0; index < data.count; index++) {
      const from = data.times[index * 4];
      if (direction > 0 ? from <= origin : from >= origin) continue;
      if (best && (direction > 0 ? from >= best.from : from <= best.from)) continue;
      best = spotOf(row, data, index);
    }
  }
  return best;
}
