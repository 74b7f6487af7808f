// Spans and values as pixels.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as spans from "../app/spans.js";
import * as values from "../app/values.js";
import { lookOf, pixelOf, roleOf } from "../app/theme.js";
import { valuesOf } from "../app/tiles.js";
import { tileOf } from "./records.js";

const kinds = [{ id: 1, name: "program", role: "program" }, { id: 2, name: "stop", role: "waiting-to-stop" }, { id: 3, name: "odd", role: "never heard of" }];
let nextColour = 0;
const { palette, pixel } = lookOf(kinds, () => `rgb(${++nextColour}, 7, 9)`);
const slot = (kind) => palette.slots[kind];

function shares(items, width, from, perPixel, clip = [0, 1e12]) {
  const columns = new Float32Array(width * palette.count);
  spans.accumulate(columns, width, palette, tileOf(items), from, perPixel, ...clip);
  return (column, kind) => columns[column * palette.count + slot(kind)];
}

test("a column holds each kind's share of its time", () => {
  const share = shares([[0, 30, 1, 1], [30, 40, 1, 2], [40, 100, 1, 1]], 1, 0, 100);
  assert.ok(Math.abs(share(0, 1) - 0.9) < 1e-6 && Math.abs(share(0, 2) - 0.1) < 1e-6);
});

test("spans that follow each other leave nothing between them", () => {
  const share = shares([[0, 260, 1, 1], [260, 1000, 1, 2]], 10, 0, 100);
  for (let column = 0; column < 10; column++) assert.ok(Math.abs(share(column, 1) + share(column, 2) - 1) < 1e-6, `column ${column}`);
  assert.ok(Math.abs(share(2, 1) - 0.6) < 1e-6);
  assert.equal(share(3, 2), 1);
});

test("what was taken together fills its share only", () => {
  const share = shares([[100, 300, 40, 2, 0, 0.25]], 5, 0, 100);
  assert.deepEqual([0, 1, 2, 3].map((column) => share(column, 2)), [0, 0.25, 0.25, 0]);
});

test("a span in two tiles is drawn once", () => {
  const columns = new Float32Array(10 * palette.count);
  const tile = tileOf([[0, 1000, 1, 1]]);
  spans.accumulate(columns, 10, palette, tile, 0, 100, 0, 437);
  spans.accumulate(columns, 10, palette, tile, 0, 100, 437, 1000);
  for (let column = 0; column < 10; column++) assert.ok(Math.abs(columns[column * palette.count + slot(1)] - 1) < 1e-6);
});

function painted(items, width, height, perPixel = 100) {
  const columns = new Float32Array(width * palette.count), pixels = new Uint32Array(width * (height + 2));
  spans.accumulate(columns, width, palette, tileOf(items), 0, perPixel, 0, 1e12);
  spans.paint(pixels, width, width, 1, height, columns, palette, pixel.ground, 0);
  assert.ok(columns.every((one) => one === 0), "columns are empty again");
  return (column, line) => pixels[(line + 1) * width + column];
}

test("rows are painted from the bottom, and only there", () => {
  const at = painted([[0, 300, 1, 1], [300, 330, 1, 2], [330, 400, 1, 1]], 5, 10);
  assert.equal(at(0, 0), pixel.program);
  assert.equal(at(3, 9), pixel.program);
  assert.equal(at(3, 0), pixel["waiting-to-stop"]);
  assert.equal([...Array(10).keys()].filter((line) => at(3, line) === pixel["waiting-to-stop"]).length, 3);
  assert.equal(at(4, 5), pixel.ground, "nothing is known there");
  assert.equal(at(0, -1), 0, "the line above is untouched");
  assert.equal(at(0, 10), 0, "and the one below");
});

test("a short wait is seen however short it is", () => {
  const at = painted([[0, 50, 1, 1], [50, 50.01, 1, 2], [50.01, 100, 1, 1]], 1, 20);
  const lines = [...Array(20).keys()].map((line) => at(0, line));
  assert.equal(lines.filter((one) => one === pixel["waiting-to-stop"]).length, 1);
  assert.equal(lines.filter((one) => one === pixel.program).length, 19);
});

test("kinds and roles that are not known are drawn as such", () => {
  assert.equal(roleOf("never heard of"), "other");
  assert.equal(slot(3), slot(999));
  assert.notEqual(slot(3), 255);
  assert.deepEqual(pixelOf("rgb(1, 2, 3)").pixel, 0xff030201);
});

test("the span at a point is the nearest that is meant", () => {
  const tile = tileOf([[0, 100, 1, 1], [100, 101, 1, 2], [101, 500, 1, 1], [600, 700, 9, 2, 0, 0.1]]);
  assert.equal(spans.indexAt(tile, 50, 1), 0);
  assert.equal(spans.indexAt(tile, 100.5, 5), 1);
  assert.equal(spans.indexAt(tile, 650, 1), 3);
  assert.equal(spans.indexAt(tile, 550, 1), -1);
});

const tileOfValues = (records) => valuesOf(new Float64Array(records.flat()).buffer);

test("a value holds until the next", () => {
  const columns = values.columnsOf(10), tile = tileOfValues([[-50, -50, 4, 4, 4], [300, 300, 9, 9, 9]]);
  values.accumulate(columns, 10, tile, 0, 100, 0, 1000);
  values.hold(columns, 10);
  assert.deepEqual([...columns.last], [4, 4, 4, 9, 9, 9, 9, 9, 9, 9]);
  assert.deepEqual([columns.low[3], columns.high[3]], [4, 9], "the step is in its column");
  assert.equal(values.valueAt(tile, 299), 4);
  assert.equal(values.valueAt(tile, -60), null);
});

test("nothing is drawn before the first value", () => {
  const columns = values.columnsOf(4), pixels = new Uint32Array(4 * 10);
  values.accumulate(columns, 4, tileOfValues([[250, 260, 1, 10, 5]]), 0, 100, 0, 400);
  values.hold(columns, 4);
  values.paint(pixels, 4, 4, 0, 10, columns, 10, { colour: 5, under: null, thick: 1, dash: 12 });
  const drawn = (column) => [...Array(10).keys()].filter((line) => pixels[line * 4 + column] === 5).length;
  assert.deepEqual([0, 1, 2, 3].map(drawn), [0, 0, 9, 1]);
});

test("a value beyond the top of a plot ends there", () => {
  // As it comes when a session grows. What lies above the plot is another row's.
  const columns = values.columnsOf(2), pixels = new Uint32Array(2 * 10);
  values.accumulate(columns, 2, tileOfValues([[0, 150, 2000, 2000, 2000]]), 0, 100, 0, 200);
  values.paint(pixels, 2, 2, 3, 5, columns, 1, { colour: 5, under: 7, thick: 1, dash: 12 });
  const line = [...Array(10).keys()].map((row) => pixels[row * 2]);
  assert.deepEqual(line, [0, 0, 0, 5, 7, 7, 7, 7, 0, 0]);
});

test("the top of a plot is round and not below the values", () => {
  for (const value of [1, 3, 17, 1234, 7.7e9]) {
    for (const unit of [null, "bytes", "ns"]) {
      const top = values.roundTop(value, unit);
      assert.ok(top >= value * 0.999 && top <= value * 2.01, `${value} ${unit}: ${top}`);
    }
  }
  assert.equal(values.roundTop(5.5 * 2 ** 20, "bytes"), 6 * 2 ** 20);
  assert.equal(values.roundTop(0, null), 1);
});
