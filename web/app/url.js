// The state that a link carries, in the fragment: which interval and track are looked at, what is
// selected, which pause is inspected. Pure. Whatever else a fragment says is passed over.

/** @typedef {import("./types").Interval} Interval */

/**
 * @typedef {object} Link
 * @property {Interval | null} view
 * @property {Interval | null} selection
 * @property {number | null} track
 * @property {number | null} pause
 */

/**
 * @param {string} fragment with or without `#`
 * @returns {Link}
 */
export function read(fragment) {
  const keys = new URLSearchParams(fragment.replace(/^#/, ""));
  return { view: interval(keys.get("t")), selection: interval(keys.get("sel")), track: whole(keys.get("track")), pause: whole(keys.get("pause")) };
}

/** @param {Link} link */
export function write({ view, selection, track, pause }) {
  const parts = [];
  const text = (/** @type {Interval} */ { from, to }) => `${Math.round(from)}-${Math.round(to)}`;
  if (view) parts.push(`t=${text(view)}`);
  if (selection) parts.push(`sel=${text(selection)}`);
  if (track !== null) parts.push(`track=${track}`);
  if (pause !== null) parts.push(`pause=${pause}`);
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}

/** @param {string | null} text @returns {Interval | null} */
function interval(text) {
  const found = text?.match(/^(\d{1,16})-(\d{1,16})$/);
  if (!found) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return to > from ? { from, to } : null;
}

/** @param {string | null} text */
function whole(text) {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
