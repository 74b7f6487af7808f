// The tile cache.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Tiles, unpack } from "../app/tiles.js";
import { tileLength } from "../app/levels.js";

/** An answer with `records` empty records for each tile that is wanted. */
function answer(want, records = 2, size = 32) {
  const tiles = want.split(",").map((one) => one.split(".").map(Number));
  const buffer = new ArrayBuffer(tiles.length * (16 + records * size)), view = new DataView(buffer);
  tiles.forEach(([track, tile], index) => {
    const at = index * (16 + records * size);
    view.setUint32(at, track, true);
    view.setUint32(at + 4, records, true);
    view.setFloat64(at + 8, tile, true);
  });
  return buffer;
}

const settle = () => new Promise((done) => setTimeout(done, 5));
const wish = (track, level, tile, form = "spans") => ({ form, track, level, tile });

function cache(options = {}) {
  const asked = [], state = { failure: null, fail: false, now: 0, asked };
  const tiles = new Tiles({
    fetch: async (form, level, want) => {
      asked.push(`${form}:${level}:${want}`);
      if (state.fail) throw new Error("gone");
      return answer(want, options.records, form === "values" ? 40 : 32);
    },
    changed: () => {}, failure: (text) => { state.failure = text; }, now: () => state.now, ...options,
  });
  return { tiles, state };
}

test("answers are taken apart, and cut ones as far as they go", () => {
  const whole = answer("1.5,2.6");
  assert.deepEqual(unpack(whole, "spans").map(({ track, tile, data }) => [track, tile, data.count]), [[1, 5, 2], [2, 6, 2]]);
  assert.equal(unpack(whole.slice(0, whole.byteLength - 1), "spans").length, 1);
  assert.equal(unpack(new ArrayBuffer(7), "spans").length, 0);
});

test("tiles are asked for in batches of one level and form, once", async () => {
  const { tiles, state } = cache();
  const wishes = [wish(1, 2, 0), wish(2, 2, 0), wish(3, 2, 0, "values"), wish(1, 3, 0)];
  tiles.want(wishes);
  tiles.want(wishes);
  await settle();
  assert.deepEqual(state.asked, ["spans:2:1.0,2.0", "values:2:3.0", "spans:3:1.0"]);
  assert.ok(tiles.settled);
  assert.equal(tiles.get(1, 2, 0)?.count, 2);
  assert.equal(tiles.get(1, 2, 1), null);
  tiles.want(wishes);
  assert.equal(state.asked.length, 3);
});

test("until a tile is here a coarser one stands in, or finer ones", async () => {
  const { tiles } = cache();
  tiles.want([wish(1, 4, 0)]);
  await settle();
  const [piece] = tiles.cover(1, 2, 3, 5);
  assert.deepEqual([piece.from, piece.to], [3 * tileLength(2), 4 * tileLength(2)]);
  assert.deepEqual(tiles.cover(9, 2, 3, 5), []);
  tiles.want([0, 1, 2, 3].map((tile) => wish(1, 1, tile)));
  await settle();
  assert.deepEqual(tiles.cover(1, 2, 0, 5).map((one) => one.from / tileLength(1)), [0, 1, 2, 3]);
});

test("memory is bounded, what was used last stays", async () => {
  const { tiles } = cache({ budget: 3000, records: 10 });
  for (let tile = 0; tile < 40; tile++) {
    tiles.want([wish(1, 0, tile)]);
    await settle();
    tiles.get(1, 0, 0);
  }
  assert.ok(tiles.bytes <= 3000, `${tiles.bytes} bytes`);
  assert.ok(tiles.get(1, 0, 0) && tiles.get(1, 0, 39));
  assert.equal(tiles.get(1, 0, 20), null);
});

test("a server that has gone is said and asked again later", async () => {
  const { tiles, state } = cache();
  state.fail = true;
  tiles.want([wish(1, 0, 0)]);
  await settle();
  assert.equal(state.failure, "gone");
  tiles.want([wish(1, 0, 0)]);
  assert.equal(state.asked.length, 1, "not at once");
  [state.now, state.fail] = [10_000, false];
  tiles.want([wish(1, 0, 0)]);
  await settle();
  assert.equal(state.failure, null);
  assert.equal(tiles.get(1, 0, 0)?.count, 2);
});
