// Spans and moments in words: for the box at the pointer, for screen readers, for lists.

import { duration, percent, quantity } from "./units.js";
import { momentIn } from "./time.js";
import { clean } from "./dom.js";

/** @typedef {import("./types").Spot} Spot */
/** @typedef {import("./state.js").State} State */

/**
 * A span's own words: what, how long, when; of what was put together, how much of it.
 * @param {State} state
 * @param {Spot} spot
 * @returns {{title: string, lines: string[]}}
 */
export function spot(state, { kind, from, to, count, detail, share }) {
  const known = state.kind(kind), text = state.session.details[detail];
  const name = text && detail !== 0 ? clean(text) : null, span = state.view.to - state.view.from;
  const length = to - from, lines = [];
  if (count > 1) {
    lines.push(`${count} of them within ${duration(length)}: ${duration(length * share)} together, ${percent(share)} of it`);
    if (name) lines.push(`the longest: ${name}`);
  } else {
    lines.push(count === 0 ? `the rest of one: ${duration(length * share)}` : duration(length * (share > 0 ? share : 1)));
    if (name) lines.push(known.role === "wants-a-cpu" ? `${name} has it` : name);
  }
  lines.push(`at ${momentIn(from, Math.min(span, Math.max(length * 50, 1000)))}`);
  return { title: known.name, lines };
}

/**
 * A span as a sentence that begins with the track.
 * @param {State} state
 * @param {Spot} of
 */
export function sentence(state, of) {
  const { title, lines } = spot(state, of);
  return `${state.trackName(of.track.id)}: ${title}, ${lines.join(", ")}`;
}

/**
 * Values of a plot, each with its name.
 * @param {{track: import("./types").Track, value: number | null}[]} read
 */
export function values(read) {
  return read.map(({ track, value }) => `${clean(track.name)}: ${value === null ? "not known" : quantity(value, track.unit)}`);
}

/**
 * A pause's kind: "minor collection", "major collection".
 * @param {import("./types").Pause} pause
 */
export function pauseKind(pause) {
  /** @type {Record<string, string>} */
  const words = {
    minor: "minor collection", major: "major collection", "concurrent-sync": "stop at the end of a concurrent mark",
    compaction: "compaction", layout: "new layout of heaps", unknown: "collection",
  };
  return words[pause.kind] ?? pause.kind;
}

/** Length of a pause, nanoseconds. @param {import("./types").Pause} pause */
export function lengthOf(pause) {
  return pause.released_ns - begin(pause);
}

/** Its first moment on the trace clock. @param {import("./types").Pause} pause */
export function begin(pause) {
  return pause.requested_ns ?? pause.stopped_ns;
}

/**
 * Why something was waited for.
 * @param {import("./types").Session} session
 * @param {{cause: string, who: string | null, code: string | null}} piece
 */
export function cause(session, piece) {
  const known = session.causes.find(({ id }) => id === piece.cause);
  const phrase = !known ? piece.cause : piece.who ? known.with_who.replace("{who}", () => clean(piece.who ?? "")) : known.words;
  return piece.code ? `${phrase}: ${clean(piece.code)}` : phrase;
}

/**
 * What a cause is drawn as.
 * @param {import("./types").Session} session
 * @param {string} id
 */
export function causeRole(session, id) {
  return session.causes.find((known) => known.id === id)?.role ?? "unknown";
}

/**
 * What a pause was held up by, and for how long; null where it waited for nothing.
 * @param {import("./types").Session} session
 * @param {import("./types").Pause} pause
 */
export function heldUp(session, pause) {
  const held = pause.held_up_by;
  if (!held) return null;
  const lane = held.lane === null ? `a ${session.lane} that is not known` : `${session.lane} ${held.lane}`;
  return { lane, why: cause(session, held), ns: held.ns };
}

/**
 * A label as far as it has room: the whole, or its head before a colon or a comma, never a piece of a word.
 * @param {string} text
 * @param {number} fits characters
 */
export function fitting(text, fits) {
  const [head] = text.split(/[:,;(]/, 1);
  return [text, head.trim()].find((label) => label.length <= fits) ?? "";
}
