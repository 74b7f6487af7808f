// Statistics of the selected interval: how much of it the world stood still, what each lane and
// thread spent it on. The server adds up; here it is shown.

import * as present from "./present.js";
import * as api from "./api.js";
import { clean, el } from "./dom.js";
import { count, duration, percent } from "./units.js";
import { momentIn } from "./time.js";
import { roleOf } from "./theme.js";

/** @typedef {import("./types").Summary} Summary */

/** Tracks that are asked for at once, and at most. */
const AT_ONCE = 64, MOST = 192;

export class Selection {
  /**
   * @param {HTMLElement} place
   * @param {import("./state.js").State} state
   * @param {(text: string) => void} announce
   */
  constructor(place, state, announce) {
    this.place = place;
    this.state = state;
    this.announce = announce;
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /** Shows what is selected, a moment after the last change. */
  show() {
    clearTimeout(this.timer);
    this.asking?.abort();
    const { selection } = this.state;
    if (!selection || selection.to <= selection.from) {
      this.#whole();
      return;
    }
    this.timer = setTimeout(() => this.#ask(selection), 150);
  }

  /** The account of the whole recording, where nothing is selected. */
  async #whole() {
    const asking = this.asking = new AbortController();
    const hint = el("p", { class: "quiet" }, "Drag over the timeline to select an interval, or press m for what is shown. Figures of it come here.");
    this.place.replaceChildren(hint);
    const whole = await api.account(0, this.state.span, asking.signal).catch(() => null);
    if (whole && !asking.signal.aborted) this.place.replaceChildren(hint, present.tree(whole));
  }

  /** @param {import("./types").Interval} selection */
  async #ask({ from, to }) {
    const asking = this.asking = new AbortController();
    const spans = this.state.session.groups.flatMap((group) => group.tracks).filter((track) => track.form === "spans").map((track) => track.id);
    const asked = spans.slice(0, MOST);
    try {
      const lanes = api.account(from, to, asking.signal);
      /** @type {Summary | null} */
      let whole = null;
      for (let first = 0; first === 0 || first < asked.length; first += AT_ONCE) {
        const part = await api.summary(from, to, asked.slice(first, first + AT_ONCE), asking.signal);
        if (whole) whole.tracks.push(...part.tracks);
        else whole = part;
      }
      if (whole) this.#draw(whole, await lanes, spans.length - asked.length);
    } catch (error) {
      if (!asking.signal.aborted) this.place.replaceChildren(el("p", { class: "quiet" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /**
   * @param {Summary} summary
   * @param {import("./types").Tree} lanes
   * @param {number} left tracks that were not asked for
   */
  #draw(summary, lanes, left) {
    const { pauses, from_ns: from, to_ns: to } = summary, length = Math.max(1, to - from);
    const stood = `${count(pauses.count)} ${pauses.count === 1 ? "pause" : "pauses"}, ${duration(pauses.stood_ns)} (${percent(pauses.stood_ns / length)})`;
    this.announce(`Selected ${duration(length)} at ${momentIn(from, length)}: ${stood}`);
    const { groups } = this.state.session;
    const byId = new Map(summary.tracks.map((track) => [track.id, track]));
    const tables = groups.flatMap((group) => {
      const own = group.tracks.flatMap((track) => byId.get(track.id) ?? []);
      return own.some((track) => track.kinds.length > 0) ? [this.#table(group, own, length)] : [];
    });
    /** @type {[string, string][]} */
    const rows = [["pauses that touch it", stood], ["of it waiting to stop", duration(pauses.stop_ns)], ["of it collecting", duration(pauses.collect_ns)], ["of it release", duration(pauses.release_ns)], ["longest pause", duration(pauses.longest_ns)]];
    this.place.replaceChildren(
      el("h2", {}, duration(length), el("span", { class: "aside" }, `from ${momentIn(from, length)} to ${momentIn(to, length)}`)),
      el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      el("p", {}, el("button", { type: "button", class: "go", onclick: () => this.state.select(null) }, "Clear the selection")),
      present.tree(lanes),
      ...tables,
      left > 0 ? el("p", { class: "quiet" }, `${left} tracks more are not added up here.`) : "",
    );
  }

  /**
   * @param {import("./types").Group} group
   * @param {Summary["tracks"]} tracks
   * @param {number} length
   */
  #table(group, tracks, length) {
    const several = tracks.filter((track) => track.kinds.length > 0).length > 1;
    const rows = tracks.flatMap((track) => [...(several && track.kinds.length > 0 ? [el("tr", { class: "first" },
      el("th", { scope: "rowgroup", colspan: 4, class: "words" }, clean(this.state.trackOf(track.id)?.track.name ?? "")))] : []), ...[...track.kinds].sort((a, b) => b.ns - a.ns).map(({ kind, ns, count: times }, index) => {
      const known = this.state.kind(kind), bar = el("span", { class: `bar bg-${roleOf(known.role)}` });
      bar.style.width = `${Math.min(100, (ns / length) * 100)}%`;
      return el("tr", { class: index === 0 && !several ? "first" : "" },
        el("td", { class: "words" }, el("span", { class: `swatch bg-${roleOf(known.role)}`, "aria-hidden": "true" }), clean(known.name)),
        el("td", { class: "figure" }, duration(ns)), el("td", { class: "figure" }, percent(ns / length), el("span", { class: "track-of-bar", "aria-hidden": "true" }, bar)),
        el("td", { class: "figure" }, count(times)));
    })]);
    return el("table", {}, el("caption", {}, clean(group.name)),
      el("thead", {}, el("tr", {}, ...["spent on", "in all", "share", "times"].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, ...rows));
  }
}
