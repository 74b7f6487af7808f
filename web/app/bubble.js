// The box at the pointer: what is under it. For eyes only; keys have announcer.js.

import * as hit from "./hit.js";
import * as describe from "./describe.js";
import { rowAt } from "./layout.js";
import { momentIn } from "./time.js";
import { clean, el } from "./dom.js";

export class Bubble {
  /**
   * @param {HTMLElement} box
   * @param {import("./scene.js").Scene} scene
   */
  constructor(box, scene) {
    this.box = box;
    this.scene = scene;
  }

  hide() {
    this.box.hidden = true;
  }

  /**
   * @param {number} x in the drawing
   * @param {number} y
   */
  show(x, y) {
    const text = this.#words(x, y);
    this.box.hidden = !text;
    if (!text) return;
    this.box.replaceChildren(el("strong", {}, text.title), ...text.lines.map((line) => el("div", {}, line)));
    const { width, height } = this.box.getBoundingClientRect();
    const left = x + 16 + width > this.scene.width ? x - width - 12 : x + 16;
    const top = y + 18 + height > this.scene.height ? y - height - 10 : y + 18;
    this.box.style.transform = `translate(${Math.round(Math.max(2, left))}px, ${Math.round(Math.max(2, top))}px)`;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #words(x, y) {
    const { scene } = this, { state } = scene, at = scene.at(x);
    const row = rowAt(state.rows, y + state.scroll);
    const gap = state.session.gaps.find((one) => one.from_ns <= at && at < one.to_ns
      && (one.track === null || row?.tracks.some((track) => track.id === one.track)));
    if (!row) return null;
    if (gap) return { title: "Gap: not seen", lines: [clean(gap.note)] };
    if (row.form === "values") {
      const lines = describe.values(hit.valuesAt(scene, row, at));
      return { title: momentIn(at, state.view.to - state.view.from), lines };
    }
    const spot = hit.spotAt(scene, x, y);
    return spot ? describe.spot(state, spot) : null;
  }
}
