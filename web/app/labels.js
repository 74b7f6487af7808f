// The names next to the rows: buttons that open and close groups, names of tracks, what lines of
// plots mean. Real elements, so that they can be read and reached; made for what is near the
// screen only.

import { visible } from "./layout.js";
import { clean, el } from "./dom.js";
import { seriesOf } from "./over.js";

/** @typedef {import("./types").Row} Row */

/** Rows beyond the screen that have their names too, in pixels. */
const BEYOND = 400;

export class Labels {
  /**
   * @param {HTMLElement} place
   * @param {import("./state.js").State} state
   */
  constructor(place, state) {
    this.place = place;
    this.state = state;
    /** @type {[number, number]} */
    this.shown = [-1, -1];
    /** @type {Row[]} */
    this.rows = [];
    /** What is at the top of plots: row and place. @type {[Row, HTMLElement][]} */
    this.tops = [];
  }

  /**
   * Says what is at the top of each plot.
   * @param {(row: Row) => string} most
   */
  scales(most) {
    for (const [row, place] of this.tops) {
      const text = most(row);
      if (place.textContent !== text) place.textContent = text;
    }
  }

  /** @param {number} height of the screen */
  draw(height) {
    const { rows, scroll } = this.state;
    const [first, end] = visible(rows, scroll - BEYOND, scroll + height + BEYOND);
    if (rows === this.rows && first >= this.shown[0] && end <= this.shown[1]) return;
    [this.rows, this.shown] = [rows, visible(rows, scroll - 2 * BEYOND, scroll + height + 2 * BEYOND)];
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.group : undefined;
    this.tops = [];
    const made = rows.slice(...this.shown).map((row) => this.#label(row));
    this.place.replaceChildren(...made);
    const again = focused === undefined ? null : this.place.querySelector(`[data-group="${CSS.escape(focused)}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  /** @param {Row} row */
  #label(row) {
    const group = this.state.session.groups[row.group];
    const label = el("div", { class: `label ${row.form}${row.first ? " first" : ""}${row.closed ? " closed" : ""}` });
    label.style.top = `${row.y}px`;
    label.style.height = `${row.height}px`;
    if (row.first) label.append(this.#opener(row, group));
    if (row.form === "values") {
      const top = el("span", { class: "top" });
      this.tops.push([row, top]);
      label.append(top, legend(row));
    } else if (!row.first) label.append(el("span", { class: "track", title: clean(row.tracks[0].name) }, clean(row.tracks[0].name)));
    return label;
  }

  /**
   * @param {Row} row
   * @param {import("./types").Group} group
   */
  #opener(row, group) {
    const rest = group.tracks.length > 1;
    const sub = group.sub ? el("span", { class: "sub" }, clean(group.sub)) : null;
    const name = el("span", { class: "name" }, clean(group.name));
    if (!rest) return el("span", { class: "group", title: clean(group.name) }, name, sub);
    const toggle = (/** @type {MouseEvent} */ event) => {
      // With Shift or Alt: all groups at once.
      const all = event.shiftKey || event.altKey;
      const which = all ? this.state.session.groups.map((_, index) => index) : [row.group];
      this.state.close(which, !row.closed);
    };
    return el("button", {
      class: "group", type: "button", "aria-expanded": String(!row.closed), "data-group": row.group, onclick: toggle,
      title: `${clean(group.name)}: ${row.closed ? "open" : "close"} (with Shift: all groups)`,
    }, el("span", { class: "arrow", "aria-hidden": "true" }), name, sub);
  }
}

/** @param {Row} row */
function legend(row) {
  const one = (/** @type {import("./types").Track} */ track, /** @type {number} */ index) =>
    el("li", { title: clean(track.name) }, el("span", { class: `stroke ${seriesOf(index)}`, "aria-hidden": "true" }), clean(track.name));
  return el("ul", { class: "legend-of-lines" }, ...row.tracks.map(one));
}
