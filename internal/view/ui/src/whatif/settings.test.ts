import assert from "node:assert/strict";
import { test } from "node:test";
import { about, list, put, read, worded, write } from "./settings";

test("settings come back from an address as they were", () => {
  for (const settings of [[], ["host=0"], ["TP02.host=peers", "class:attention=0.8"], ["kernel:a|b=c%d=0.5", "kernel:%7C=2"]]) {
    const map = new Map(settings.map((s) => [s.slice(0, s.lastIndexOf("=")), s.slice(s.lastIndexOf("=") + 1)]));
    assert.deepEqual(list(read(write(map) ?? undefined)), settings);
  }
  assert.deepEqual([...read("nonsense|=1||x=")], [["x", ""]]);
});

test("what is set to as it was is not set", () => {
  const some = put(put(read(undefined), about("TP01", "host"), "0.5"), about("", "gap"), "0");
  assert.equal(write(some), "TP01.host=0.5|gap=0");
  assert.equal(write(put(some, "gap", "1")), "TP01.host=0.5");
  assert.deepEqual(["peers", "0", "1", "0.80"].map(worded), ["like its peers", "removed", "unchanged", "× 0.8"]);
});
