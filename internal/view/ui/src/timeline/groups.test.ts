import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange, type Item, listOf, listText, places, plain, usually } from "./groups";
import { layout, LINE, shownRows } from "./layout";
import type { Head } from "./wire";

const n = 200, ranks = Array.from({ length: n }, (_, i) => "TP" + String(i).padStart(2, "0"));
const head = {
  ranks, steps: Array.from({ length: 50 }, () => ({})), late_ns: ranks.map((_, i) => (i === 150 ? 900 : i === 7 ? 400 : 0)), blamed: [],
  groupings: [{ id: "node", groups: ["a", "b", "c"], of: ranks.map((_, i) => (i < 8 ? 0 : i < 100 ? 1 : 2)), lanes: [[1000, -1], [1001, 1002], [1003, -1]] }],
  rows: ranks.flatMap((_, rank) => ["compute", "launches"].map((role, k) => ({ rank, role, name: role, pinned: true, lane: 3 * rank + k, lanes: 1 + k, deeper: 0, spans: 1, classes: [] }))),
} as unknown as Head;

const text = (items: Item[]) => items.map((i) => ("group" in i ? i.name + (i.open ? "+" : "") : String(i.rank))).slice(0, 4).join(" ");

test("ranks are listed with pinned ones on top, the latest first, in groups that fold", () => {
  assert.equal(text(arrange(head, new Set(), [], plain)), "0 1 2 3");
  assert.equal(text(arrange(head, new Set(), [], { ...plain, late: true, pins: [5] })), "5 150 7 0");
  assert.equal(text(arrange(head, new Set(), [], { ...plain, by: "node" })), "a b c");
  assert.equal(text(arrange(head, new Set(["g0"]), [], { ...plain, by: "node", late: true })), "c a+ 7 0");
  assert.equal(text(arrange(head, new Set(), [9, 3], { ...plain, pins: [3, 4] })), "3 9");
  assert.deepEqual([usually(head, 8), usually(head, 9), usually(head, 200)], [{ compact: false, by: "" }, { compact: true, by: "" }, { compact: true, by: "node" }]);
});

test("lists of ranks come back from an address in their order", () => {
  for (const list of [[2, 0], [1, 2], [0, 1, 2, 3, 9], []]) assert.deepEqual(listOf(listText(list) ?? undefined, 10), list);
  assert.equal(listText([4, 5, 6, 7, 1]), "4-7,1");
  assert.deepEqual(listOf("3,x,3,8-99,-1", 10), [3, 8, 9]);
});

test("a text names ranks and a step, or something else", () => {
  assert.deepEqual(places("tp03, TP07 step 40", head), { ranks: [3, 7], step: 40 });
  assert.deepEqual(places("step 7", head), { ranks: [], step: 7 });
  for (const other of ["", "TP0", "gemm", "step 50", "step"]) assert.equal(places(other, head), null);
});

test("a rank in one line has 16 pixels; one that was opened or pinned has its rows", () => {
  const how = { ...plain, compact: true }, l = layout(head, new Set(), [], how);
  assert.deepEqual([l.height, l.lanes.length, l.groups[9].y], [n * LINE, n, 9 * LINE]);
  assert.ok(layout(head, new Set(["1"]), [], how).groups[0].rows.length === 2);
  assert.ok(!layout(head, new Set(), [], { ...how, pins: [4] }).groups[0].line);
  const grouped = layout(head, new Set(), [], { ...how, by: "node" });
  assert.deepEqual(grouped.lanes.map((x) => x.lane), [1000, 1001, 1002, 1003]);
  assert.equal(shownRows(head, grouped).length, n);
});
