// The pause inspector: one pause in figures, as a waterfall, cause by cause and lane by lane. The
// drawing and the tables are made from the same line of `report --pauses`.

import * as api from "./api.js";
import * as describe from "./describe.js";
import * as waterfall from "./waterfall.js";
import { clean, el } from "./dom.js";
import { bytes, duration, percent } from "./units.js";
import { momentIn } from "./time.js";
import { around } from "./view.js";

/** @typedef {import("./types").Pause} Pause */

export class Inspector {
  /**
   * @param {HTMLElement} place
   * @param {import("./state.js").State} state
   * @param {(text: string) => void} announce
   */
  constructor(place, state, announce) {
    this.place = place;
    this.state = state;
    this.announce = announce;
    /** @type {Pause | null} */
    this.pause = null;
    /** @type {AbortController | null} */
    this.asking = null;
    this.width = 0;
  }

  /** Draws again where there is more or less room than before. */
  fit() {
    if (this.place.clientWidth > 0 && this.place.clientWidth !== this.width) this.draw();
  }

  /**
   * Shows the pause that the state names.
   * @param {Pause} [known]
   */
  async show(known) {
    const { pause: id } = this.state;
    this.asking?.abort();
    if (id === null) {
      this.pause = null;
      this.state.mark([]);
      this.place.replaceChildren(el("p", { class: "quiet" }, "Press n for the next slow pause, or choose one from the list."));
      return;
    }
    const asking = this.asking = new AbortController();
    try {
      const pause = known?.id === id ? known : await api.pause(id, asking.signal);
      if (asking.signal.aborted) return;
      this.pause = pause;
      this.state.mark([describe.begin(pause), pause.stopped_ns, pause.collected_ns, pause.released_ns].map((at) => at - this.state.session.from_ns));
      this.draw();
      this.announce(waterfall.words(this.state.session, pause));
    } catch (error) {
      if (!asking.signal.aborted) this.place.replaceChildren(el("p", { class: "quiet" }, error instanceof Error ? error.message : String(error)));
    }
  }

  draw() {
    const { pause, state } = this;
    if (!pause) return;
    const { session } = state, from = describe.begin(pause) - session.from_ns, to = pause.released_ns - session.from_ns;
    this.width = this.place.clientWidth;
    const width = Math.max(280, this.width - 34);
    this.place.replaceChildren(
      el("h2", {}, `Pause ${pause.id}`, el("span", { class: "aside" }, describe.pauseKind(pause))),
      el("p", { class: "large" }, duration(to - from), el("span", { class: "aside" }, ` at ${momentIn(from, Math.min(state.span, (to - from) * 1000))}`)),
      pause.quality === "partial" ? el("p", { class: "warn" }, "Not seen whole: counted, but kept out of the report's quantiles.") : "",
      waterfall.draw(session, pause, width),
      facts(session, pause),
      el("p", {}, el("button", { type: "button", class: "go", onclick: () => state.show(around(from, to, state.span)) }, "Show on the timeline"), " ",
        el("button", { type: "button", class: "go", onclick: () => state.select({ from, to }) }, "Select")),
      causes(session, pause),
      lanes(session, pause),
    );
  }
}

/**
 * @param {import("./types").Session} session
 * @param {Pause} pause
 */
function facts(session, pause) {
  /** @type {[string, string][]} */
  const rows = [
    ["to stop", pause.requested_ns === null ? "not known: the runtime posts no request" : duration(pause.stopped_ns - pause.requested_ns)],
    ["collecting", duration(pause.collected_ns - pause.stopped_ns)],
    ["restarting", `${pause.release_basis === "lower-bound" ? "at least " : ""}${duration(pause.released_ns - pause.collected_ns)}`],
  ];
  const held = describe.heldUp(session, pause);
  if (held) rows.push(["held up by", `${held.lane} for ${duration(held.ns)}: ${held.why}`]);
  if (pause.leader !== null) rows.push(["led by", `${session.lane} ${pause.leader}`]);
  if (pause.generation !== null) rows.push(["generation", String(pause.generation)]);
  if (pause.copied_bytes !== null) rows.push(["copied", bytes(pause.copied_bytes)]);
  if (pause.gc_threads !== null) rows.push(["threads that collected", String(pause.gc_threads)]);
  return el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/**
 * @param {import("./types").Session} session
 * @param {Pause} pause
 */
function causes(session, pause) {
  if (pause.causes.length === 0) return el("p", { class: "quiet" }, "No cause is known: nothing was waited for, or the kernel's side was not recorded.");
  /** @type {Map<string, {words: string, lanes: Set<number>, ns: number, cause: string}>} */
  const sums = new Map();
  for (const piece of pause.causes) {
    const text = describe.cause(session, piece), sum = sums.get(text) ?? { words: text, lanes: new Set(), ns: 0, cause: piece.cause };
    sum.ns += piece.to_ns - piece.from_ns;
    if (piece.lane !== null) sum.lanes.add(piece.lane);
    sums.set(text, sum);
  }
  const all = [...sums.values()].sort((a, b) => b.ns - a.ns), total = all.reduce((sum, { ns }) => sum + ns, 0);
  const rows = all.slice(0, 30).map(({ words, lanes: of, ns, cause }) => el("tr", {},
    el("td", { class: "words" }, el("span", { class: `swatch bg-${describe.causeRole(session, cause)}`, "aria-hidden": "true" }), words),
    el("td", {}, [...of].slice(0, 4).join(", ")), el("td", { class: "figure" }, duration(ns)), el("td", { class: "figure" }, percent(ns / total))));
  return el("table", {}, el("caption", {}, "What was waited for"),
    el("thead", {}, el("tr", {}, ...["why", session.lane, "in all", "of waits"].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, ...rows));
}

/**
 * @param {import("./types").Session} session
 * @param {Pause} pause
 */
function lanes(session, pause) {
  const begin = describe.begin(pause);
  const after = (/** @type {number | null} */ at) => (at === null ? "-" : `+${duration(at - begin)}`);
  const rows = pause.lanes.slice(0, 600).map((lane) => el("tr", {},
    el("th", { scope: "row" }, String(lane.lane)), el("td", { class: "figure" }, lane.tid === null ? "-" : String(lane.tid)),
    el("td", { class: "figure" }, after(lane.arrived_ns)), el("td", { class: "figure" }, duration(lane.work_ns)), el("td", { class: "figure" }, after(lane.left_ns))));
  const names = [session.lane, "thread", "stopped", "worked", "back"].map((text) => el("th", { scope: "col" }, clean(text)));
  return el("table", {}, el("caption", {}, "Who did what"), el("thead", {}, el("tr", {}, ...names)), el("tbody", {}, ...rows));
}
