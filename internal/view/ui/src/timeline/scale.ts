// The time that is shown: from where to where, over how many pixels. Times are ns since the capture's origin.

export interface Range {
  t0: number;
  t1: number;
}

/** The coarsest level there is, and the shortest time that a view is zoomed to, ns. */
export const MOST_LEVEL = 40, SHORTEST = 50;

/** The level whose columns are one to two pixels wide. */
export function levelOf(view: Range, pixels: number): number {
  const ns = (view.t1 - view.t0) / Math.max(pixels, 1);
  return Math.min(Math.max(Math.ceil(Math.log2(ns)), 0), MOST_LEVEL);
}

/** Indices of the tiles that a range has a part in. */
export function tilesOf(view: Range, level: number): [from: number, to: number] {
  const tile = 512 * 2 ** level;
  return [Math.floor(view.t0 / tile), Math.max(Math.ceil(view.t1 / tile) - 1, Math.floor(view.t0 / tile))];
}

/** A view within limits: not shorter than can be seen, not longer than twice all there is, not beside it. */
export function bounded(view: Range, all: Range): Range {
  const whole = Math.max(all.t1 - all.t0, SHORTEST);
  const length = Math.min(Math.max(view.t1 - view.t0, SHORTEST), whole * 1.5);
  const middle = (view.t0 + view.t1) / 2;
  let t0 = middle - length / 2;
  if (length >= whole * 1.04) t0 = (all.t0 + all.t1) / 2 - length / 2;
  else t0 = Math.min(Math.max(t0, all.t0 - length * 0.5), all.t1 - length * 0.5);
  return { t0, t1: t0 + length };
}

/** A view that is zoomed by a factor (below 1: nearer) around a moment, which stays where it is. */
export function zoomed(view: Range, at: number, factor: number, all: Range): Range {
  const length = view.t1 - view.t0;
  const most = Math.max(all.t1 - all.t0, SHORTEST) * 1.5;
  const by = Math.min(Math.max(length * factor, SHORTEST), Math.max(most, length)) / length;
  return bounded({ t0: at - (at - view.t0) * by, t1: at + (view.t1 - at) * by }, all);
}

/** A view that is moved by a share of its length. */
export function panned(view: Range, share: number, all: Range): Range {
  const by = (view.t1 - view.t0) * share;
  return bounded({ t0: view.t0 + by, t1: view.t1 + by }, all);
}

/** A view in which a span fills a part of the width, or the view as it is if the span is seen well there. */
export function framed(view: Range, start: number, dur: number, all: Range, always = false): Range {
  const length = view.t1 - view.t0;
  if (!always && start >= view.t0 + length * 0.02 && start + dur <= view.t1 - length * 0.02 && dur > length / 400) return view;
  const wide = always || dur > length || dur < length / 400 ? Math.max(dur * (always ? 1.6 : 24), SHORTEST) : length;
  const middle = start + dur / 2;
  return bounded({ t0: middle - wide / 2, t1: middle + wide / 2 }, all);
}

/** Round ticks: their distance, and the first of them in view. At least room pixels apart. */
export function ticksOf(view: Range, pixels: number, room: number): { step: number; first: number } {
  const raw = ((view.t1 - view.t0) * room) / Math.max(pixels, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(([1, 2, 5, 10].find((u) => u * power >= raw * 0.999) ?? 10) * power, 1);
  return { step, first: Math.ceil(view.t0 / step) * step };
}
