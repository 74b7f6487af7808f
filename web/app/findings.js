// The list of findings: what the marks on the axis say, in words; each goes to its evidence.

import { clean, el, marked } from "./dom.js";
import { momentIn } from "./time.js";
import { around } from "./view.js";

/** @typedef {import("./types").Finding} Finding */

/**
 * Shows where a finding was seen.
 * @param {import("./state.js").State} state
 * @param {Finding} finding
 */
export function goTo(state, finding) {
  if (finding.at_ns === null) return;
  state.show(around(finding.at_ns, finding.to_ns ?? finding.at_ns, state.span, 0.8));
  if (finding.track !== null) state.pointAt(finding.track, null);
}

/**
 * Puts a text where it can be pasted from, and says so on the button.
 * @param {string} text
 * @param {HTMLElement} button
 */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not permitted: select it";
  }
}

/** @param {import("./types").Change} change */
function changed(change) {
  const { paste } = change;
  return el("li", {}, ...marked(change.text), paste === null ? null : el("div", { class: "paste" }, el("pre", {}, clean(paste)),
    el("button", { type: "button", class: "go", onclick: (event) => copy(paste, event.currentTarget) }, "Copy")));
}

/**
 * @param {HTMLElement} place
 * @param {import("./state.js").State} state
 */
export function show(place, state) {
  const { findings } = state.session;
  if (findings.length === 0) {
    place.replaceChildren(el("p", { class: "quiet" }, state.session.missing.length > 0 ? "Nothing found in what was seen." : "Nothing was found that costs the program time or memory."));
    return;
  }
  const one = (/** @type {Finding} */ finding) => el("li", { class: `finding ${finding.severity}` },
    el("p", { class: "kind" }, el("span", { class: "mark", "aria-hidden": "true" }), `${finding.severity} · ${clean(finding.id)}`),
    el("p", {}, ...marked(finding.claim)),
    finding.changes.length > 0 ? el("h3", {}, "Change") : null,
    el("ul", { class: "plain" }, ...finding.changes.map(changed)),
    finding.seen.length > 0 ? el("details", {}, el("summary", {}, "Why we know"), el("ul", { class: "plain" }, ...finding.seen.map((text) => el("li", {}, ...marked(text))))) : null,
    finding.at_ns === null ? null : el("button", { type: "button", class: "go", onclick: () => goTo(state, finding) },
      `Show it at ${momentIn(finding.at_ns, state.span)}`));
  place.replaceChildren(el("ol", { class: "findings" }, ...findings.map(one)));
}

/**
 * What this recording does not show, and what of it was lost.
 * @param {HTMLElement} place
 * @param {import("./state.js").State} state
 */
export function showMissing(place, state) {
  const { missing, gaps } = state.session;
  const gap = (/** @type {import("./types").Gap} */ one) => el("li", {},
    el("button", { type: "button", class: "go", onclick: () => state.show(around(one.from_ns, one.to_ns, state.span)) },
      `Gap at ${momentIn(one.from_ns, state.span)}`),
    ` ${one.track === null ? "" : `${clean(state.trackName(one.track))}: `}`, ...marked(one.note));
  place.replaceChildren(
    missing.length > 0 ? el("ul", { class: "plain" }, ...missing.map((text) => el("li", {}, ...marked(text)))) : el("p", { class: "quiet" }, "Nothing that could be recorded is missing."),
    gaps.length > 0 ? el("h3", {}, "Gaps") : "",
    el("ul", { class: "plain" }, ...gaps.slice(0, 200).map(gap)),
    gaps.length > 200 ? el("p", { class: "quiet" }, `and ${gaps.length - 200} more`) : "",
  );
}
