import assert from "node:assert/strict";
import { test } from "node:test";
import { bounded, framed, levelOf, panned, ticksOf, tilesOf, zoomed } from "./scale";

const all = { t0: -1000, t1: 10_000_000 };

test("columns are one to two pixels wide, and a view has seven tiles at most on a large screen", () => {
  for (let length = 50; length < 1e13; length *= 1.37) {
    for (const pixels of [500, 1080, 2360, 3500]) {
      const view = { t0: 12345, t1: 12345 + length }, level = levelOf(view, pixels);
      const wide = (2 ** level * pixels) / length;
      assert.ok(level === 0 ? wide >= 1 : wide >= 0.999999 && wide < 2.000001, `${length} ns on ${pixels} pixels: columns of ${wide}`);
      const [from, to] = tilesOf(view, level);
      assert.ok(from * 512 * 2 ** level <= view.t0 && (to + 1) * 512 * 2 ** level >= view.t1);
      assert.ok(to - from + 1 <= (pixels <= 2360 ? 6 : 8), `${to - from + 1} tiles on ${pixels} pixels`);
    }
  }
});

test("zooming keeps the moment under the pointer, and there and back is where it was", () => {
  const view = { t0: 100_000, t1: 900_000 };
  const near = zoomed(view, 300_000, 0.5, all);
  assert.deepEqual(near, { t0: 200_000, t1: 600_000 });
  assert.deepEqual(zoomed(near, 300_000, 2, all), view);
});

test("a view stays where something is, and has a length that can be drawn", () => {
  let view = all;
  for (let i = 0; i < 200; i++) view = zoomed(view, 5_000_000, 0.7, all);
  assert.equal(view.t1 - view.t0, 50);
  for (let i = 0; i < 500; i++) view = zoomed(view, view.t0, 1.3, all);
  assert.ok(view.t1 - view.t0 <= 1.5 * (all.t1 - all.t0) + 1);
  view = { t0: 0, t1: 100_000 };
  for (let i = 0; i < 5000; i++) view = panned(view, -1, all);
  assert.ok(view.t1 > all.t0);
  for (let i = 0; i < 5000; i++) view = panned(view, 1, all);
  assert.ok(view.t0 < all.t1);
  assert.deepEqual(bounded(all, all), all);
});

test("a span is framed if it is not seen well", () => {
  const view = { t0: 0, t1: 1_000_000 };
  assert.equal(framed(view, 400_000, 50_000, all), view);
  assert.deepEqual(framed(view, 400_000, 50_000, all, true), { t0: 385_000, t1: 465_000 });
  const there = framed(view, 5_000_000, 10, all);
  assert.ok(there.t0 < 5_000_000 && there.t1 > 5_000_010 && there.t1 - there.t0 < 1000);
});

test("ticks are round and stand apart", () => {
  for (let length = 60; length < 1e12; length *= 1.9) {
    const { step, first } = ticksOf({ t0: -length / 3, t1: length }, 1080, 110), digit = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
    assert.ok([1, 2, 5].some((d) => Math.abs(digit - d) < 1e-6), `a step of ${step}`);
    assert.ok((step / (length * 4 / 3)) * 1080 >= 109.9 || step === 1);
    assert.ok(first >= -length / 3 && Math.abs(first / step - Math.round(first / step)) < 1e-6);
  }
});
