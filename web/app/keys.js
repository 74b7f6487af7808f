// The keyboard: WASD as in Perfetto and magic-trace, held keys move smoothly; arrows walk from
// span to span and from row to row; everything else is a letter that the help lists.

import * as hit from "./hit.js";
import { around, panned, showing, zoomed } from "./view.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./scene.js").Scene} Scene */

/** Part of the window that a held key moves, and zooms, in a second. */
const PAN = 1.1, ZOOM = 2.4;
/** A tap moves as if the key had been held so long, in seconds. */
const TAP = 0.12;

/**
 * @typedef {object} Acts
 * @property {() => void} search
 * @property {() => void} help
 * @property {(direction: 1 | -1) => void} slow
 * @property {() => void} enter
 * @property {() => void} summary
 * @property {(spot: import("./types").Spot | null) => void} stepped
 */

/** @param {EventTarget | null} target */
function writes(target) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

export class Keys {
  /**
   * @param {HTMLElement} stage
   * @param {State} state
   * @param {Scene} scene
   * @param {Acts} acts
   */
  constructor(stage, state, scene, acts) {
    this.state = state;
    this.scene = scene;
    this.acts = acts;
    /** @type {Set<string>} */
    this.held = new Set();
    this.last = 0;
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || writes(event.target) || document.querySelector("dialog[open]")) return;
      if (this.#key(event, document.activeElement === stage)) event.preventDefault();
    });
    document.addEventListener("keyup", (event) => this.held.delete(event.key.toLowerCase()));
    window.addEventListener("blur", () => this.held.clear());
  }

  /** Where zooming by keys happens: at the pointer, at the span, or in the middle. */
  #middle() {
    const { view, hover, spot } = this.state;
    const inside = (/** @type {number} */ at) => at >= view.from && at <= view.to;
    if (hover && inside(hover.at)) return hover.at;
    if (spot && inside((spot.from + spot.to) / 2)) return (spot.from + spot.to) / 2;
    return (view.from + view.to) / 2;
  }

  /**
   * @param {KeyboardEvent} event
   * @param {boolean} onStage
   */
  #key(event, onStage) {
    const key = event.key.toLowerCase(), { state, acts } = this;
    if ("wasd".includes(key) && key.length === 1) {
      if (!this.held.has(key)) this.#hold(key);
      return true;
    }
    if (onStage && this.#arrow(event)) return true;
    switch (event.key) {
      case "+": case "=": state.show(zoomed(state.view, 0.6, this.#middle(), state.span)); return true;
      case "-": state.show(zoomed(state.view, 1 / 0.6, this.#middle(), state.span)); return true;
      case "0": state.show({ from: 0, to: state.span }); return true;
      case "f": case "F": this.#fit(); return true;
      case "n": acts.slow(1); return true;
      case "p": case "P": case "N": acts.slow(-1); return true;
      case "m": case "M": this.#mark(); return true;
      case "t": case "T": acts.summary(); return true;
      case "/": acts.search(); return true;
      case "?": acts.help(); return true;
      case "Enter": if (onStage) acts.enter(); return onStage;
      case "Escape": state.select(null); state.pointAt(state.track, null); return true;
      default: return false;
    }
  }

  /** @param {KeyboardEvent} event */
  #arrow(event) {
    const { state } = this;
    switch (event.key) {
      case "ArrowLeft": this.#step(-1); return true;
      case "ArrowRight": this.#step(1); return true;
      case "ArrowUp": this.#row(-1); return true;
      case "ArrowDown": this.#row(1); return true;
      case "Home": state.show(panned(state.view, -state.span, state.span)); return true;
      case "End": state.show(panned(state.view, state.span, state.span)); return true;
      case "PageUp": state.show(panned(state.view, -(state.view.to - state.view.from) * 0.9, state.span)); return true;
      case "PageDown": state.show(panned(state.view, (state.view.to - state.view.from) * 0.9, state.span)); return true;
      default: return false;
    }
  }

  /** @param {1 | -1} direction */
  #step(direction) {
    const { state, scene } = this;
    const row = state.rows.find((one) => one.tracks.some((track) => track.id === state.track)) ?? state.rows.find((one) => one.form !== "values");
    if (!row) return;
    const { view } = state, start = direction > 0 ? view.from : view.to;
    const found = row.form === "values" ? null : hit.step(scene, row, state.spot, start, direction);
    if (found) {
      state.pointAt(row.tracks[0].id, found);
      state.show(showing(view, found.from, found.to, state.span));
    } else {
      // Nothing more is drawn there: what lies beyond is next.
      state.show(panned(view, direction * (view.to - view.from) * 0.5, state.span));
    }
    this.acts.stepped(found);
  }

  /** @param {1 | -1} direction */
  #row(direction) {
    const { state, scene } = this;
    const now = state.rows.findIndex((one) => one.tracks.some((track) => track.id === state.track));
    const row = state.rows[now < 0 ? 0 : Math.min(Math.max(now + direction, 0), state.rows.length - 1)];
    if (!row) return;
    const at = state.spot ? (state.spot.from + state.spot.to) / 2 : (state.view.from + state.view.to) / 2;
    const slack = (state.view.to - state.view.from) / scene.width;
    state.pointAt(row.tracks[0].id, row.form === "values" ? null : hit.spotIn(scene, row, at, slack * 4));
    this.acts.stepped(state.spot);
  }

  #fit() {
    const { selection, spot, span } = this.state;
    if (selection) this.state.show(around(selection.from, selection.to, span, 0.9));
    else if (spot) this.state.show(around(spot.from, spot.to, span, 0.7));
    else this.state.show({ from: 0, to: span });
  }

  /** What is selected is the span that keys are at, or what is shown. */
  #mark() {
    const { spot, view } = this.state;
    this.state.select(spot ? { from: spot.from, to: spot.to } : view);
  }

  /** @param {string} key */
  #hold(key) {
    this.held.add(key);
    this.#move(TAP * 0.5);
    if (this.held.size > 1) return;
    this.last = performance.now();
    const frame = (/** @type {number} */ now) => {
      if (this.held.size === 0) return;
      this.#move(Math.min(0.1, Math.max(0, now - this.last) / 1000));
      this.last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** @param {number} seconds */
  #move(seconds) {
    const { state, held } = this, length = state.view.to - state.view.from;
    const sideways = Number(held.has("d")) - Number(held.has("a")), inwards = Number(held.has("w")) - Number(held.has("s"));
    let view = state.view;
    if (inwards !== 0) view = zoomed(view, Math.exp(-inwards * ZOOM * seconds), this.#middle(), state.span);
    if (sideways !== 0) view = panned(view, sideways * PAN * seconds * length, state.span);
    state.show(view);
  }
}
