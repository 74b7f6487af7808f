// Search: moments, pauses by number, lanes and tracks, findings, kinds of spans and their names
// (which process took a CPU, which code). What is on the page is found at once; where a kind or a
// name occurs longest, the server says.

import * as api from "./api.js";
import { clean, el } from "./dom.js";
import { duration } from "./units.js";
import { momentIn, parse } from "./time.js";
import { around } from "./view.js";
import { goTo } from "./findings.js";

/** @typedef {import("./state.js").State} State */

/**
 * @typedef {object} Hit
 * @property {string} what
 * @property {string} text
 * @property {() => void | Promise<void>} go
 */

const SHOWN = 30;

/**
 * @typedef {object} Acts
 * @property {(what: {kind?: number, detail?: number}, name: string) => Promise<void>} occurrences shows where a kind or a detail is
 * @property {(id: number) => Promise<void>} pause goes to a pause
 */

/**
 * What a text may mean, most likely first.
 * @param {State} state
 * @param {string} text
 * @param {Acts} acts
 * @returns {Hit[]}
 */
export function hits(state, text, { occurrences, pause }) {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const { session } = state;
  /** @type {Hit[]} */
  const found = [];
  const at = parse(wanted);
  if (at !== null && at <= state.span) {
    const half = Math.min(state.view.to - state.view.from, state.span / 10) / 2;
    found.push({ what: "time", text: momentIn(at, state.span / 1000), go: () => state.show({ from: at - half, to: at + half }) });
  }
  const number = wanted.match(/^(?:pause\s*)?#?(\d{1,12})$/);
  if (number) found.push({ what: "pause", text: `pause ${number[1]}`, go: () => pause(Number(number[1])) });
  const has = (/** @type {string} */ name) => name.toLowerCase().includes(wanted);
  session.groups.forEach((group, index) => {
    for (const track of group.tracks) {
      const first = track === group.tracks[0];
      if (!(first ? has(group.name) || has(track.name) || has(group.sub ?? "") : has(track.name))) continue;
      found.push({ what: first ? "row" : "track", text: state.trackName(track.id), go: () => {
        if (!first && state.closed.has(index)) state.close([index], false);
        state.pointAt(track.id);
      } });
    }
  });
  for (const finding of session.findings) if (has(finding.id) || has(finding.claim)) found.push({ what: "finding", text: clean(finding.claim), go: () => goTo(state, finding) });
  for (const kind of session.kinds) if (has(kind.name)) found.push({ what: "spans", text: `longest: ${clean(kind.name)}`, go: () => occurrences({ kind: kind.id }, kind.name) });
  session.details.forEach((name, detail) => {
    if (detail > 0 && found.length < 4 * SHOWN && has(name)) found.push({ what: "name", text: clean(name), go: () => occurrences({ detail }, name) });
  });
  return found.slice(0, SHOWN);
}

export class Search {
  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list
   * @param {State} state
   * @param {(text: string) => void} announce
   * @param {Acts["pause"]} pause
   */
  constructor(input, list, state, announce, pause) {
    this.input = input;
    this.list = list;
    this.state = state;
    this.announce = announce;
    this.pause = pause;
    /** @type {Hit[]} */
    this.found = [];
    this.chosen = 0;
    input.addEventListener("input", () => this.#look());
    input.addEventListener("focus", () => this.#look());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => setTimeout(() => this.#close(), 150));
  }

  #look() {
    this.#show(hits(this.state, this.input.value, { occurrences: (what, name) => this.#occurrences(what, name), pause: this.pause }));
  }

  /** @param {Hit[]} found */
  #show(found) {
    this.found = found;
    this.chosen = 0;
    const nothing = this.input.value.trim() !== "" && found.length === 0;
    this.list.hidden = found.length === 0 && !nothing;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    const one = (/** @type {Hit} */ hit, /** @type {number} */ index) => el("li", {
      role: "option", id: `hit-${index}`, "aria-selected": String(index === 0), onpointerdown: (/** @type {Event} */ event) => { event.preventDefault(); this.#go(index); },
    }, el("span", { class: "what" }, hit.what), el("span", { class: "text" }, hit.text));
    this.list.replaceChildren(...(nothing ? [el("li", { role: "option", "aria-selected": "false", class: "quiet" }, "nothing is called that")] : found.map(one)));
    this.#mark();
  }

  #mark() {
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === this.chosen)));
    const item = this.list.children[this.chosen];
    item?.scrollIntoView({ block: "nearest" });
    if (this.found.length > 0) this.input.setAttribute("aria-activedescendant", `hit-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const count = this.found.length;
    if (event.key === "ArrowDown" && count > 0) this.chosen = (this.chosen + 1) % count;
    else if (event.key === "ArrowUp" && count > 0) this.chosen = (this.chosen + count - 1) % count;
    else if (event.key === "Enter") this.#go(this.chosen);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.#close();
      this.input.blur();
    } else return;
    event.preventDefault();
    this.#mark();
  }

  /** @param {number} index */
  async #go(index) {
    const hit = this.found[index];
    if (!hit) return;
    try {
      await hit.go();
    } catch (error) {
      this.announce(error instanceof Error ? error.message : String(error));
    }
    if (hit.what !== "spans" && hit.what !== "name") this.#close();
  }

  /**
   * The places where it took longest, as further hits.
   * @param {{kind?: number, detail?: number}} what
   * @param {string} name
   */
  async #occurrences(what, name) {
    const tracks = this.state.session.groups.flatMap((group) => group.tracks).filter((track) => track.form !== "values").map((track) => track.id);
    const found = [];
    for (let first = 0; first < Math.min(tracks.length, 256); first += 64) found.push(...await api.find(what, tracks.slice(first, first + 64)));
    found.sort((a, b) => b.to_ns - b.from_ns - (a.to_ns - a.from_ns));
    this.announce(found.length === 0 ? `${name} is nowhere` : `${name}: ${found.length} places, longest first`);
    this.#show(found.slice(0, SHOWN).map((one) => ({
      what: duration(one.to_ns - one.from_ns),
      text: `${momentIn(one.from_ns, this.state.span)} · ${clean(this.state.trackName(one.track))}`,
      go: () => {
        this.state.pointAt(one.track);
        this.state.show(around(one.from_ns, one.to_ns, this.state.span, 0.3));
      },
    })));
  }
}
