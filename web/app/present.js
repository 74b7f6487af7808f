// The content of a report as elements: the viewer's writer of the forms that reports consist of. Pictures stay out: the
// timeline is one.

import { clean, el, marked } from "./dom.js";
import { duration, percent } from "./units.js";

/** @typedef {import("./types").Section} Section */
/** @typedef {import("./types").Block} Block */
/** @typedef {import("./types").Table} Table */
/** @typedef {import("./types").Cell} Cell */
/** @typedef {import("./types").Tree} Tree */
/** @typedef {import("./types").AccountNode} AccountNode */

/** A part with a smaller share of the whole gets no row. */
const SHOWN = 0.005, PARTS = 8, ROWS = 64;

/** @param {Section} section */
export function section({ title, blocks }) {
  const shown = blocks.flatMap(block);
  return shown.length === 0 ? [] : [el("h2", {}, clean(title)), ...shown];
}

/**
 * @param {Block} block
 * @returns {Element[]}
 */
function block(block) {
  if (block.text) return text(block.text);
  if (block.table) return [table(block.table)];
  if (block.tree) return [tree(block.tree)];
  return [];
}

/** @param {NonNullable<Block["text"]>} text */
function text({ topic, sentences, form }) {
  if (form === "list") return [el("ul", { class: "plain" }, ...sentences.map((one) => el("li", {}, ...marked(one))))];
  const head = (/** @type {number} */ index) => (index === 0 && topic !== "" ? el("strong", {}, `${clean(topic)}: `) : null);
  return sentences.map((one, index) => el("p", { class: form === "faint" ? "quiet" : "" }, head(index), ...marked(one)));
}

/** @param {Table} table */
export function table({ topic, columns, rows }) {
  const head = [topic, ...columns.map((column) => column.head)].map((text) => el("th", { scope: "col" }, clean(text)));
  const body = rows.slice(0, ROWS).map(({ name, cells }) => el("tr", {},
    el("th", { scope: "row", class: `words part-${Math.min(name.depth, 3)}` }, name.code ? el("code", {}, clean(name.text)) : clean(name.text)),
    ...cells.map(cell)));
  const more = rows.length - ROWS;
  return el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body),
    more > 0 ? el("tfoot", {}, el("tr", {}, el("td", { colspan: columns.length + 1 }, `and ${more} more`))) : null);
}

/** @param {Cell} cell */
function cell(cell) {
  if (cell.note !== undefined) return el("td", { class: "words quiet" }, clean(cell.note));
  if (cell.share !== undefined) return el("td", { class: "figure" }, percent(cell.share ?? NaN), bar("collecting", 0, cell.share ?? 0));
  return el("td", { class: "figure" }, clean(cell.figure ?? cell.interval?.text ?? ""));
}

/**
 * A bar in a track of its own.
 * @param {string} role
 * @param {number} from shares of the whole
 * @param {number} share
 */
function bar(role, from, share) {
  const own = el("span", { class: `bar bg-${role}` });
  own.style.marginLeft = `${from * 100}%`;
  own.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("span", { class: "track-of-bar", "aria-hidden": "true" }, own);
}

/**
 * The rows of a part and of its parts.
 * @param {AccountNode} part
 * @param {number} from where its bar begins, nanoseconds
 * @param {number} depth
 * @param {{whole: number, role: string}} of
 * @returns {Element[]}
 */
function branch(part, from, depth, of) {
  const name = el("td", { class: `words part-${Math.min(depth, 3)}` }, clean(part.name));
  if (part.why) name.title = clean(part.why);
  const own = el("tr", { class: depth === 0 ? "first" : "" }, name,
    el("td", {}, bar(of.role, from / of.whole, part.ns / of.whole)),
    el("td", { class: "figure" }, percent(part.ns / of.whole)), el("td", { class: "figure" }, duration(part.ns)));
  let begin = from;
  return [own, ...part.parts.slice(0, PARTS).filter(({ ns }) => ns >= SHOWN * of.whole).flatMap((below) => {
    const all = branch(below, begin, depth + 1, of);
    begin += below.ns;
    return all;
  })];
}

/**
 * Time, divided: each bar lies below the part that it divides. Nothing where there is no time.
 * @param {Tree} tree
 */
export function tree({ head, whole, whole_ns, tops }) {
  let from = 0;
  const rows = whole_ns === 0 ? [] : tops.flatMap(({ role, part }) => {
    const own = branch(part, from, 0, { whole: whole_ns, role });
    from += part.ns;
    return own;
  });
  const heads = ["part", "", "share", "in all"].map((text) => el("th", { scope: "col" }, text));
  return el("table", { class: "account", hidden: rows.length === 0 }, el("caption", {}, `${clean(head)}: ${clean(whole)}`),
    el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
}
