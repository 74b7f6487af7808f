// How fast frames come: the time between frames while something moves, and what drawing one takes.
// Read by the help page, and by the tests as `rtscopeFrames`.

const KEPT = 600;

export class Frames {
  constructor() {
    /** @type {number[]} */
    this.between = [];
    /** @type {number[]} */
    this.drawing = [];
    this.last = 0;
  }

  /**
   * A frame was drawn.
   * @param {number} began milliseconds
   * @param {number} ended
   * @param {boolean} moving the frame before it was drawn for the same movement
   */
  add(began, ended, moving) {
    if (moving && this.last > 0) push(this.between, began - this.last);
    push(this.drawing, ended - began);
    this.last = began;
  }

  forget() {
    this.between = [];
    this.drawing = [];
    this.last = 0;
  }

  /** Milliseconds: middle and 95 in 100 of both. */
  read() {
    const of = (/** @type {number[]} */ list, /** @type {number} */ share) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * share)] ?? 0;
    return {
      frames: this.between.length,
      between: { middle: of(this.between, 0.5), p95: of(this.between, 0.95) },
      drawing: { middle: of(this.drawing, 0.5), p95: of(this.drawing, 0.95) },
    };
  }
}

/**
 * @param {number[]} list
 * @param {number} value
 */
function push(list, value) {
  list.push(value);
  if (list.length > KEPT) list.shift();
}
