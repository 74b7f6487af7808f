// How things look: what each role of a kind is coloured and patterned like, light or dark. The
// colours themselves are in palette.css; here they become pixels. Okabe and Ito's, as in the reports:
// distinguishable without red and green, and patterns show what matters without any colour.

/** @typedef {import("./spans.js").Palette} Palette */
/** @typedef {import("./types").Kind} Kind */

/**
 * Roles from the bottom of the stack: name, pattern (see Palette), and whether it is seen however
 * short. Variables of palette.css are called like the role.
 * @type {[string, number, boolean][]}
 */
const ROLES = [
  ["idle", 0, false],
  ["program", 0, false],
  ["asleep", 0, false],
  ["unknown", 3, false],
  ["running", 0, false],
  ["other", 3, false],
  ["mark", 0, true],
  ["waiting-for-others", 0, false],
  ["slice", 0, true],
  ["collecting", 0, true],
  ["collecting-major", 0, true],
  ["release", 0, true],
  ["waiting-to-lead", 2, true],
  ["request", 0, true],
  ["waiting-to-stop", 0, true],
  ["blocked", 0, true],
  ["queued", 2, true],
  ["wants-a-cpu", 0, true],
  ["throttled", 1, true],
  ["gap", 4, true],
];

/** Lines of plots, in this order. */
export const SERIES = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6"];

/**
 * The role that a kind is drawn as.
 * @param {string} role
 */
export function roleOf(role) {
  return ROLES.some(([known]) => known === role) ? role : "other";
}

/**
 * @typedef {object} Look
 * @property {Palette} palette
 * @property {Record<string, string>} css colours by name
 * @property {Record<string, number>} pixel the same as pixels
 * @property {string[]} names of colours, by slot
 * @property {Map<number, string>} onto colour of text on a kind
 * @property {boolean} dark
 */

const NAMES = ["paper", "ground", "ink", "faint", "rule", "accent", "severe", "warning", "note", "gap-2", "on-dark", "on-pale"];

/**
 * A CSS colour "rgb(1, 2, 3)" as a pixel, and how light it is (0 to 1).
 * @param {string} css
 */
export function pixelOf(css) {
  const [r = 0, g = 0, b = 0] = (css.match(/[\d.]+/g) ?? []).map(Number);
  const linear = [r, g, b].map((c) => (c / 255) ** 2.2);
  return {
    pixel: ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0,
    light: 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2],
  };
}

/**
 * The palette of these kinds, by colours that `read` knows.
 * @param {Kind[]} kinds
 * @param {(name: string) => string} read
 * @returns {Look}
 */
export function lookOf(kinds, read) {
  const palette = {
    count: ROLES.length,
    slots: new Uint8Array(65536).fill(255),
    colours: new Uint32Array(ROLES.length),
    seconds: new Uint32Array(ROLES.length),
    patterns: Uint8Array.from(ROLES, ([, pattern]) => pattern),
    strong: Uint8Array.from(ROLES, ([, , strong]) => Number(strong)),
  };
  /** @type {Record<string, string>} */
  const css = {};
  /** @type {Record<string, number>} */
  const pixel = {};
  for (const name of [...NAMES, ...SERIES, ...ROLES.map(([role]) => role)]) {
    css[name] = read(name);
    pixel[name] = pixelOf(css[name]).pixel;
  }
  ROLES.forEach(([role, pattern], slot) => {
    palette.colours[slot] = pixel[role];
    palette.seconds[slot] = pattern === 0 ? pixel[role] : pixelOf(read(`${role}-2`)).pixel;
  });
  const slotOf = (/** @type {string} */ role) => ROLES.findIndex(([known]) => known === roleOf(role));
  palette.slots.fill(slotOf("other"));
  const onto = new Map();
  for (const { id, role } of kinds) {
    palette.slots[id & 0xffff] = slotOf(role);
    onto.set(id, pixelOf(css[roleOf(role)]).light > 0.3 ? css["on-pale"] : css["on-dark"]);
  }
  return { palette, css, pixel, names: ROLES.map(([role]) => role), onto, dark: pixelOf(css.paper).light < 0.2 };
}

/**
 * The look that the page has now.
 * @param {Kind[]} kinds
 * @param {HTMLElement} probe an element that is not seen
 */
export function lookOfPage(kinds, probe) {
  return lookOf(kinds, (name) => {
    probe.style.color = `var(--${name}, var(--other))`;
    return getComputedStyle(probe).color;
  });
}

const KEPT = "rtscope-theme";
/** @typedef {"system" | "light" | "dark"} Choice */

/** What the user chose, as far as this browser remembers. @returns {Choice} */
export function chosen() {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

/** @param {Choice} choice */
export function choose(choice) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  try {
    localStorage.setItem(KEPT, choice);
  } catch {
    // A browser that keeps nothing still shows it.
  }
}
