// Figures: the same words as the reports'.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as units from "../app/units.js";

const table = JSON.parse(readFileSync(new URL("units.json", import.meta.url), "utf8"));

for (const [name, rows] of Object.entries(table)) {
  test(`${name} matches the reports`, () => {
    for (const [value, text] of rows) assert.equal(units[name](value), text, `${name}(${value})`);
  });
}

test("what is not known is a dash", () => {
  assert.equal(units.duration(null), "-");
  assert.equal(units.percent(NaN), "-");
  assert.equal(units.quantity(NaN, "bytes"), "-");
});

test("values have the unit of their track", () => {
  assert.equal(units.quantity(1536, "bytes"), "1.5 KiB");
  assert.equal(units.quantity(2 ** 30, "bytes/s"), "1.0 GiB/s");
  assert.equal(units.quantity(71_600_000, "ns"), "71.6 ms");
  assert.equal(units.quantity(12345, null), "12,345");
  assert.equal(units.quantity(1234.5, "1/s"), "1,235 1/s");
  assert.equal(units.quantity(-2.5, null), "-2.50");
});
