// Measuring: a border that is dragged near the edge of a span, or of a step, lies on it.

import { BEGINS_BEFORE, COLUMNS, ENDS_AFTER, type Tile, unit } from "./wire";

/** From how many pixels away an edge is taken. */
export const REACH = 7;

/** The edge of a lane's spans that is nearest to a time, ns; null: none is within reach. */
export function edge(get: (lane: number, index: number) => Tile | undefined, lane: number, level: number, t: number, reach: number): number | null {
  const length = COLUMNS * 2 ** level, ns = unit(level);
  let best: number | null = null;
  for (let index = Math.floor((t - reach) / length); index <= Math.floor((t + reach) / length); index++) {
    const tile = get(lane, index);
    if (tile === undefined) continue;
    for (let k = 0; k < tile.pieces; k++) {
      const start = index * length + tile.start[k] * ns, flags = tile.flags[k];
      if ((flags & BEGINS_BEFORE) === 0) best = nearer(best, start, t, reach);
      if ((flags & ENDS_AFTER) === 0) best = nearer(best, start + tile.width[k] * ns, t, reach);
    }
  }
  return best;
}

/** The one of two times that is nearer to a third; null: neither is within reach. */
export function nearer(a: number | null, b: number, t: number, reach: number): number | null {
  return Math.abs(b - t) <= reach && (a === null || Math.abs(b - t) < Math.abs(a - t)) ? b : a;
}

/** A position to the µs, so that spans a little apart differ: always in ms, so that one can be taken from another. */
export function position(ns: number): string {
  const [whole, rest] = (Math.abs(ns) / 1e6).toFixed(3).split(".");
  return `${ns < 0 ? "-" : ""}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${rest} ms`;
}
