// The window on the session: which interval is shown, and how zooming and panning change it.
// Pure: gives a new window, never leaves the session, never gets too short to draw.

/** @typedef {import("./types").Interval} Interval */

/** The shortest window, nanoseconds. */
export const LEAST = 200;

/**
 * `view` within a session of `span` nanoseconds.
 * @param {Interval} view
 * @param {number} span
 * @returns {Interval}
 */
export function within(view, span) {
  const least = Math.min(LEAST, Math.max(1, span));
  const length = Math.min(Math.max(view.to - view.from, least), Math.max(span, least));
  const from = Math.min(Math.max(view.from, 0), Math.max(0, span - length));
  return Number.isFinite(from) && Number.isFinite(length) ? { from, to: from + length } : { from: 0, to: Math.max(span, 1) };
}

/**
 * Zoomed: `factor` times as long, what is at `at` stays where it is.
 * @param {Interval} view
 * @param {number} factor
 * @param {number} at
 * @param {number} span
 */
export function zoomed(view, factor, at, span) {
  const length = view.to - view.from;
  const wanted = Math.min(Math.max(length * factor, Math.min(LEAST, span)), Math.max(span, 1));
  const share = Math.min(Math.max((at - view.from) / length, 0), 1);
  const from = at - share * wanted;
  return within({ from, to: from + wanted }, span);
}

/**
 * Moved by `ns`, as far as the session goes.
 * @param {Interval} view
 * @param {number} ns
 * @param {number} span
 */
export function panned(view, ns, span) {
  return within({ from: view.from + ns, to: view.to + ns }, span);
}

/**
 * A window in which `[from, to]` fills about a `share` of the middle.
 * @param {number} from
 * @param {number} to
 * @param {number} span
 * @param {number} [share]
 */
export function around(from, to, span, share = 0.6) {
  const length = Math.max(to - from, 20) / share, middle = (from + to) / 2;
  return within({ from: middle - length / 2, to: middle + length / 2 }, span);
}

/**
 * `view` moved as little as is needed to show `[from, to]`; longer than the window: its start.
 * @param {Interval} view
 * @param {number} from
 * @param {number} to
 * @param {number} span
 */
export function showing(view, from, to, span) {
  const length = view.to - view.from, margin = length * 0.08;
  if (from >= view.from && to <= view.to) return view;
  if (to - from > length - 2 * margin || from < view.from) return panned(view, from - margin - view.from, span);
  return panned(view, to + margin - view.to, span);
}
