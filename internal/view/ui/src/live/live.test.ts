import assert from "node:assert/strict";
import { test } from "node:test";
import { History, p99, type Rank, type Sample, stalls, sum, uneven } from "./data";
import { strokes } from "./spark";

const rank = (dp: number, running: number | null): Rank => ({ dp, running, queued: 0, tokens: null, prefill: null, usage: 0.25 });
const sample = (server: number, at_ms: number, ...ranks: Rank[]): Sample => ({ server, at_ms, error: "", restarted: false, ranks, tokens: null, ttft: null, itl: null });

test("what is not known is left out of sums", () => {
  assert.equal(sum([1, null, 2]), 3);
  assert.equal(sum([null]), null);
  assert.equal(sum([]), null);
});

test("the 99th percentile is known as a bucket", () => {
  const at = (p99_from_ns: number, p99_to_ns: number | null) => p99({ n: 10, mean_ns: 6.5e6, p99_from_ns, p99_to_ns });
  assert.equal(at(0, 1e8), "under 100 ms");
  assert.equal(at(1e8, 2e8), "100 ms to 200 ms");
  assert.equal(at(4e8, null), "over 400 ms");
});

test("a server that is stopped at times answers at once or very late", () => {
  const of = (late: (i: number) => number) => Array.from({ length: 60 }, (_, i) => late(i) * 1e6);
  assert.ok(/^answers in stalls: \d+ of the last 60 replies took up to 5\d\.\d ms, the others about 2\.00 ms/.test(stalls(of((i) => (i % 5 < 3 ? 5 + (i * 7) % 55 : 2)))));
  assert.equal(stalls(of(() => 3)), "");
  assert.equal(stalls(of((i) => 40 + (i % 7))), ""); // slow, but always
  assert.equal(stalls(of((i) => (i % 20 === 0 ? 200 : 2))), "");
  assert.equal(stalls([2e6, 50e6]), "");
});

test("history keeps ten minutes, and the ranks that it saw", () => {
  const h = new History(2);
  for (let i = 0; i <= 700; i++) h.add(sample(0, i * 1000, rank(0, i), rank(1, 1)));
  h.add(sample(1, 700_000, rank(0, 5)));
  h.add(sample(7, 0, rank(0, 5))); // of no server that is known
  const line = h.line(0, 0, "running");
  assert.deepEqual([line.at[0], line.at.at(-1), line.values.at(-1), line.at.length], [100_000, 700_000, 700, 601]);
  assert.deepEqual([h.ranks(0), h.ranks(1), h.top("running"), h.top("tokens")], [[0, 1], [0], 700, 0]);
  assert.equal(h.span(700_000), 600_000);
  assert.equal(new History(1).span(5), 60_000);
});

test("a total is of servers that all tell it", () => {
  const h = new History(2);
  h.add(sample(0, 1000, rank(0, 1), rank(1, 2)));
  h.add(sample(1, 1500, rank(0, 10)));
  h.add({ ...sample(1, 2500), error: "gone" });
  h.add(sample(0, 3000, rank(0, 4)));
  h.add(sample(1, 3500, rank(0, 20)));
  assert.deepEqual(h.total("running"), { at: [1000, 1500, 2500, 3000, 3500], values: [3, 13, null, null, 24] });
});

test("how uneven ranks are is known of two that have something", () => {
  assert.equal(uneven([8, 24, 8, 8]), 2);
  assert.equal(uneven([8, null, 24]), 1.5);
  assert.deepEqual([uneven([8]), uneven([0, 0]), uneven([null, null])], [null, null, null]);
  const h = new History(1);
  h.add(sample(0, 1000, rank(0, 1), rank(1, 3)));
  h.add({ ...sample(0, 2000), error: "gone" });
  assert.deepEqual(h.imbalance(0), { at: [1000, 2000], values: [1.5, null] });
});

test("a line ends where nothing is known, and at the left edge", () => {
  const line = { at: [0, 50, 60, 70, 80, 100], values: [9, 0, 5, null, 10, 20] };
  const drawn = strokes(line, 10, { now: 100, span: 50 }, 100, 20).map((stroke) => stroke.map((p) => p.map(Math.round)));
  assert.deepEqual(drawn, [[[0, 20], [20, 10]], [[60, 0], [100, 0]]]);
  assert.deepEqual(strokes({ at: [], values: [] }, 0, { now: 0, span: 1 }, 100, 20), []);
});
