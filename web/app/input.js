// Mouse, trackpad, pen and touch on the drawing: a drag selects, with Shift or the middle button
// it moves; wheel and pinch zoom with Ctrl, move sideways, and scroll the rows as anywhere.

import { panned, zoomed } from "./view.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./scene.js").Scene} Scene */

/** A press that moves less is a click, in CSS pixels. */
const CLICK = 4;

/**
 * @typedef {object} Acts
 * @property {(x: number, y: number) => void} click
 * @property {(x: number, y: number) => void} twice
 * @property {(x: number, y: number) => void} hover
 * @property {() => void} leave
 */

/**
 * @param {HTMLElement} stage
 * @param {State} state
 * @param {Scene} scene
 * @param {Acts} acts
 */
export function listen(stage, state, scene, acts) {
  /** @type {{x: number, y: number, at: number, view: import("./types").Interval, moves: boolean, scroll: number, far: boolean} | null} */
  let press = null;
  /** Fingers that are down. @type {Map<number, PointerEvent>} */
  const fingers = new Map();
  let pinch = 0;
  const place = (/** @type {MouseEvent} */ event) => {
    const box = scene.above.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const span = () => state.span;

  stage.addEventListener("pointerdown", (event) => {
    if (event.button > 1 || (event.target instanceof Element && event.target.closest("button"))) return;
    const { x, y } = place(event);
    if (x < 0) return;
    stage.focus({ preventScroll: true });
    if (event.pointerType === "touch") fingers.set(event.pointerId, event);
    const moves = event.button === 1 || event.shiftKey || event.pointerType === "touch";
    press = { x, y, at: scene.at(x), view: state.view, moves, scroll: state.scroll, far: false };
    stage.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });

  stage.addEventListener("pointermove", (event) => {
    const { x, y } = place(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const [one, two] = [...fingers.values()].map(place);
      const apart = Math.max(8, Math.abs(one.x - two.x));
      if (pinch > 0) state.show(zoomed(state.view, pinch / apart, scene.at((one.x + two.x) / 2), span()));
      pinch = apart;
      press = null;
      return;
    }
    if (!press) {
      if (x >= 0) acts.hover(x, y);
      return;
    }
    if (!press.far && Math.abs(x - press.x) < CLICK && Math.abs(y - press.y) < CLICK) return;
    press.far = true;
    if (press.moves) {
      const perPixel = (press.view.to - press.view.from) / scene.width;
      state.show(panned(press.view, (press.x - x) * perPixel, span()));
    } else {
      state.select({ from: press.at, to: scene.at(Math.min(Math.max(x, 0), scene.width)) });
    }
    acts.leave();
  });

  const lift = (/** @type {PointerEvent} */ event) => {
    const { x, y } = place(event);
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinch = 0;
    if (press && !press.far && event.type === "pointerup") acts.click(x, y);
    press = null;
  };
  stage.addEventListener("pointerup", lift);
  stage.addEventListener("pointercancel", lift);
  stage.addEventListener("pointerleave", () => acts.leave());
  stage.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    if (x >= 0) acts.twice(x, y);
  });

  stage.addEventListener("wheel", (event) => wheel(event, state, scene, place(event).x), { passive: false });
}

/**
 * @param {WheelEvent} event
 * @param {State} state
 * @param {Scene} scene
 * @param {number} x
 * @param {boolean} [zooms] also without Ctrl
 */
export function wheel(event, state, scene, x, zooms = false) {
  const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  const length = state.view.to - state.view.from;
  if (event.ctrlKey || event.metaKey || zooms) {
    event.preventDefault();
    const factor = Math.exp(Math.min(Math.max(dy, -120), 120) * (event.ctrlKey && Math.abs(dy) < 30 ? 0.012 : 0.004));
    state.show(zoomed(state.view, factor, scene.at(Math.max(0, x)), state.span));
  } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
    event.preventDefault();
    state.show(panned(state.view, ((dx !== 0 ? dx : dy) / scene.width) * length, state.span));
  }
}
