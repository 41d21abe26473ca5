import assert from "node:assert/strict";
import { test } from "node:test";
import { moment } from "../../../../web/format";
import { logTicks, valueAt } from "../../../../web/bench";
import { barsHeight, firstFrom, laneName } from "./axis";
import { sums } from "./request";

test("the first from a bound on", () => {
  const ends = [10, 20, 20, 40];
  assert.deepEqual([0, 10, 11, 20, 21, 40, 41].map((v) => firstFrom(ends, v)), [0, 0, 1, 1, 3, 3, 4]);
  assert.equal(firstFrom([], 5), 0);
});

test("lanes are named by what tells them apart", () => {
  assert.deepEqual(
    [["", -1], ["", 3], ["decode-0", -1], ["decode-0", 12]].map(([server, dp_rank]) => laneName({ server, dp_rank } as { server: string; dp_rank: number })),
    ["steps", "DP03", "decode-0", "decode-0 DP12"],
  );
});

test("bars are as high as they can be seen, and no higher than a window takes", () => {
  assert.deepEqual([0, 1, 8, 40, 4000].map(barsHeight), [40, 40, 72, 360, 360]);
});

test("a wait comes to queue, prefill, wait and what else there is, in this order", () => {
  const part = (of: string, ns: number) => ({ name: of, of, ns, more: "" }) as Parameters<typeof sums>[0][number];
  assert.deepEqual(
    sums([part("unknown", 1), part("wait", 5), part("queue", 10), part("reply", 2), part("wait", 7), part("queue", 3)]),
    [{ of: "queue", ns: 13 }, { of: "wait", ns: 12 }, { of: "reply", ns: 2 }, { of: "unknown", ns: 1 }],
  );
  assert.deepEqual(sums([]), []);
});

test("moments are told from their neighbours", () => {
  assert.deepEqual(
    ([[0, 1e9], [2e9, 1e9], [2_150_000_000, 50e6], [2_150_500_000, 500_000], [150e6, 50e6], [1_250_000, 250_000], [999, 1], [-2e9, 1e9]] as [number, number][]).map(([ns, step]) => moment(ns, step)),
    ["0", "2 s", "2.15 s", "2.1505 s", "150 ms", "1.3 ms", "999 ns", "-2 s"],
  );
});

test("values of shares", () => {
  const s = { name: "ttft", title: "", note: "", n: 3, shares: [0, 0.5, 0.9, 1], values: [1, 2, 3, 10], limit: 0 };
  assert.deepEqual([0, 0.3, 0.5, 0.95, 1].map((p) => valueAt(s, p)), [1, 2, 2, 10, 10]);
});

test("ticks of a logarithmic scale are few and round", () => {
  assert.deepEqual(logTicks(4e6, 9e7), [5e6, 1e7, 2e7, 5e7]);
  assert.deepEqual(logTicks(1e3, 1e9), [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]);
});
