import assert from "node:assert/strict";
import { test } from "node:test";
import { before, draw, lanesOf, longest } from "./columns";
import { BEGINS_BEFORE, COLUMNS, ENDS_AFTER, MATCHED } from "./wire";

/** The bytes of one lane, as Go packs it: starts, durations, spans, names, classes, flags and waits. */
function packed(start: number[], dur: number[], span: number[], name: number[], of: number[], flags: number[], wait: number[]): ArrayBuffer {
  const uvarint = (v: number): number[] => (v < 128 ? [v] : [(v % 128) + 128, ...uvarint(Math.floor(v / 128))]);
  const varint = (v: number) => uvarint(v < 0 ? -2 * v - 1 : 2 * v);
  const gaps = start.map((s, i) => s - (i > 0 ? start[i - 1] + dur[i - 1] : 0)), steps = span.map((s, i) => s - (i > 0 ? span[i - 1] : 0));
  const lane = [...uvarint(start.length), 1, ...gaps.flatMap(varint), ...dur.flatMap(uvarint), ...steps.flatMap(varint), ...name.flatMap(uvarint), ...of, ...flags, ...wait.flatMap(uvarint)];
  const out = new Uint8Array([1, 0, 0, 0, lane.length % 256, Math.floor(lane.length / 256), 0, 0, ...lane]);
  return out.buffer;
}

// A span that begins before time 0, one that waits for half of it, a short one, and one that ends after the tile of level 2.
const [lane] = lanesOf(packed([-10, 100, 300, 2000], [40, 100, 2, 400], [7, 9, 8, 300], [1, 2, 3, 200], [5, 6, 7, 5], [0, MATCHED, 0, 0], [0, 50, 0, 0]));

test("columns come back as they were packed", () => {
  assert.deepEqual([...lane.start], [-10, 100, 300, 2000]);
  assert.deepEqual([...lane.end], [30, 200, 302, 2400]);
  assert.deepEqual([[...lane.span], [...lane.name], [...lane.class], [...lane.wait!]], [[7, 9, 8, 300], [1, 2, 3, 200], [5, 6, 7, 5], [0, 50, 0, 0]]);
  assert.deepEqual([before(lane, -10), before(lane, 100), before(lane, 101), before(lane, 9e9)], [0, 1, 2, 4]);
  assert.deepEqual([longest(lane, 0, 400), longest(lane, 250, 310), longest(lane, 400, 500)], [1, 2, -1]);
});

test("a tile has wide spans as pieces, and all in its strip", () => {
  const t = draw(lane, 3, 0, 2); // columns of 4 ns, from 0 to 2048
  assert.deepEqual([t.lane, t.index, t.pieces, t.whole], [3, 0, 3, false]);
  assert.deepEqual([[...t.start], [...t.width], [...t.span]], [[0, 100, 2000], [30, 100, 48], [7, 9, 300]]);
  assert.deepEqual([...t.flags], [BEGINS_BEFORE, MATCHED, ENDS_AFTER]);
  const { class: of, covered, waited } = t.strip!;
  assert.deepEqual([of[0], of[7], of[8], of[25], of[75], of[499], of[500], of[511]], [5, 5, 0, 6, 7, 0, 5, 5]);
  assert.deepEqual([covered[0], covered[7], covered[8], covered[75], covered[511]], [255, 128, 0, 128, 255]);
  assert.deepEqual([waited[24], waited[25], waited[36], waited[37], waited[38]], [0, 255, 255, 128, 0]);
  const next = draw(lane, 3, 1, 2), none = draw(lane, 3, 5, 2);
  assert.deepEqual([[...next.start], [...next.width], [...next.flags], next.whole], [[0], [352], [BEGINS_BEFORE], true]);
  assert.deepEqual([none.pieces, none.strip, none.whole], [0, null, true]);
  assert.equal(of.length, COLUMNS);
});

test("a coarse tile shows the longest span of a column", () => {
  const t = draw(lane, 0, 0, 12);
  assert.deepEqual([t.pieces, t.strip!.class[0], t.strip!.covered[0], t.strip!.class[1]], [0, 5, Math.ceil((532 * 255) / 4096), 0]);
});
