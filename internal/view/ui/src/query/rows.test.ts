import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, csv, placeOf } from "./rows";

test("rows lead to spans by rank and start", () => {
  assert.deepEqual(placeOf(["name", "rank", "start_ns"]), { rank: 1, start: 2, dur: -1 });
  assert.deepEqual(placeOf(["rank", "start_ns", "dur_ns"]), { rank: 0, start: 1, dur: 2 });
  assert.equal(placeOf(["rank", "dur_ns"]), null);
});

test("CSV quotes what needs it", () => {
  assert.equal(csv(["a", "b"], [['x,"y"', null], ["1763750000000000001", 2.5]]), 'a,b\r\n"x,""y""",\r\n1763750000000000001,2.5\r\n');
});

test("cells", () => {
  assert.deepEqual([null, 5, 0.123456789, "x"].map(cell), ["", "5", "0.123457", "x"]);
});
