import assert from "node:assert/strict";
import { test } from "node:test";
import { change, elsewhere, format, parse, whole } from "./state";

test("one state has one address", () => {
  for (const [hash, same] of [
    ["", "#"],
    ["#", "#"],
    ["#rank=2&tab=timeline&align=step", "#tab=timeline&align=step&rank=2"],
    ["#q=a%26b%3D%23+%C2%B5", "#q=a%26b%3D%23+%C2%B5"],
    ["#tab=&=x&rank", "#"],
    ["#__proto__=1&constructor=2", "#__proto__=1&constructor=2"],
  ]) {
    assert.equal(format(parse(hash)), same);
    assert.equal(format(parse(same)), same);
  }
});

test("changes set and take away", () => {
  const from = parse("#tab=kernels&sort=-total&q=gemm");
  assert.equal(format(change(from, { sort: "name", q: null, t0: 12.6 })), "#tab=kernels&sort=name&t0=13");
  assert.equal(format(from), "#tab=kernels&q=gemm&sort=-total");
  assert.equal(format(elsewhere(change(from, { theme: "dark", c: "0" }), { tab: "timeline", step: 7 })), "#tab=timeline&c=0&step=7&theme=dark");
});

test("numbers are whole, or what is said", () => {
  const p = parse("#t0=123456789012&t1=-5&step=1e9&rank=2.5&row=x&sel=9999999999999999");
  assert.deepEqual(["t0", "t1", "step", "rank", "row", "sel", "q"].map((name) => whole(p, name, -1)), [123456789012, -5, -1, -1, -1, -1, -1]);
});
