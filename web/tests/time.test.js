// The axis and moments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { axis, moment, momentIn, parse, roundStep } from "../app/time.js";

const SECOND = 1e9;

test("steps are round and long enough", () => {
  for (let least = 1; least < 1e15; least *= 1.7) {
    const step = roundStep(least);
    assert.ok(step >= least * 0.999 && step <= Math.max(least * 10.1, 10), `${least}: ${step}`);
  }
  assert.equal(roundStep(30), 50);
  assert.equal(roundStep(0.7 * SECOND), SECOND);
  assert.equal(roundStep(40 * SECOND), 60 * SECOND);
  assert.equal(roundStep(5 * 3600 * SECOND), 6 * 3600 * SECOND);
});

test("moments never round to a second that is not there", () => {
  assert.equal(moment(3.25 * SECOND, 3), "3.250 s");
  assert.equal(moment(59.996 * SECOND, 2), "1:00.00");
  assert.equal(moment(725.5 * SECOND, 1), "12:05.5");
  assert.equal(moment(3 * 3600 * SECOND + 62 * SECOND, 0), "3:01:02");
  assert.equal(moment(2 * 86400 * SECOND + 3661 * SECOND, 0), "2 d 01:01:01");
  assert.equal(moment(0.02 * SECOND, 2, true), "20 ms");
  assert.equal(moment(20_500, 7, true), "20.5 us");
  assert.equal(momentIn(5_050_000, 70_000_000), "5.05 ms");
  assert.equal(momentIn(325_000_000, 3 * SECOND), "0.325 s");
});

test("an axis has labels that differ, in every window", () => {
  for (const span of [200, 5_000, 70_000_000, 3 * SECOND, 3600 * SECOND, 3 * 86400 * SECOND]) {
    for (const from of [0, span * 1000 > 2e15 ? 0 : span * 1000 + 37]) {
      const { ticks } = axis(from, from + span, 1200);
      const texts = ticks.map((tick) => tick.text).filter(Boolean);
      assert.ok(texts.length >= 3 && texts.length <= 14, `${span} from ${from}: ${texts.length}`);
      assert.equal(new Set(texts).size, texts.length, texts.join());
      assert.ok(ticks.every((tick) => tick.at >= from - 1e-6 && tick.at <= from + span));
    }
  }
});

test("far from the start labels count from a base", () => {
  const { ticks, base } = axis(12.3456 * SECOND, 12.3456 * SECOND + 40_000, 1000);
  assert.ok(base !== null);
  assert.ok(ticks.filter((tick) => tick.text).every((tick) => tick.text.startsWith("+")));
  assert.equal(axis(0, SECOND, 1000).base, null);
});

test("what people type is a moment", () => {
  for (const [text, ns] of [["3.25s", 3.25e9], [" 12 ms ", 12e6], ["250us", 250e3], ["1:02", 62e9], ["1:02:03.5", 3723.5e9], ["2 d 01:00:00", 176400e9], ["7 min", 420e9]]) {
    assert.equal(parse(text), ns, text);
  }
  for (const text of ["", "12", "rustc", "s", "1:2:3:4:5", "-3s", "3.s."]) assert.equal(parse(text), null, text);
});
