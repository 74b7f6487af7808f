// The tile cache: which tiles are here, which are wanted next, what stands in meanwhile. Asks
// the server in batches, keeps what was used last within a budget of bytes, never draws.

import { tileLength } from "./levels.js";

/** @typedef {import("./types").Spans} Spans */
/** @typedef {import("./types").Values} Values */
/** @typedef {import("./types").Form} Form */

/**
 * @typedef {object} Wish
 * @property {Form} form
 * @property {number} track
 * @property {number} level
 * @property {number} tile
 */

/**
 * @typedef {object} Piece
 * @property {Spans | Values} data
 * @property {number} from where the piece is valid
 * @property {number} to
 */

/**
 * @typedef {object} Held
 * @property {Spans | Values} data
 * @property {number} bytes
 */

/** Tiles asked for at once, and how many such questions are open at a time. */
const BATCH = 32, OPEN = 4;
/** After a failure nothing is asked for so many milliseconds. */
const REST = 1500;
/** How many levels finer a stand-in may be. */
const FINER = 1;

const SPAN_BYTES = 32, VALUE_BYTES = 40, HEAD_BYTES = 16;

/**
 * @param {number} track
 * @param {number} level
 * @param {number} tile
 */
function keyOf(track, level, tile) {
  return `${track}/${level}/${tile}`;
}

/**
 * Typed windows on a tile's records.
 * @param {ArrayBuffer} buffer
 * @returns {Spans}
 */
export function spansOf(buffer) {
  const count = Math.floor(buffer.byteLength / SPAN_BYTES);
  return {
    count,
    times: new Float64Array(buffer, 0, count * 4),
    words: new Uint32Array(buffer, 0, count * 8),
    halves: new Uint16Array(buffer, 0, count * 16),
    shares: new Float32Array(buffer, 0, count * 8),
  };
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {Values}
 */
export function valuesOf(buffer) {
  const count = Math.floor(buffer.byteLength / VALUE_BYTES);
  return { count, numbers: new Float64Array(buffer, 0, count * 5) };
}

/**
 * The tiles of an answer to a batch: for each a head (u32 track, u32 records, f64 tile) and
 * its records. What does not fit into the buffer is left out.
 * @param {ArrayBuffer} buffer
 * @param {Form} form
 * @returns {{track: number, tile: number, data: Spans | Values, bytes: number}[]}
 */
export function unpack(buffer, form) {
  const size = form === "values" ? VALUE_BYTES : SPAN_BYTES;
  const view = new DataView(buffer);
  const tiles = [];
  for (let at = 0; at + HEAD_BYTES <= buffer.byteLength;) {
    const track = view.getUint32(at, true), bytes = view.getUint32(at + 4, true) * size;
    const tile = view.getFloat64(at + 8, true);
    at += HEAD_BYTES;
    if (at + bytes > buffer.byteLength) break;
    const own = buffer.slice(at, at + bytes);
    tiles.push({ track, tile, data: form === "values" ? valuesOf(own) : spansOf(own), bytes });
    at += bytes;
  }
  return tiles;
}

export class Tiles {
  /**
   * @param {object} of
   * @param {(form: Form, level: number, want: string) => Promise<ArrayBuffer>} of.fetch
   * @param {() => void} of.changed something came that may be on screen
   * @param {(failure: string | null) => void} of.failure the server does not answer; null: it does again
   * @param {number} [of.budget] bytes
   * @param {() => number} [of.now] milliseconds
   */
  constructor({ fetch, changed, failure, budget = 64 << 20, now = () => performance.now() }) {
    this.fetch = fetch;
    this.changed = changed;
    this.failure = failure;
    this.budget = budget;
    this.now = now;
    /** In the order of use, oldest first. @type {Map<string, Held>} */
    this.held = new Map();
    this.bytes = 0;
    /** Grows with each tile that comes. */
    this.version = 0;
    /** @type {Set<string>} */
    this.asked = new Set();
    /** @type {Wish[]} */
    this.wishes = [];
    this.open = 0;
    this.restUntil = 0;
  }

  /**
   * The tile, where it is here; it counts as used.
   * @param {number} track
   * @param {number} level
   * @param {number} tile
   */
  get(track, level, tile) {
    const key = keyOf(track, level, tile);
    const held = this.held.get(key);
    if (!held) return null;
    this.held.delete(key);
    this.held.set(key, held);
    return held.data;
  }

  /**
   * What can be drawn for the tile now: itself, or finer tiles where all of them are here, or a
   * coarser one; empty: nothing.
   * @param {number} track
   * @param {number} level
   * @param {number} tile
   * @param {number} top
   * @returns {Piece[]}
   */
  cover(track, level, tile, top) {
    const from = tile * tileLength(level), to = from + tileLength(level);
    const own = this.get(track, level, tile);
    if (own) return [{ data: own, from, to }];
    const finer = this.#finer(track, level, tile, FINER);
    if (finer) return finer;
    for (let up = level + 1, at = Math.floor(tile / 4); up <= top; up++, at = Math.floor(at / 4)) {
      const coarse = this.get(track, up, at);
      if (coarse) return [{ data: coarse, from, to }];
    }
    return [];
  }

  /**
   * @param {number} track
   * @param {number} level
   * @param {number} tile
   * @param {number} depth
   * @returns {Piece[] | null}
   */
  #finer(track, level, tile, depth) {
    if (depth === 0 || level === 0) return null;
    const length = tileLength(level - 1), pieces = [];
    for (let child = tile * 4; child < tile * 4 + 4; child++) {
      const data = this.get(track, level - 1, child);
      if (!data) return null;
      pieces.push({ data, from: child * length, to: (child + 1) * length });
    }
    return pieces;
  }

  /**
   * What is on screen or soon will be, most wanted first; earlier wishes are forgotten.
   * @param {Wish[]} wishes
   */
  want(wishes) {
    this.wishes = wishes.filter(({ track, level, tile }) => {
      const key = keyOf(track, level, tile);
      return !this.held.has(key) && !this.asked.has(key);
    });
    this.#pump();
  }

  /** Whether nothing is asked for and nothing is left to ask for. */
  get settled() {
    return this.open === 0 && this.wishes.length === 0;
  }

  /** @param {Wish} wish */
  has({ track, level, tile }) {
    return this.held.has(keyOf(track, level, tile));
  }

  #pump() {
    while (this.open < OPEN && this.wishes.length > 0 && this.now() >= this.restUntil) {
      const [first] = this.wishes;
      /** @type {[Wish[], Wish[]]} */
      const [batch, rest] = [[], []];
      const values = (/** @type {Wish} */ wish) => wish.form === "values";
      for (const wish of this.wishes) {
        const fits = wish.level === first.level && values(wish) === values(first) && batch.length < BATCH;
        (fits ? batch : rest).push(wish);
      }
      this.wishes = rest;
      this.#ask(batch);
    }
  }

  /** @param {Wish[]} batch */
  async #ask(batch) {
    const [{ form, level }] = batch;
    const keys = batch.map(({ track, tile }) => keyOf(track, level, tile));
    keys.forEach((key) => this.asked.add(key));
    this.open += 1;
    try {
      const want = batch.map(({ track, tile }) => `${track}.${tile}`).join(",");
      for (const { track, tile, data, bytes } of unpack(await this.fetch(form, level, want), form)) {
        this.#keep(keyOf(track, level, tile), { data, bytes: bytes + 200 });
      }
      this.failure(null);
    } catch (error) {
      this.restUntil = this.now() + REST;
      setTimeout(() => this.changed(), REST + 10);
      this.failure(error instanceof Error ? error.message : String(error));
    }
    this.open -= 1;
    keys.forEach((key) => this.asked.delete(key));
    this.changed();
    this.#pump();
  }

  /**
   * @param {string} key
   * @param {Held} held
   */
  #keep(key, held) {
    this.version += 1;
    const before = this.held.get(key);
    this.bytes += held.bytes - (before?.bytes ?? 0);
    this.held.delete(key);
    this.held.set(key, held);
    for (const [oldest, { bytes }] of this.held) {
      if (this.bytes <= this.budget || oldest === key) break;
      this.held.delete(oldest);
      this.bytes -= bytes;
    }
  }
}
