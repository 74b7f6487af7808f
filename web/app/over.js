// What lies over the rows: names on spans that are wide enough, gaps, the selection, the line at
// the pointer and the span that keys are at.

import { fitting } from "./describe.js";
import { SERIES } from "./theme.js";
import { duration } from "./units.js";
import { clean } from "./dom.js";

/** @typedef {import("./types").Row} Row */
/** @typedef {import("./theme.js").Look} Look */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {CanvasRenderingContext2D} Context */

/** A span gets its name from so many CSS pixels on; and at most so many names at a time. */
const WIDE = 46, NAMES = 350;
const FONT = 'system-ui, "DejaVu Sans", sans-serif';

/**
 * The name of a span in the drawing: which process took a CPU says more than that one did.
 * @param {import("./state.js").State} state
 * @param {number} kind
 * @param {number} detail
 */
export function nameOf(state, kind, detail) {
  const known = state.kind(kind), text = state.session.details[detail];
  if (!text || detail === 0) return known.name;
  return known.role === "wants-a-cpu" || known.role === "running" || known.role === "mark" ? clean(text) : `${known.name}: ${clean(text)}`;
}

/**
 * @param {Context} context
 * @param {Scene} scene
 * @param {Row[]} rows
 * @param {Look} look
 */
export function names(context, scene, rows, look) {
  const { from, to } = scene.state.view, least = ((to - from) / scene.width) * WIDE;
  let left = NAMES;
  context.textBaseline = "alphabetic";
  for (const row of rows) {
    if (row.form === "values" || row.closed || row.height < 12 || left <= 0) continue;
    const size = row.height >= 20 ? 11.5 : 9.5, y = row.y - scene.state.scroll + row.height / 2 + size * 0.36;
    context.font = `${size}px ${FONT}`;
    const wide = size * 0.54;
    for (const { data, from: pieceFrom, to: pieceTo } of scene.pieces(row.tracks[0])) {
      if (!("times" in data)) continue;
      for (let index = 0; index < data.count && left > 0; index++) {
        const begin = data.times[index * 4], end = data.times[index * 4 + 1];
        // A span that is in several tiles is named in the one where its visible part begins.
        if (end - begin < least || data.words[index * 8 + 4] !== 1 || Math.max(begin, from) < pieceFrom || Math.max(begin, from) >= pieceTo) continue;
        const x = Math.max(scene.x(begin), 0), space = Math.min(scene.x(end), scene.width) - x - 8;
        if (space < 18) continue;
        const /** @type {number} */ kind = data.halves[index * 16 + 10], /** @type {number} */ slot = look.palette.slots[kind];
        const text = fitting(nameOf(scene.state, kind, data.words[index * 8 + 6]), Math.floor(space / wide));
        if (!text) continue;
        if (look.palette.patterns[slot] !== 0) {
          // On stripes a name cannot be read.
          context.fillStyle = look.css[look.names[slot]];
          context.fillRect(x + 2, y - size, context.measureText(text).width + 4, size + 2.5);
        }
        context.fillStyle = look.onto.get(kind) ?? look.css.ink;
        context.fillText(text, x + 4, y);
        left -= 1;
      }
    }
  }
}

/**
 * What was lost: drawn as a gap, never as nothing.
 * @param {Context} context
 * @param {Scene} scene
 * @param {Row[]} rows
 * @param {Look} look
 */
export function gaps(context, scene, rows, look) {
  const { session, view, scroll } = scene.state;
  const shown = session.gaps.filter((gap) => gap.to_ns >= view.from && gap.from_ns <= view.to);
  for (const gap of shown.slice(0, 2000)) {
    const left = Math.max(0, scene.x(gap.from_ns)), width = Math.max(2, Math.min(scene.width, scene.x(gap.to_ns)) - left);
    const of = rows.filter((row) => gap.track === null || row.tracks.some((track) => track.id === gap.track));
    for (const row of of) hatched(context, left, row.y - scroll, width, row.height, look);
    const [first] = of;
    if (first && width > 34) {
      context.font = `10px ${FONT}`;
      const text = width > 160 ? "gap: not seen" : "gap";
      context.fillStyle = look.css.paper;
      context.fillRect(left + 3, first.y - scroll + 2, context.measureText(text).width + 6, 12);
      context.fillStyle = look.css.ink;
      context.fillText(text, left + 6, first.y - scroll + 11.5);
    }
  }
}

/**
 * @param {Context} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {Look} look
 */
function hatched(context, x, y, width, height, look) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.fillStyle = look.css.paper;
  context.globalAlpha = 0.8;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
  context.strokeStyle = look.css.faint;
  context.lineWidth = 1;
  context.beginPath();
  // Lines stand still on the screen: they are no data.
  for (let start = Math.floor((x - height) / 6) * 6; start < x + width; start += 6) {
    context.moveTo(start, y + height);
    context.lineTo(start + height, y);
  }
  context.stroke();
  context.restore();
}

/**
 * @param {Context} context
 * @param {Scene} scene
 * @param {Look} look
 */
export function selection(context, scene, look) {
  const chosen = scene.state.selection;
  if (!chosen) return;
  const left = scene.x(chosen.from), right = scene.x(chosen.to);
  context.fillStyle = look.css.paper;
  context.globalAlpha = 0.5;
  context.fillRect(0, 0, Math.max(0, left), scene.height);
  context.fillRect(Math.min(scene.width, right), 0, Math.max(0, scene.width - right), scene.height);
  context.globalAlpha = 1;
  context.fillStyle = look.css.accent;
  context.fillRect(Math.round(left) - 1, 0, 1, scene.height);
  context.fillRect(Math.round(right), 0, 1, scene.height);
}

/**
 * The pause that is inspected: lines through all lanes at its request, when all had stopped, when the
 * work was done and when the last was back.
 * @param {Context} context
 * @param {Scene} scene
 * @param {Look} look
 */
export function moments(context, scene, look) {
  const { view } = scene.state;
  context.strokeStyle = look.css.ink;
  context.lineWidth = 1;
  context.globalAlpha = 0.7;
  scene.state.moments.forEach((at, index) => {
    if (at < view.from || at > view.to) return;
    const x = Math.round(scene.x(at)) + 0.5;
    context.setLineDash(index === 0 || index === 3 ? [] : [3, 3]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, scene.height);
    context.stroke();
  });
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/**
 * The line at the pointer, the track and the span that keys are at.
 * @param {Context} context
 * @param {Scene} scene
 * @param {Look} look
 */
export function cursors(context, scene, look) {
  const { state } = scene, row = state.rows.find((one) => one.tracks.some((track) => track.id === state.track));
  if (row) {
    const y = row.y - state.scroll;
    context.fillStyle = look.css.accent;
    context.fillRect(0, y, 3, row.height);
    if (state.spot) {
      const left = Math.max(-4, scene.x(state.spot.from)), right = Math.min(scene.width + 4, scene.x(state.spot.to));
      context.strokeStyle = look.css.ink;
      context.lineWidth = 2;
      context.strokeRect(left - 1, y - 1, Math.max(4, right - left + 2), row.height + 2);
    }
  }
  if (state.hover) {
    context.fillStyle = look.css.ink;
    context.globalAlpha = 0.35;
    context.fillRect(Math.round(scene.x(state.hover.at)), 0, 1, scene.height);
    context.globalAlpha = 1;
  }
}

/**
 * The axis with its findings: time above, what was found as marks below.
 * @param {HTMLCanvasElement} canvas
 * @param {Scene} scene
 * @param {{ticks: import("./time.js").Tick[], base: string | null}} axis
 * @param {Look} look
 */
export function ruler(canvas, scene, { ticks, base }, look) {
  const context = canvas.getContext("2d"), height = canvas.clientHeight || 44;
  if (!context) return;
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [w, h] = [Math.round(scene.width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, scene.width, height);
  context.font = `11px ${FONT}`;
  const left = base ? context.measureText(base).width + 14 : 0;
  for (const { at, text } of ticks) {
    const x = Math.round(scene.x(at)) + 0.5;
    context.strokeStyle = text ? look.css.faint : look.css.rule;
    context.beginPath();
    context.moveTo(x, text ? 16 : 20);
    context.lineTo(x, 24);
    context.stroke();
    if (!text) continue;
    const half = context.measureText(text).width / 2;
    const place = Math.min(Math.max(x, half + 2), scene.width - half - 2);
    if (place - half < left) continue;
    context.fillStyle = look.css.ink;
    context.textAlign = "center";
    context.fillText(text, place, 12);
  }
  context.textAlign = "left";
  if (base) {
    context.fillStyle = look.css.accent;
    context.fillText(base, 2, 12);
  }
  context.fillStyle = look.css.rule;
  context.fillRect(0, 24, scene.width, 1);
  const chosen = scene.state.selection;
  if (chosen) chosenLength(context, scene, chosen, look);
  scene.state.session.findings.forEach((finding) => mark(context, scene, finding, look));
}

/**
 * @param {Context} context
 * @param {Scene} scene
 * @param {import("./types").Interval} chosen
 * @param {Look} look
 */
function chosenLength(context, scene, chosen, look) {
  const left = Math.max(0, scene.x(chosen.from)), right = Math.min(scene.width, scene.x(chosen.to));
  context.fillStyle = look.css.accent;
  context.fillRect(left, 23, Math.max(1, right - left), 3);
  const text = duration(chosen.to - chosen.from), width = context.measureText(text).width + 10;
  const x = Math.min(Math.max((left + right) / 2 - width / 2, 0), scene.width - width);
  context.fillRect(x, 0, width, 16);
  context.fillStyle = look.css.paper;
  context.fillText(text, x + 5, 12);
}

/** Half the size of a finding's mark, and where its middle is. */
export const MARK = { half: 6, y: 34 };

/**
 * A finding: triangle, diamond or disc where it is, and a line as long as it goes.
 * @param {Context} context
 * @param {Scene} scene
 * @param {import("./types").Finding} finding
 * @param {Look} look
 */
function mark(context, scene, finding, look) {
  if (finding.at_ns === null) return;
  const x = scene.x(finding.at_ns), end = scene.x(finding.to_ns ?? finding.at_ns), { half, y } = MARK;
  if (end < -half || x > scene.width + half) return;
  const at = Math.min(Math.max(x, half), scene.width - half);
  context.fillStyle = look.css[finding.severity] ?? look.css.note;
  context.globalAlpha = 0.45;
  context.fillRect(Math.max(0, x), y - 1, Math.max(0, Math.min(end, scene.width) - Math.max(0, x)), 2);
  context.globalAlpha = 1;
  context.beginPath();
  if (finding.severity === "severe") {
    context.moveTo(at, y - half);
    context.lineTo(at + half, y + half - 1);
    context.lineTo(at - half, y + half - 1);
  } else if (finding.severity === "warning") {
    context.moveTo(at, y - half);
    context.lineTo(at + half, y);
    context.lineTo(at, y + half);
    context.lineTo(at - half, y);
  } else {
    context.arc(at, y, half - 1, 0, 7);
  }
  context.fill();
}

/** Colours of a plot's lines, for its names. @param {number} index */
export function seriesOf(index) {
  return SERIES[index % SERIES.length];
}
