import assert from "node:assert/strict";
import { test } from "node:test";
import { boxes, branching, changed, type Flame, path, walk } from "./layout";

//  all 100 ─ main 100 ┬ attn 60 ┬ softmax 40 (kernel)
//                     │         └ gemm 20    (kernel)
//                     └ mlp 30  ─ gemm 30    (kernel)
const flame: Flame = {
  names: ["", "main", "attn", "mlp", "softmax", "gemm"], full: ["", "", "", "", "", ""], class: ["", "", "", "", "attention", "gemm"],
  parent: [-1, 0, 1, 1, 2, 2, 3], name: [0, 1, 2, 3, 4, 5, 5], kernel: [false, false, false, false, true, true, true],
  total: [100, 100, 60, 30, 40, 20, 30], count: [3, 3, 2, 1, 1, 1, 1], steps: 1, other: [], other_steps: 0, left_out: 0,
};

test("boxes lie inside their parents, side by side", () => {
  const t = walk(flame), all = boxes(flame, t, 0, 0);
  const at = Object.fromEntries(all.map((b) => [b.node, [b.depth, b.x, Math.round(b.w * 1000) / 1000]]));
  assert.deepEqual(at, { 0: [0, 0, 1], 1: [1, 0, 1], 2: [2, 0, 0.6], 3: [2, 0.6, 0.3], 4: [3, 0, 0.4], 5: [3, 0.4, 0.2], 6: [3, 0.6, 0.3] });
  assert.deepEqual(boxes(flame, t, 3, 0).map((b) => [b.node, b.x, b.w]), [[3, 0, 1], [6, 0, 1]]);
  assert.deepEqual(boxes(flame, t, 0, 0.35).map((b) => b.node).sort(), [0, 1, 2, 4]);
});

test("what all have in common is one line", () => {
  assert.equal(branching(flame, walk(flame)), 1);
  assert.deepEqual(path(flame, 5), [1, 2, 5]);
});

test("of two captures the larger has its width, and children fit", () => {
  const both: Flame = { ...flame, steps: 2, other: [60, 60, 10, 50, 10, 0, 50], other_steps: 1 };
  const t = walk(both);
  assert.deepEqual([...t.weight], [80, 80, 30, 50, 20, 10, 50]); // attn 30 and mlp 50 need more than either capture has
  for (const b of boxes(both, t, 0, 0)) assert.ok(b.x + b.w <= 1 + 1e-9, String(b.node));
  assert.deepEqual([2, 3, 5].map((n) => changed(both, n)), [(30 - 10) / 30, (15 - 50) / 50, 1]);
});
