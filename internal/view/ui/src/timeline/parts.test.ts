import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundStep, read } from "./address";
import { bandsOf, ghostsOf, inSight, overall, stretches } from "./ghosts";
import { cellsOf, medianRank, reduced } from "./heat";
import { between, layout, turned } from "./layout";
import { contrast, luminance, readable } from "./palette";
import { laneHeight, lanesOf, momentText, Ruler, stepAtTime, stepsIn } from "./ruler";
import { compose } from "./tiles";
import { decode, type Head, type Row } from "./wire";

const row = (rank: number, role: string, pinned: boolean, lane: number, lanes: number): Row =>
  ({ rank, role, name: role, pinned, lane, lanes, deeper: 0, spans: 1, classes: [1] });

const head: Head = {
  epoch: 7, from_ns: -50, to_ns: 4000, window_ns: [0, 4000] as [number, number], ranks: ["TP00", "TP01"], classes: [], names: 0, block: 256, measures: [], measure: "work", stretch: true, levels: [], columns: false, counters: 0, collectives: false, summed: 0,
  replicas: [], groupings: [], late_ns: [0, 0], blamed: [], findings: [],
  rows: [row(0, "compute", true, 0, 2), row(0, "launches", true, 2, 9), row(0, "stream", false, 11, 1), row(1, "compute", true, 12, 1), row(1, "launches", true, 13, 3)],
  steps: [
    { kind: "prefill", name: "a", start_ns: 0, end_ns: 1000, slow: false }, { kind: "decode", name: "b", start_ns: 0, end_ns: 0, slow: false },
    { kind: "decode", name: "c", start_ns: 1000, end_ns: 2000, slow: true }, { kind: "decode", name: "d", start_ns: 1900, end_ns: 3000, slow: false },
  ],
};

test("tiles that are missing are asked for in few words, and no more than may be", () => {
  const needs = [{ lane: 3, from: -1, to: 4 }, { lane: 4, from: -1, to: 4 }, { lane: 6, from: -1, to: 4 }, { lane: 7, from: 2, to: 4 }];
  assert.equal(compose(needs, () => false, 448), "3-4@-1_4;6-6@-1_4;7-7@2_4");
  assert.equal(compose(needs, (_, index) => index < 2, 448), "3-4@2_4;6-7@2_4");
  assert.equal(compose(needs, (lane) => lane !== 6, 448), "6-6@-1_4");
  assert.equal(compose(needs, () => true, 448), "");
  assert.equal(compose(needs, () => false, 8), "3-3@-1_4;4-4@-1_0");
});

test("ghosts of steps begin where the step before ended", () => {
  const lengths = [
    { ranks: [0, 1], steps: [1, 2], was: [100, 200], would: [100, 150], end_ns: [1100, 1300] },
    { ranks: [3], steps: [1], was: [300], would: [320], end_ns: [1250] },
  ];
  const all = ghostsOf(lengths), shown = all.map((g) => [g.step, g.from, g.end, g.would]);
  assert.deepEqual(shown, [[1, 1000, 1100, 1100], [1, 950, 1250, 1270], [2, 1100, 1300, 1250]]);
  assert.deepEqual(overall(all).map((g) => [g.step, g.from, g.end, g.would]), [[1, 950, 1250, 1270], [2, 1100, 1300, 1250]]);
  assert.deepEqual(inSight(all, { t0: 1255, t1: 1290 }).map((g) => g.would), [1270, 1250]);
  const group = (rank: number, y: number) => ({ rank, y, height: 10, rows: [], folded: 0, open: false, line: false, pinned: false, inside: false });
  const groups = [group(0, 0), group(1, 10), group(2, 20), group(3, 30)];
  assert.deepEqual(stretches(groups, new Set([0, 1, 3])), [[0, 20], [30, 40]]);
  assert.deepEqual(bandsOf(all, groups, 10, 8), [{ would: 1270, end: 1250, top: 30, bottom: 40 }, { would: 1250, end: 1300, top: 0, bottom: 20 }]);
  assert.deepEqual(bandsOf(all, groups, 10, 1), []);
});

test("tiles are read where they lie", () => {
  const body = 1536 + 2 * 18 + 4, b = new ArrayBuffer(32 + 32 + body), v = new DataView(b);
  v.setUint32(0, 0x5353544c); // "SSTL"
  v.setUint16(4, 1, true);
  v.setUint32(8, 7, true);
  v.setUint32(12, 2, true);
  v.setUint32(32, 5, true); // an empty tile
  v.setInt32(36, -3, true);
  v.setUint32(48, 6, true);
  v.setInt32(52, 9, true);
  v.setUint32(56, 64, true);
  v.setUint32(60, 2, true);
  v.setUint8(64 + 10, 4); // class, covered and waited of column 10
  v.setUint8(64 + 512 + 10, 200);
  v.setUint8(64 + 1024 + 10, 100);
  const words = [100, 300, 50, 60, 11, 12, 70, 80];
  words.forEach((w, i) => v.setUint32(64 + 1536 + 4 * i, w, true));
  [4, 5, 1, 2].forEach((w, i) => v.setUint8(64 + 1536 + 32 + i, w));
  const [empty, tile] = decode(b, 7);
  assert.equal(empty.strip, null);
  assert.deepEqual([empty.lane, empty.index, tile.lane, tile.index], [5, -3, 6, 9]);
  assert.deepEqual([tile.strip!.class[10], tile.strip!.covered[10], tile.strip!.waited[10]], [4, 200, 100]);
  assert.deepEqual([...tile.start, ...tile.width, ...tile.span, ...tile.name], words);
  assert.deepEqual([...tile.class, ...tile.flags], [4, 5, 1, 2]);
  assert.throws(() => decode(b, 8), /another capture/);
  assert.throws(() => decode(new ArrayBuffer(8), 7), /not tiles/);
});

test("rows that matter are shown, and others when they are unfolded", () => {
  const shown = (open: string[], only: number[] = []) => layout(head, new Set(open), only).lanes.map((l) => l.lane).join();
  assert.equal(shown([]), "0,1,2,3,4,5,6,7,12,13,14,15");
  assert.equal(shown(["1"]), "0,1,2,3,4,5,6,7,8,9,10,12,13,14,15");
  assert.equal(shown(["r0"]), "0,1,2,3,4,5,6,7,11,12,13,14,15");
  assert.equal(shown([], [1]), "12,13,14,15");
  const all = layout(head, new Set(), []);
  assert.deepEqual([all.groups[0].folded, all.groups[1].folded], [1, 0]);
  for (let i = 1; i < all.lanes.length; i++) assert.ok(all.lanes[i].y >= all.lanes[i - 1].y + all.lanes[i - 1].height, "lanes lie on each other");
  for (const [from, to] of [[0, 40], [17, 18], [60, 200], [1000, 2000]]) {
    assert.deepEqual(between(all.lanes, from, to), all.lanes.filter((l) => l.y + l.height > from && l.y < to));
  }
  assert.deepEqual([...turned(turned(new Set(["r0"]), "5"), "r0")], ["5"]);
});

test("an address says what is shown, and one that makes no sense shows all", () => {
  assert.deepEqual(read({ t0: "100", t1: "900" }, head).view, { t0: 100, t1: 900 });
  assert.deepEqual(read({ step: "2" }, head).view, aroundStep(head, 2, 2));
  const whole = read({}, head).view;
  for (const p of [{ t0: "900", t1: "100" }, { t0: "x", t1: "5" }, { step: "99" }, { step: "1" }] as Record<string, string>[]) assert.deepEqual(read(p, head).view, whole);
  assert.deepEqual(read({ only: "1,7,x,1", open: "r1,3,<b>", rank: "9", sel: "4" }, head).only, [1]);
  assert.deepEqual([...read({ open: "r1,3,<b>" }, head).open], ["r1", "3"]);
  assert.equal(read({ rank: "9", sel: "4" }, head).sel, -1);
  assert.equal(read({ align: "step" }, head).by, "wall");
  assert.equal(read({ align: "step", step: "2" }, head).by, "step");
  assert.equal(read({ align: "<script>" }, head).by, "wall");
});

test("steps are found by time; those that nobody has are none", () => {
  assert.deepEqual(stepsIn(head.steps, { t0: 1500, t1: 1950 }), [2, 4]);
  assert.deepEqual([stepAtTime(head.steps, 500), stepAtTime(head.steps, 1500), stepAtTime(head.steps, 1950), stepAtTime(head.steps, 9999)], [0, 2, 3, -1]);
});

test("replicas that do not step together have lanes of their own", () => {
  const own = [{ name: "DP00", ranks: [0], steps: head.steps.slice(0, 1) }, { name: "DP01", ranks: [1], steps: head.steps }];
  const names = (of: typeof head, only: number[]) => lanesOf(of, only).lanes.map((l) => l.name).join();
  assert.deepEqual([names(head, []), names({ ...head, steps: [] }, []), names({ ...head, replicas: own }, []), names({ ...head, replicas: own }, [1])], ["", "", "DP00,DP01", "DP01"]);
  const many = lanesOf({ ...head, replicas: Array.from({ length: 40 }, (_, i) => ({ name: String(i), ranks: [i], steps: [] })) }, []);
  assert.deepEqual([many.lanes.length, many.left], [16, 24]);
  const above = { view: { t0: 0, t1: 2000 }, width: 200, wall: true, lanes: lanesOf({ ...head, replicas: own }, []).lanes } as unknown as Parameters<typeof Ruler.stepAt>[0];
  const at = (x: number, lane: number) => Ruler.stepAt(above, x, 18 + (lane + 0.5) * laneHeight(2));
  assert.deepEqual([at(50, 0)?.step, at(150, 0), at(150, 1)?.step, at(150, 1)?.lane.name, at(150, 2)], [0, null, 2, "DP01", null]);
});

test("moments have the digits that their ticks need", () => {
  for (const [ns, step, text] of [
    [0, 1e8, "0 ms"], [2.5e8, 5e7, "250 ms"], [391_600_000, 200_000, "391.6 ms"], [391_600_250, 50, "391.60025 ms"], [1_500_000_000, 5e8, "1.5 s"], [1500, 500, "1.5 µs"], [-20, 20, "-20 ns"],
  ] as [number, number, string][]) assert.equal(momentText(ns, step), text);
});

test("a map with fewer cells keeps what is furthest from the median, late twice as much as early", () => {
  const cells = Float64Array.from([1, -5, 2, NaN, 0, 3, 4, -9]); // 2 ranks, 4 steps
  assert.deepEqual([...reduced(cells, [[0], [1]], 4, 2, 2)], [-5, 2, 3, -9]);
  assert.deepEqual([...reduced(cells, [[0], [1]], 4, 1, 2)], [3, -9]);
  assert.deepEqual([...reduced(cells, [[0], [1]], 4, 2, 4)], [...cells]);
  assert.equal(medianRank(Float64Array.from([5, 1, 9, 3]), 4, 1, 0), 3);
  assert.equal(medianRank(Float64Array.from([NaN, NaN]), 2, 1, 0), -1);
});

test("cells of what is compared are beyond the median rank, and little stays pale", () => {
  const answer = Float64Array.from([100, 100, 101, 100, 100, 400, 100, 100, 101]).buffer; // 2 ranks, 3 steps, medians
  const of = (beyond: boolean) => cellsOf(answer, { id: "work", title: "", unit: "ns", beyond, floor: 100 }, 2, 3);
  assert.deepEqual([...of(true).shown], [0, 0, 0, 0, 0, 299]);
  assert.deepEqual([...of(false).shown], [100, 100, 101, 100, 100, 400]);
  assert.ok(of(true).limit >= 10);
});

test("text on each colour can be read", () => {
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 2147483647) % 256;
  for (let i = 0; i < 3000; i++) {
    const c = readable([next(), next(), next()]);
    const best = Math.max(contrast(c, [255, 255, 255]), contrast(c, [17, 17, 17]));
    assert.ok(best >= 4.5, `${c.join()} has ${best}`);
  }
  assert.equal(luminance([255, 255, 255]), 1);
});
