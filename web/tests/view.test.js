// Windows, levels, rows, links.
import assert from "node:assert/strict";
import { test } from "node:test";
import { around, LEAST, panned, showing, within, zoomed } from "../app/view.js";
import { levelFor, tileLength, tilesOf } from "../app/levels.js";
import { closedAtFirst, fitted, layout, rowAt, rowOf, visible } from "../app/layout.js";
import * as link from "../app/url.js";

const SPAN = 3_000_000_000;

test("a window never leaves the session and never gets too short", () => {
  let view = { from: 0, to: SPAN }, seed = 7;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  for (let step = 0; step < 5000; step++) {
    const at = view.from + next() * (view.to - view.from);
    view = next() < 0.6 ? zoomed(view, 0.3 + next() * 2.2, at, SPAN) : panned(view, (next() - 0.5) * SPAN, SPAN);
    assert.ok(view.from >= 0 && view.to <= SPAN + 1e-3 && view.to - view.from >= LEAST - 1e-3, JSON.stringify(view));
  }
  assert.deepEqual(within({ from: NaN, to: 5 }, SPAN), { from: 0, to: SPAN });
  assert.deepEqual(within({ from: 0, to: 1e12 }, 50), { from: 0, to: 50 });
});

test("what is under the pointer stays there", () => {
  const view = { from: 1e9, to: 2e9 }, at = 1.3e9;
  const closer = zoomed(view, 0.25, at, SPAN);
  assert.ok(Math.abs((at - closer.from) / (closer.to - closer.from) - 0.3) < 1e-9);
});

test("a window is moved as little as is needed", () => {
  const view = { from: 1e9, to: 2e9 };
  assert.equal(showing(view, 1.2e9, 1.3e9, SPAN), view);
  const right = showing(view, 2.1e9, 2.2e9, SPAN);
  assert.ok(right.from > view.from && right.to >= 2.2e9 && right.to < 2.4e9);
  const left = showing(view, 0.1e9, 0.2e9, SPAN);
  assert.ok(left.from <= 0.1e9 && left.to > 0.2e9);
  const wide = around(1e9, 1.06e9, SPAN);
  assert.ok(Math.abs(wide.to - wide.from - 0.1e9) < 1);
});

test("a bin is at most a pixel, and a window has few tiles", () => {
  for (let perPixel = 0.2; perPixel < 1e12; perPixel *= 1.9) {
    const level = levelFor(perPixel, 22);
    if (level > 0) assert.ok(2 ** (10 + 2 * level) <= perPixel * 1.0001);
    const [first, last] = tilesOf(level, 5e9, 5e9 + perPixel * 1500);
    assert.ok(last - first <= 7, `${perPixel}: ${last - first}`);
  }
  assert.equal(levelFor(1e12, 5), 5);
  assert.deepEqual(tilesOf(0, 0, tileLength(0)), [0, 0]);
  assert.deepEqual(tilesOf(0, tileLength(0), tileLength(0) + 1), [1, 1]);
});

const track = (id, form, unit = null) => ({ id, name: `track ${id}`, form, unit, top: 5 });
const groups = [
  { name: "Pauses", sub: null, tracks: [track(0, "spans"), track(1, "values", "bytes"), track(2, "values", "bytes"), track(3, "values", "ns")] },
  { name: "lane 0", sub: null, tracks: [track(10, "spans"), track(11, "spans"), track(12, "marks")] },
];

test("values of one unit share a plot, closed groups are one row", () => {
  const { rows } = layout(groups, new Set(), 1);
  assert.deepEqual(rows.map((row) => row.tracks.map((one) => one.id)), [[0], [1, 2], [3], [10], [11], [12]]);
  assert.deepEqual(rows.map((row) => row.first), [true, false, false, true, false, false]);
  const closed = layout(groups, new Set([1]), 1);
  assert.deepEqual(closed.rows.map((row) => row.tracks[0].id), [0, 1, 3, 10]);
  assert.ok(closed.rows.every((row, index) => index === 0 || row.y >= closed.rows[index - 1].y + closed.rows[index - 1].height));
  assert.equal(rowOf(rows, 2), rows[1]);
  const many = [{ name: "g", sub: null, tracks: [track(0, "values"), track(1, "values"), ...Array.from({ length: 8 }, (_, id) => track(10 + id, "values", "bytes"))] }];
  assert.deepEqual(layout(many, new Set(), 1).rows.map((row) => row.tracks.length), [1, 1, 6, 2]);
});

test("rows use the room that there is", () => {
  const plain = fitted(groups, new Set(), 10), roomy = fitted(groups, new Set(), 2000);
  assert.ok(roomy.height > plain.height * 1.2 && roomy.height < plain.height * 1.8);
  assert.ok(fitted(groups, new Set(), plain.height * 1.3).height <= plain.height * 1.3);
});

test("a group that the session folds is closed at first", () => {
  assert.deepEqual([...closedAtFirst([groups[0], { ...groups[1], folded: true }])], [1]);
  assert.equal(closedAtFirst(groups).size, 0);
});

test("512 lanes are closed at first, and only what is on screen is looked at", () => {
  const lanes = Array.from({ length: 512 }, (_, lane) => ({ name: `lane ${lane}`, sub: null, tracks: [track(lane * 2, "spans"), track(lane * 2 + 1, "spans")] }));
  const closed = closedAtFirst([groups[0], ...lanes]);
  assert.equal(closed.size, 512);
  const { rows, height } = layout([groups[0], ...lanes], closed, 1);
  const [first, end] = visible(rows, height / 2, height / 2 + 600);
  assert.ok(end - first > 20 && end - first < 60);
  const row = rows[first + 3];
  assert.equal(rowAt(rows, row.y + 1), row);
  assert.equal(rowAt(rows, height + 500), null);
});

test("links carry what they were given, and nothing else gets in", () => {
  const state = { view: { from: 5, to: 900 }, selection: { from: 7, to: 8 }, track: 12, pause: 3 };
  assert.deepEqual(link.read(link.write(state)), state);
  assert.equal(link.write({ view: null, selection: null, track: null, pause: null }), "");
  for (const bad of ["#t=9-5", "#t=x-y", "#t=-5", "#track=1e9", "#pause=<b>", "#t=1-99999999999999999999", "#%%%"]) {
    assert.deepEqual(link.read(bad), { view: null, selection: null, track: null, pause: null }, bad);
  }
});
