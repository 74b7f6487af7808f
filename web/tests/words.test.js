// Search, words, steps from span to span, the lanes of a waterfall.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean } from "../app/dom.js";
import { Frames } from "../app/frames.js";
import * as hit from "../app/hit.js";
import { hits } from "../app/search.js";
import { State } from "../app/state.js";
import * as describe from "../app/describe.js";
import { chosenLanes, LANES_MAX, words } from "../app/waterfall.js";
import { tileOf } from "./records.js";

const track = (id, name, form = "spans") => ({ id, name, form, unit: null, top: 3 });
const session = {
  schema: "rtscope/view/1", title: "x", from_ns: 1000, span_ns: 10_000_000, clock: "c", runtime: null, lane: "capability",
  kinds: [{ id: 1, name: "program", role: "program" }, { id: 12, name: "wants a CPU", role: "wants-a-cpu" }],
  groups: [
    { name: "Pauses", sub: null, tracks: [track(0, "pauses"), track(1, "RSS", "values")] },
    { name: "capability 0", sub: "thread 41", tracks: [track(10, "lane"), track(11, "thread 41")] },
  ],
  details: ["", "rustc"], gaps: [], missing: [],
  findings: [{ id: "cpu-throttled", severity: "severe", claim: "The quota ran out.", seen: [], changes: [], at_ns: 5, to_ns: 9, track: null }],
  causes: [{ id: "preempted", words: "preempted by another process", with_who: "preempted by {who}", role: "wants-a-cpu" }, { id: "running", words: "on a CPU", with_who: "on a CPU ({who} was there)", role: "running" }],
};

test("a search finds times, pauses, lanes, findings, kinds and names", () => {
  const state = new State(session), asked = [];
  const acts = { occurrences: async (wanted) => { asked.push(wanted); }, pause: async (id) => { asked.push(id); } };
  const what = (text) => hits(state, text, acts).map((one) => one.what);
  assert.deepEqual(what("3 ms"), ["time"]);
  assert.deepEqual(what("pause 12"), ["pause"]);
  assert.deepEqual(what("CAPABILITY"), ["row"]);
  assert.deepEqual(what("throttled"), ["finding"]);
  assert.deepEqual(what("wants"), ["spans"]);
  assert.deepEqual(what("rust"), ["name"]);
  assert.deepEqual(what("  "), []);
  assert.deepEqual(what("nowhere"), []);
  hits(state, "rustc", acts)[0].go();
  hits(state, "#12", acts)[0].go();
  assert.deepEqual(asked, [{ detail: 1 }, 12]);
  hits(state, "7 ms", acts)[0].go();
  assert.ok(state.view.from < 7e6 && state.view.to > 7e6 && state.view.to - state.view.from <= 1e6 + 1);
});

const piece = (cause, from, to, lane = 0, who = null) => ({ cause, who, who_pid: null, code: null, neighbour: false, lane, tid: null, from_ns: from, to_ns: to, confidence: "high" });
const lane = (id, arrived, left = 100) => ({ lane: id, tid: null, arrived_ns: arrived, work_begin_ns: 60, work_end_ns: 80, work_ns: 20, left_ns: left });
const pause = {
  id: 7, kind: "major", mode: "parallel", generation: 1, leader: 1, requested_ns: 0, stopped_ns: 60, collected_ns: 90, released_ns: 100,
  release_basis: "back-at-work", straggler: 0, quality: "whole", copied_bytes: 5, gc_threads: 2,
  held_up_by: { lane: 0, tid: null, cause: "preempted", who: "rustc", code: null, ns: 40 },
  lanes: [lane(0, 60), lane(1, 10)], causes: [piece("running", 0, 10), piece("preempted", 10, 50, 0, "rustc"), piece("running", 50, 60)],
};

test("a pause is described with the cause that cost most", () => {
  assert.equal(describe.lengthOf(pause), 100);
  assert.deepEqual(describe.heldUp(session, pause), { lane: "capability 0", why: "preempted by rustc", ns: 40 });
  assert.equal(describe.heldUp(session, { ...pause, held_up_by: null }), null);
  assert.equal(words(session, pause), "Pause 7, a major collection of 100 ns; 60 ns until all had stopped; 30 ns collecting; 10 ns until all ran again; held up by capability 0 for 40 ns: preempted by rustc.");
  assert.equal(describe.cause(session, piece("never-heard-of", 0, 1)), "never-heard-of");
});

test("of many lanes the decisive ones are drawn, in their order", () => {
  const lanes = Array.from({ length: 512 }, (_, id) => lane(id, id % 50, id === 300 ? 999 : 100));
  const chosen = chosenLanes({ ...pause, lanes, straggler: 411, leader: 3, causes: [piece("running", 0, 9, 77)] }).map((one) => one.lane);
  assert.equal(chosen.length, LANES_MAX);
  for (const id of [411, 3, 300, 77]) assert.ok(chosen.includes(id), `${id} in ${chosen}`);
  assert.deepEqual(chosen, [...chosen].sort((a, b) => a - b));
});

test("a cause is drawn as in the session", () => {
  assert.deepEqual(["preempted", "running", "of a later version"].map((id) => describe.causeRole(session, id)), ["wants-a-cpu", "running", "unknown"]);
});

/** As much of a scene as a search for spans takes. */
function sceneOf(items) {
  const state = new State(session);
  return { state, width: 1000, pieces: () => [{ data: tileOf(items.slice(0, 2)), from: 0, to: 50 }, { data: tileOf(items.slice(1)), from: 50, to: 1e9 }], at: (x) => x };
}

test("steps go from span to span, also where tiles meet", () => {
  const scene = sceneOf([[0, 40, 1, 1], [40, 60, 1, 12, 1], [60, 90, 1, 1]]), row = scene.state.rows[0];
  let spot = hit.step(scene, row, null, -1, 1);
  const seen = [];
  while (spot) {
    seen.push(spot.from);
    spot = hit.step(scene, row, spot, 0, 1);
  }
  assert.deepEqual(seen, [0, 40, 60]);
  spot = hit.step(scene, row, null, 1000, -1);
  assert.equal(spot.from, 60);
  assert.equal(hit.step(scene, row, spot, 0, -1).from, 40);
  const text = describe.spot(scene.state, hit.spotIn(scene, row, 45, 1));
  assert.equal(text.title, "wants a CPU");
  assert.ok(text.lines.includes("rustc has it") && text.lines.includes("20 ns"));
});

test("a state keeps to the session and reports changes", () => {
  const state = new State(session), changes = [];
  state.listen((change) => changes.push(change));
  state.show({ from: 1e6, to: 2e6 });
  state.show({ from: 1e6, to: 2e6 });
  state.select({ from: 5e6, to: 1e6 });
  assert.deepEqual(state.selection, { from: 1e6, to: 5e6 });
  state.close([1], true);
  state.inspect(4);
  assert.deepEqual(changes, ["view", "selection", "rows", "pause"]);
  assert.equal(state.trackName(11), "capability 0, thread 41");
  assert.equal(state.trackName(99), "track 99");
  assert.equal(state.kind(0xffff).name, "several others");
});

test("what acts instead of showing is spelled out", () => {
  assert.equal(clean("a\u202eb\u001b[31m\nc"), "a\\u{202e}b\\u{1b}[31m c");
});

test("frames are counted while something moves", () => {
  const frames = new Frames();
  [100, 116, 132, 148, 1100].forEach((at, index) => frames.add(at, at + 4, index > 0 && index < 4));
  const read = frames.read();
  assert.deepEqual([read.frames, read.between.middle, read.drawing.p95], [3, 16, 4]);
});

test("a label is whole words or nothing", () => {
  const throttled = "throttled: the CPU quota was used up";
  assert.equal(describe.fitting(throttled, 40), throttled);
  assert.equal(describe.fitting(throttled, 12), "throttled");
  assert.equal(describe.fitting("preempted by make (pid 7), and others", 20), "preempted by make");
  assert.equal(describe.fitting(throttled, 8), "");
});
