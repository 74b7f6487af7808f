// Draws the rows that are on screen: spans and values as pixels on one canvas, what lies over
// them (names, gaps, selection, cursor) on a second. Asks the cache for what it needs and draws
// with what is there.

import * as spans from "./spans.js";
import * as values from "./values.js";
import { levelFor, tileLength, tilesOf } from "./levels.js";
import { SERIES } from "./theme.js";
import { visible } from "./layout.js";
import { quantity } from "./units.js";
import * as over from "./over.js";

/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Track} Track */
/** @typedef {import("./tiles.js").Wish} Wish */
/** @typedef {import("./theme.js").Look} Look */

/** More device pixels than that are not drawn: a large screen gets coarser ones. */
const PIXELS_MAX = 5_000_000;

export class Scene {
  /**
   * @param {HTMLCanvasElement} below
   * @param {HTMLCanvasElement} above
   * @param {import("./state.js").State} state
   * @param {import("./tiles.js").Tiles} tiles
   */
  constructor(below, above, state, tiles) {
    this.below = below;
    this.above = above;
    this.state = state;
    this.tiles = tiles;
    this.ratio = 1;
    this.width = 0;
    this.height = 0;
    this.image = new ImageData(1, 1);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.columns = new Float32Array(0);
    this.lines = values.columnsOf(0);
    /** The most that a track ever has. @type {Map<number, number>} */
    this.tops = new Map();
  }

  /**
   * The size of the drawing in CSS pixels.
   * @param {number} width
   * @param {number} height
   */
  resize(width, height) {
    const wanted = Math.min(Math.max(window.devicePixelRatio || 1, 1), 2);
    const fits = Math.sqrt(PIXELS_MAX / Math.max(1, width * height));
    this.ratio = Math.max(0.5, Math.min(wanted, fits));
    [this.width, this.height] = [Math.max(1, width), Math.max(1, height)];
    const [w, h] = [Math.max(1, Math.round(this.width * this.ratio)), Math.max(1, Math.round(this.height * this.ratio))];
    for (const canvas of [this.below, this.above]) {
      if (canvas.width !== w) canvas.width = w;
      if (canvas.height !== h) canvas.height = h;
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
    }
    if (this.image.width !== w || this.image.height !== h) {
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.lines = values.columnsOf(w);
    }
  }

  /** Nanoseconds of a device pixel. */
  get perPixel() {
    return (this.state.view.to - this.state.view.from) / this.image.width;
  }

  /**
   * Where a moment is, in CSS pixels.
   * @param {number} at
   */
  x(at) {
    const { from, to } = this.state.view;
    return ((at - from) / (to - from)) * this.width;
  }

  /**
   * Which moment is there.
   * @param {number} x
   */
  at(x) {
    const { from, to } = this.state.view;
    return from + (x / this.width) * (to - from);
  }

  /** Rows on screen. @returns {Row[]} */
  rows() {
    const { rows, scroll } = this.state;
    return rows.slice(...visible(rows, scroll, scroll + this.height));
  }

  /** @param {Look} look */
  drawBelow(look) {
    this.pixels.fill(look.pixel.paper);
    for (const row of this.rows()) {
      const top = Math.round((row.y - this.state.scroll) * this.ratio);
      const box = { top: Math.max(0, top), height: 0 };
      box.height = Math.min(this.image.height, Math.round((row.y - this.state.scroll + row.height) * this.ratio)) - box.top;
      if (box.height <= 0) continue;
      if (row.form === "values") this.#values(row, box, look);
      else this.#spans(row, box, look);
    }
    this.below.getContext("2d")?.putImageData(this.image, 0, 0);
  }

  /**
   * @param {Row} row
   * @param {{top: number, height: number}} box
   * @param {Look} look
   */
  #spans(row, box, look) {
    const { from, to } = this.state.view, width = this.image.width, { palette } = look;
    const needed = width * palette.count;
    if (this.columns.length < needed) this.columns = new Float32Array(needed);
    for (const { data, from: clipFrom, to: clipTo } of this.pieces(row.tracks[0])) {
      if ("times" in data) spans.accumulate(this.columns, width, palette, data, from, this.perPixel, clipFrom, clipTo);
    }
    const phase = Math.round(from / this.perPixel) % 1048576;
    spans.paint(this.pixels, width, width, box.top, box.height, this.columns, palette, look.pixel.ground, phase);
    // There is nothing after the end of the session.
    const end = Math.round((this.state.span - from) / this.perPixel);
    if (to >= this.state.span && end < width) this.#blank(box, Math.max(0, end), width, look.pixel.paper);
  }

  /**
   * @param {{top: number, height: number}} box
   * @param {number} left
   * @param {number} right
   * @param {number} colour
   */
  #blank({ top, height }, left, right, colour) {
    const stride = this.image.width;
    for (let line = top; line < top + height; line++) this.pixels.fill(colour, line * stride + left, line * stride + right);
  }

  /**
   * @param {Row} row
   * @param {{top: number, height: number}} box
   * @param {Look} look
   */
  #values(row, box, look) {
    const { from } = this.state.view, width = this.image.width;
    this.#blank(box, 0, width, look.pixel.ground);
    const most = this.most(row);
    // Without a scale nothing can be drawn.
    if (most === null) return;
    const thick = Math.max(1, Math.round(1.6 * this.ratio));
    // The first line is the one on top.
    for (const [back, track] of [...row.tracks].reverse().entries()) {
      const index = row.tracks.length - 1 - back;
      this.lines.low.fill(NaN);
      this.lines.last.fill(NaN);
      for (const { data, from: clipFrom, to: clipTo } of this.pieces(track)) {
        if ("numbers" in data) values.accumulate(this.lines, width, data, from, this.perPixel, clipFrom, clipTo);
      }
      values.hold(this.lines, width);
      const colour = look.pixel[SERIES[index % SERIES.length]];
      const under = row.tracks.length === 1 ? mixed(colour, look.pixel.ground, 0.18) : null;
      const dash = [12, 8, 12, 4, 8, 4][index % 6];
      values.paint(this.pixels, width, width, box.top, box.height, this.lines, most, { colour, under, thick, dash });
    }
  }

  /**
   * What is at the top of a row's plot: the same for the whole session, so that heights compare; null: not known yet.
   * @param {Row} row
   */
  most(row) {
    const greatest = this.#greatest(row);
    return greatest === null ? null : values.roundTop(greatest, row.tracks[0].unit);
  }

  /**
   * The same in words; empty where there is none.
   * @param {Row} row
   */
  mostWords(row) {
    const most = this.most(row);
    return most !== null && this.#greatest(row) ? quantity(most, row.tracks[0].unit) : "";
  }

  /** @param {Row} row */
  #greatest(row) {
    /** @type {number | null} */
    let most = null;
    for (const track of row.tracks) {
      let own = this.tops.get(track.id);
      if (own === undefined) {
        const all = this.tiles.get(track.id, track.top, 0);
        if (!all || !("numbers" in all)) continue;
        own = 0;
        for (let index = 0; index < all.count; index++) own = Math.max(own, all.numbers[index * 5 + 3] || 0);
        // A session that grows beyond a tile of its top level has more than one.
        for (let tile = 1; tile <= tilesOf(track.top, 0, this.state.span)[1]; tile++) {
          const more = this.tiles.get(track.id, track.top, tile);
          if (more && "numbers" in more) for (let index = 0; index < more.count; index++) own = Math.max(own, more.numbers[index * 5 + 3] || 0);
        }
        this.tops.set(track.id, own);
      }
      most = Math.max(most ?? 0, own);
    }
    return most;
  }

  /**
   * What there is to draw of a track now.
   * @param {Track} track
   */
  pieces(track) {
    const { from, to } = this.state.view, level = levelFor(this.perPixel, track.top);
    const [first, last] = tilesOf(level, from, Math.min(to, this.state.span));
    const pieces = [];
    for (let tile = first; tile <= last; tile++) pieces.push(...this.tiles.cover(track.id, level, tile, track.top));
    return pieces;
  }

  /** What is on screen, coarsest first, and what is next to it. @returns {{now: Wish[], later: Wish[]}} */
  wishes() {
    const { from, to } = this.state.view, span = this.state.span;
    /** @type {Wish[][]} */
    const [coarse, now, later] = [[], [], []];
    for (const row of this.rows()) {
      for (const { id: track, form, top } of row.tracks) {
        const wish = (/** @type {number} */ level, /** @type {number} */ tile) => ({ form, track, level, tile });
        const level = levelFor(this.perPixel, top);
        const tops = tilesOf(top, 0, span)[1];
        for (let tile = 0; tile <= Math.min(tops, 3); tile++) coarse.push(wish(top, tile));
        const [first, last] = tilesOf(level, from, Math.min(to, span));
        for (let tile = first; tile <= last; tile++) now.push(wish(level, tile));
        const end = Math.ceil(span / tileLength(level)) - 1;
        if (first > 0) later.push(wish(level, first - 1));
        if (last < end) later.push(wish(level, last + 1));
      }
    }
    return { now: [...coarse, ...now], later };
  }

  /** @param {Look} look */
  drawAbove(look) {
    const context = this.above.getContext("2d");
    if (!context) return;
    context.setTransform(this.above.width / this.width, 0, 0, this.above.height / this.height, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const rows = this.rows();
    over.names(context, this, rows, look);
    over.gaps(context, this, rows, look);
    over.moments(context, this, look);
    over.selection(context, this, look);
    over.cursors(context, this, look);
  }
}

/**
 * A pixel between two others.
 * @param {number} one
 * @param {number} other
 * @param {number} share of the first
 */
export function mixed(one, other, share) {
  const part = (/** @type {number} */ shift) => Math.round(((one >>> shift) & 255) * share + ((other >>> shift) & 255) * (1 - share)) << shift;
  return ((255 << 24) | part(16) | part(8) | part(0)) >>> 0;
}
