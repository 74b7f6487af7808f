// Making elements. Text goes in as text only: nothing of a recording becomes markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Attribute
 * @typedef {Node | string | null | undefined | false} Child
 */

/**
 * An element: `on…` functions listen, `true` stands for an empty attribute, `false` and null for none.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  fit(made, attributes, children);
  return made;
}

/**
 * An SVG element, like `el` for HTML.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  fit(made, attributes, children);
  return made;
}

/**
 * @param {Element} made
 * @param {Record<string, Attribute>} attributes
 * @param {Child[]} children
 */
function fit(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

/**
 * The element of the page that is called so.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * Text whose parts between backticks are code.
 * @param {string} text
 * @returns {Child[]}
 */
export function marked(text) {
  const parts = clean(text).split("`");
  // One too many: they are no pairs.
  if (parts.length % 2 === 0) return [clean(text)];
  return parts.map((part, index) => (index % 2 === 1 ? el("code", {}, part) : part));
}

/**
 * Text without characters that act instead of showing.
 * @param {string} text
 */
export function clean(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => (c === "\n" || c === "\t" ? " " : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`));
}
