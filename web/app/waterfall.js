// One pause as a drawing: on top its phases, below each lane from the request to its arrival, its
// work and its release; under a lane that was waited for, why. Gives an SVG; knows no server.

import { svg } from "./dom.js";
import { duration } from "./units.js";
import { roundStep } from "./time.js";
import * as describe from "./describe.js";

/** @typedef {import("./types").Pause} Pause */
/** @typedef {import("./types").PauseLane} PauseLane */
/** @typedef {import("./types").Session} Session */

/** Most lanes drawn of one pause: those that explain it. */
export const LANES_MAX = 16;

const LEFT = 118, ROW = 20, BAR = 13, STRIP = 11, TOP = 30;

/**
 * The lanes that are drawn: the straggler, the leader, the last to leave, then by arrival; in their order.
 * @param {Pause} pause
 * @returns {PauseLane[]}
 */
export function chosenLanes(pause) {
  const last = pause.lanes.reduce((/** @type {PauseLane | null} */ late, lane) => ((lane.left_ns ?? 0) > (late?.left_ns ?? 0) ? lane : late), null);
  const waited = new Set(pause.causes.map((piece) => piece.lane));
  const first = (/** @type {PauseLane} */ lane) =>
    Number(lane.lane === pause.straggler || lane.lane === pause.leader || lane === last) * 2 + Number(waited.has(lane.lane));
  return [...pause.lanes].sort((a, b) => first(b) - first(a) || (b.arrived_ns ?? 0) - (a.arrived_ns ?? 0))
    .slice(0, LANES_MAX).sort((a, b) => a.lane - b.lane);
}

/**
 * @param {Session} session
 * @param {Pause} pause
 * @param {number} width CSS pixels
 */
export function draw(session, pause, width) {
  const lanes = chosenLanes(pause), begin = describe.begin(pause), span = Math.max(1, pause.released_ns - begin);
  const rows = lanes.map((lane) => ({ lane, causes: pause.causes.filter((piece) => piece.lane === lane.lane) }));
  let y = TOP;
  const places = rows.map(({ causes }) => {
    const at = y;
    y += ROW + (causes.length > 0 ? STRIP : 0);
    return at;
  });
  const height = y + 20, plot = width - LEFT - 4;
  const x = (/** @type {number} */ at) => LEFT + plot * Math.min(1, Math.max(0, (at - begin) / span));
  const bar = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ top, /** @type {number} */ high, /** @type {string} */ role, /** @type {string} */ title) =>
    svg("rect", { x: x(from).toFixed(1), y: top, width: Math.max(1, x(to) - x(from)).toFixed(1), height: high, class: `fill-${role}` }, svg("title", {}, title));
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words(session, pause), class: "waterfall" }, patterns());
  axis(drawing, { begin, span, x, height, width });
  phases(drawing, pause, bar, x);
  rows.forEach(({ lane, causes }, row) => {
    const top = places[row];
    drawing.append(...laneBars(pause, lane, top, bar, begin));
    const name = lane.lane === pause.straggler ? "last" : lane.lane === pause.leader ? "led" : "";
    drawing.append(svg("text", { x: 0, y: top + 11, class: lane.lane === pause.straggler ? "strong" : "" }, `${session.lane} ${lane.lane}`),
      svg("text", { x: LEFT - 8, y: top + 11, class: "quiet end" }, name));
    for (const piece of causes) {
      const text = describe.cause(session, piece), role = describe.causeRole(session, piece.cause), from = Math.max(piece.from_ns, begin);
      drawing.append(bar(from, piece.to_ns, top + BAR + 1, STRIP, role, `${text}: ${duration(piece.to_ns - piece.from_ns)}`));
      const space = x(piece.to_ns) - x(from) - 6;
      const label = describe.fitting(text, Math.floor(space / 5));
      if (label) drawing.append(svg("text", { x: x(from) + 3, y: top + BAR + STRIP - 1, class: `inside on-${role}` }, label));
    }
  });
  return drawing;
}

/** Stripes for what colour alone must not distinguish. */
function patterns() {
  const stripes = (/** @type {string} */ role, /** @type {number} */ turn) => svg("pattern", { id: `p-${role}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` },
    svg("rect", { width: 6, height: 6, class: `plain-${role}` }), svg("rect", { width: 2, height: 6, class: `second-${role}` }));
  return svg("defs", {}, stripes("throttled", 45), stripes("queued", -45));
}

/**
 * @param {SVGSVGElement} drawing
 * @param {{begin: number, span: number, x: (at: number) => number, height: number, width: number}} of
 */
function axis(drawing, { begin, span, x, height, width }) {
  const step = Math.max(1, roundStep(span / 4));
  for (let at = 0; at <= span; at += step) {
    const place = x(begin + at);
    drawing.append(svg("line", { x1: place, x2: place, y1: 4, y2: height - 16, class: "grid" }));
    const end = place > width - 30;
    drawing.append(svg("text", { x: end ? width - 2 : place, y: height - 4, class: `tick ${end ? "end" : at === 0 ? "" : "middle"}` }, at === 0 ? "0" : `+${duration(at)}`));
  }
}

/**
 * @param {SVGSVGElement} drawing
 * @param {Pause} pause
 * @param {(from: number, to: number, top: number, high: number, role: string, title: string) => SVGRectElement} bar
 * @param {(at: number) => number} x
 */
function phases(drawing, pause, bar, x) {
  drawing.append(svg("text", { x: 0, y: 17, class: "strong" }, "pause"));
  /** @type {[string, string, number, number][]} */
  const parts = [
    ["waiting-to-stop", "stop", describe.begin(pause), pause.stopped_ns],
    ["collecting", "collect", pause.stopped_ns, pause.collected_ns],
    ["release", "restart", pause.collected_ns, pause.released_ns],
  ];
  for (const [role, name, from, to] of parts) {
    if (to <= from) continue;
    const text = `${name} ${duration(to - from)}`;
    drawing.append(bar(from, to, 5, 17, role, text));
    if (x(to) - x(from) > text.length * 5.6 + 6) drawing.append(svg("text", { x: x(from) + 4, y: 17.5, class: `inside on-${role}` }, text));
  }
}

/**
 * @param {Pause} pause
 * @param {PauseLane} lane
 * @param {number} top
 * @param {(from: number, to: number, top: number, high: number, role: string, title: string) => SVGRectElement} bar
 * @param {number} begin
 */
function laneBars(pause, lane, top, bar, begin) {
  const bars = [];
  if (lane.arrived_ns !== null) {
    const straggler = lane.lane === pause.straggler;
    bars.push(bar(begin, lane.arrived_ns, top, BAR, straggler ? "waiting-to-stop" : "request", `stopped after ${duration(lane.arrived_ns - begin)}`));
    if (pause.stopped_ns > lane.arrived_ns) bars.push(bar(lane.arrived_ns, pause.stopped_ns, top + BAR / 2 - 1, 2, "wait", `waits ${duration(pause.stopped_ns - lane.arrived_ns)} for the others`));
  }
  if (lane.work_begin_ns !== null && lane.work_end_ns !== null) bars.push(bar(lane.work_begin_ns, lane.work_end_ns, top, BAR, "collecting", `collects ${duration(lane.work_ns)}`));
  if (lane.left_ns !== null && lane.left_ns > pause.collected_ns) bars.push(bar(pause.collected_ns, lane.left_ns, top, BAR, "release", `back after ${duration(lane.left_ns - pause.collected_ns)}`));
  return bars;
}

/**
 * The drawing in a sentence.
 * @param {Session} session
 * @param {Pause} pause
 */
export function words(session, pause) {
  const parts = [`Pause ${pause.id}, a ${describe.pauseKind(pause)} of ${duration(describe.lengthOf(pause))}`];
  if (pause.requested_ns !== null) parts.push(`${duration(pause.stopped_ns - pause.requested_ns)} until all had stopped`);
  parts.push(`${duration(pause.collected_ns - pause.stopped_ns)} collecting`, `${duration(pause.released_ns - pause.collected_ns)} until all ran again`);
  const held = describe.heldUp(session, pause);
  if (held) parts.push(`held up by ${held.lane} for ${duration(held.ns)}: ${held.why}`);
  return `${parts.join("; ")}.`;
}
