// The whole session as one strip, with a frame around what is shown. The frame can be moved, or
// a new one drawn. Its picture is the first track of spans at its top level.

import * as spans from "./spans.js";
import { levelFor, tilesOf } from "./levels.js";
import { LEAST } from "./view.js";

/** @typedef {import("./theme.js").Look} Look */

const HEIGHT = 30;

export class Overview {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./state.js").State} state
   * @param {import("./tiles.js").Tiles} tiles
   */
  constructor(canvas, state, tiles) {
    this.canvas = canvas;
    this.state = state;
    this.tiles = tiles;
    this.width = 1;
    this.columns = new Float32Array(0);
    /** The picture without its frame, and what it was drawn from. @type {{image: ImageData, version: number, look: Look} | null} */
    this.drawn = null;
    this.track = state.session.groups.flatMap((group) => group.tracks).find((track) => track.form === "spans") ?? null;
    this.#listen();
  }

  /** @returns {import("./tiles.js").Wish[]} */
  wishes() {
    if (!this.track) return [];
    const { id: track, form, top } = this.track, level = levelFor(this.state.span / this.width, top);
    const [first, last] = tilesOf(level, 0, this.state.span), all = [];
    for (let tile = first; tile <= last; tile++) all.push({ form, track, level, tile });
    return all;
  }

  /**
   * @param {number} width CSS pixels
   * @param {Look} look
   */
  draw(width, look) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), context = this.canvas.getContext("2d");
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.round(HEIGHT * ratio)];
    this.width = w;
    if (!context) return;
    if (this.canvas.width !== w) this.canvas.width = w;
    if (this.canvas.height !== h) this.canvas.height = h;
    const { drawn } = this;
    if (!drawn || drawn.image.width !== w || drawn.version !== this.tiles.version || drawn.look !== look) {
      this.drawn = { image: this.#picture(w, h, look), version: this.tiles.version, look };
    }
    if (this.drawn) context.putImageData(this.drawn.image, 0, 0);
    this.#frame(context, w, h, ratio, look);
  }

  /**
   * @param {number} w
   * @param {number} h
   * @param {Look} look
   */
  #picture(w, h, look) {
    const image = new ImageData(w, h), pixels = new Uint32Array(image.data.buffer);
    pixels.fill(look.pixel.ground);
    if (this.track) {
      const needed = w * look.palette.count, perPixel = this.state.span / w;
      if (this.columns.length < needed) this.columns = new Float32Array(needed);
      const level = levelFor(perPixel, this.track.top), [first, last] = tilesOf(level, 0, this.state.span);
      for (let tile = first; tile <= last; tile++) {
        for (const { data, from, to } of this.tiles.cover(this.track.id, level, tile, this.track.top)) {
          if ("times" in data) spans.accumulate(this.columns, w, look.palette, data, 0, perPixel, from, to);
        }
      }
      spans.paint(pixels, w, w, 0, h, this.columns, look.palette, look.pixel.ground, 0);
    }
    return image;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} w
   * @param {number} h
   * @param {number} ratio
   * @param {Look} look
   */
  #frame(context, w, h, ratio, look) {
    const { view, span } = this.state, least = 3 * ratio;
    const width = Math.max(least, ((view.to - view.from) / span) * w);
    const left = Math.min((view.from / span) * w, w - width);
    // What was lost as a whole is seen from afar.
    context.fillStyle = look.css["gap-2"];
    for (const gap of this.state.session.gaps) {
      if (gap.track === null) context.fillRect((gap.from_ns / span) * w, h * 0.4, Math.max(ratio, ((gap.to_ns - gap.from_ns) / span) * w), h * 0.2);
    }
    context.fillStyle = look.css.paper;
    context.globalAlpha = 0.62;
    context.fillRect(0, 0, left, h);
    context.fillRect(left + width, 0, w - left - width, h);
    context.globalAlpha = 1;
    context.strokeStyle = look.css.accent;
    context.lineWidth = ratio * 1.5;
    context.strokeRect(left + ratio, ratio, width - 2 * ratio, h - 2 * ratio);
  }

  #listen() {
    /** @type {{at: number, view: import("./types").Interval, moving: boolean} | null} */
    let drag = null;
    const at = (/** @type {PointerEvent} */ event) => {
      const box = this.canvas.getBoundingClientRect();
      return ((event.clientX - box.left) / Math.max(1, box.width)) * this.state.span;
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { view } = this.state, here = at(event);
      const whole = view.to - view.from > this.state.span * 0.98;
      const slack = (this.state.span / Math.max(1, this.canvas.clientWidth)) * 4;
      drag = { at: here, view, moving: !whole && here >= view.from - slack && here <= view.to + slack };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const here = at(event);
      if (drag.moving) this.state.show({ from: drag.view.from + here - drag.at, to: drag.view.to + here - drag.at });
      else if (Math.abs(here - drag.at) > LEAST) this.state.show({ from: Math.min(here, drag.at), to: Math.max(here, drag.at) });
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moving && Math.abs(at(event) - drag.at) <= (this.state.span / Math.max(1, this.canvas.clientWidth)) * 2) {
        const half = (drag.view.to - drag.view.from) / 2;
        this.state.show({ from: drag.at - half, to: drag.at + half });
      }
      drag = null;
    });
    this.canvas.addEventListener("pointercancel", () => { drag = null; });
  }
}
