// What colours mean: one entry for each role that the session's kinds have.

import { clean, el } from "./dom.js";
import { roleOf } from "./theme.js";

/**
 * @param {HTMLElement} place
 * @param {import("./types").Session} session
 */
export function show(place, session) {
  /** @type {Map<string, string[]>} */
  const roles = new Map();
  for (const kind of session.kinds) {
    const role = roleOf(kind.role), names = roles.get(role) ?? [];
    if (!names.includes(kind.name)) names.push(kind.name);
    roles.set(role, names);
  }
  place.replaceChildren(...[...roles].map(([role, names]) => el("li", { title: names.map(clean).join("\n") },
    el("span", { class: `swatch bg-${role}`, "aria-hidden": "true" }), clean(names[0]))));
}
