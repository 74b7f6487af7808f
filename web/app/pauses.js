// The list of the longest pauses of an interval, and the way from one slow pause to the next.

import * as api from "./api.js";
import * as describe from "./describe.js";
import { el } from "./dom.js";
import { count, duration, percent } from "./units.js";
import { momentIn } from "./time.js";
import { around } from "./view.js";

/** @typedef {import("./types").Pause} Pause */
/** @typedef {import("./state.js").State} State */

const LISTED = 50;
/** So many pauses that look like one above them are folded. */
const FOLDED = 2;

/** Which pauses are slow: keys of `pauses.pause_ns` in the report. @type {[string, string][]} */
const BOUNDS = [["p999", "slowest 0.1 %"], ["p99", "slowest 1 %"], ["p90", "slowest 10 %"], ["p50", "slower half"]];

export class Pauses {
  /**
   * @param {HTMLElement} place
   * @param {HTMLSelectElement} bound
   * @param {State} state
   * @param {(text: string) => void} announce
   */
  constructor(place, bound, state, announce) {
    this.place = place;
    this.bound = bound;
    this.state = state;
    this.announce = announce;
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {number | undefined} */
    this.timer = undefined;
    /** The one that was gone to last. @type {Pause | undefined} */
    this.shown = undefined;
    bound.addEventListener("change", () => this.announce(`slow pauses: ${this.bound.selectedOptions[0]?.textContent ?? ""}`));
  }

  /**
   * Takes the bounds from the report's figures.
   * @param {any} report
   */
  use(report) {
    const figures = report?.pauses?.pause_ns ?? {};
    const known = BOUNDS.filter(([key]) => typeof figures[key] === "number");
    this.bound.replaceChildren(...known.map(([key, words]) => el("option", { value: figures[key], selected: key === "p99" }, `${words}: ${duration(figures[key])}`)));
    this.bound.disabled = known.length === 0;
  }

  /** From how many nanoseconds on a pause is slow. */
  get least() {
    return Number(this.bound.value) || 0;
  }

  /**
   * Goes to the next slow pause, or the one before.
   * @param {1 | -1} direction
   */
  async slow(direction) {
    const { state } = this, { view } = state, now = this.#inView();
    const begin = now ? describe.begin(now) - state.session.from_ns : direction > 0 ? view.from - 1 : view.to;
    const range = direction > 0 ? { from: Math.max(0, begin + 1), to: state.span + 1 } : { from: 0, to: Math.max(0, begin) };
    try {
      const found = await api.pauses({ ...range, min: this.least, limit: 2, order: direction > 0 ? "first" : "last" });
      const next = found.find((pause) => pause.id !== now?.id);
      if (next) this.goTo(next);
      else this.announce(direction > 0 ? "no later slow pause" : "no earlier slow pause");
    } catch (error) {
      this.announce(error instanceof Error ? error.message : String(error));
    }
  }

  /** The pause that is inspected, unless the window has left it. */
  #inView() {
    const { state, shown } = this;
    if (!shown || shown.id !== state.pause) return null;
    const from = describe.begin(shown) - state.session.from_ns, to = shown.released_ns - state.session.from_ns;
    return to >= state.view.from && from <= state.view.to ? shown : null;
  }

  /**
   * Shows a pause and inspects it.
   * @param {Pause} pause
   */
  goTo(pause) {
    const { state } = this, from = describe.begin(pause) - state.session.from_ns, to = pause.released_ns - state.session.from_ns;
    this.shown = pause;
    state.show(around(from, to, state.span));
    state.inspect(pause.id);
  }

  /** The list once the selection stands still. */
  listSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.list(), 150);
  }

  /** The list for the selection, else for the whole session. */
  async list() {
    const { state } = this, { from, to } = state.selection ?? { from: 0, to: state.span };
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    try {
      const found = await api.pauses({ from, to, limit: LISTED }, asking.signal);
      this.#show(found, state.selection !== null);
    } catch (error) {
      if (!asking.signal.aborted) this.place.replaceChildren(el("p", { class: "quiet" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /**
   * @param {Pause[]} found
   * @param {boolean} selected
   */
  #show(found, selected) {
    const where = selected ? "the selection" : "the session";
    if (found.length === 0) {
      this.place.replaceChildren(el("p", { class: "quiet" }, `No pause in ${where}.`));
      return;
    }
    const heading = found.length < LISTED ? `Pauses of ${where}, longest first` : `The ${LISTED} longest pauses of ${where}`;
    const rows = this.#alike(found).flatMap((group) => this.#group(group));
    const head = ["at", "pause", "to stop", "held up by"].map((text) => el("th", { scope: "col" }, text));
    this.place.replaceChildren(el("table", { class: "pauses" }, el("caption", {}, heading), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
  }

  /**
   * Pauses of one kind that were held up for one reason, in the order of their first.
   * @param {Pause[]} found
   * @returns {Pause[][]}
   */
  #alike(found) {
    /** @type {Map<string, Pause[]>} */
    const groups = new Map();
    for (const pause of found) {
      const why = describe.heldUp(this.state.session, pause)?.why ?? "", key = `${describe.pauseKind(pause)}\n${why}`;
      groups.set(key, [...(groups.get(key) ?? []), pause]);
    }
    return [...groups.values()];
  }

  /**
   * The rows of a group: all but the first are folded where there are several.
   * @param {Pause[]} group
   */
  #group([first, ...others]) {
    const rows = others.map((pause) => this.#row(pause));
    if (others.length < FOLDED) return [this.#row(first), ...rows];
    const lengths = [others[0], others[others.length - 1]].map((pause) => duration(describe.lengthOf(pause)));
    const toggle = (/** @type {MouseEvent} */ event) => {
      const open = rows.some((row) => row.hidden);
      rows.forEach((row) => { row.hidden = !open; });
      if (event.currentTarget instanceof HTMLElement) event.currentTarget.setAttribute("aria-expanded", String(open));
    };
    rows.forEach((row) => { row.hidden = true; });
    const button = el("button", { type: "button", class: "go", "aria-expanded": "false", onclick: toggle }, `${others.length} more like this: ${lengths.join(" to ")}`);
    return [this.#row(first), el("tr", {}, el("td", { colspan: 4 }, button)), ...rows];
  }

  /** Marks the one that is inspected. */
  mark() {
    for (const row of this.place.querySelectorAll("tr[data-pause]")) {
      if (row instanceof HTMLElement) row.setAttribute("aria-current", String(row.dataset.pause === String(this.state.pause)));
    }
  }

  /** @param {Pause} pause */
  #row(pause) {
    const { session, span } = this.state, at = describe.begin(pause) - session.from_ns;
    const stop = pause.requested_ns === null ? null : pause.stopped_ns - pause.requested_ns;
    const held = describe.heldUp(session, pause), bar = el("span", { class: "bar", "aria-hidden": "true" });
    if (stop !== null) bar.style.width = `${Math.round((stop / Math.max(1, describe.lengthOf(pause))) * 100)}%`;
    const button = el("button", { type: "button", class: "go", onclick: () => this.goTo(pause), "aria-label": `pause ${pause.id} at ${momentIn(at, span)}: inspect` }, momentIn(at, span));
    return el("tr", { "aria-current": String(this.state.pause === pause.id), "data-pause": pause.id },
      el("td", {}, button),
      el("td", { class: "figure" }, duration(describe.lengthOf(pause)), el("span", { class: "track-of-bar", "aria-hidden": "true" }, bar)),
      el("td", { class: "figure" }, duration(stop)),
      el("td", { class: "words" }, held ? `${held.why} (${held.lane}, ${duration(held.ns)})` : "-"));
  }
}

/**
 * Figures of all pauses, as the report has them.
 * @param {any} report
 * @returns {string | null}
 */
export function summed(report) {
  const pauses = report?.pauses;
  if (!pauses || typeof pauses.count !== "number") return null;
  const share = typeof pauses.total_ns === "number" && report.span_ns > 0 ? ` · ${duration(pauses.total_ns)} (${percent(pauses.total_ns / report.span_ns)})` : "";
  return `${count(pauses.count)} ${pauses.count === 1 ? "pause" : "pauses"}${share}`;
}
