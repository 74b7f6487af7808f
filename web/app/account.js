// Where the time of all lanes went, as a tree with bars: each bar lies below the part that it divides.

import { clean, el } from "./dom.js";
import { counted, duration, percent } from "./units.js";

/** @typedef {import("./types").Account} Account */
/** @typedef {import("./types").AccountNode} AccountNode */

/** A part with a smaller share of the whole gets no row. */
const SHOWN = 0.005, PARTS = 8;

/**
 * The rows of a part and of its parts.
 * @param {AccountNode} part
 * @param {number} from where its bar begins, nanoseconds
 * @param {number} depth
 * @param {{whole: number, role: string}} of
 * @returns {Element[]}
 */
function rows(part, from, depth, of) {
  const bar = el("span", { class: `bar bg-${of.role}` });
  bar.style.marginLeft = `${(from / of.whole) * 100}%`;
  bar.style.width = `${(part.ns / of.whole) * 100}%`;
  const name = el("td", { class: `words part-${Math.min(depth, 3)}` }, clean(part.name));
  if (part.why) name.title = clean(part.why);
  const own = el("tr", { class: depth === 0 ? "first" : "" }, name,
    el("td", {}, el("span", { class: "track-of-bar", "aria-hidden": "true" }, bar)),
    el("td", { class: "figure" }, percent(part.ns / of.whole)), el("td", { class: "figure" }, duration(part.ns)));
  let begin = from;
  return [own, ...part.parts.slice(0, PARTS).filter(({ ns }) => ns >= SHOWN * of.whole).flatMap((below) => {
    const all = rows(below, begin, depth + 1, of);
    begin += below.ns;
    return all;
  })];
}

/**
 * The table; nothing where there are no lanes.
 * @param {Account} account
 * @param {import("./types").Session} session
 */
export function table(account, session) {
  const { lanes_ns: whole, lanes } = account;
  if (whole === 0) return "";
  let from = 0;
  const all = account.tops.flatMap(({ role, part }) => {
    const own = rows(part, from, 0, { whole, role });
    from += part.ns;
    return own;
  });
  const head = ["where the time went", "", "share", "in all"].map((text) => el("th", { scope: "col" }, text));
  return el("table", { class: "account" }, el("caption", {}, `${duration(whole)} of ${counted(lanes, session.lane, session.lanes)}`),
    el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...all));
}
