// All spans of a page without a server, as columns (internal/view/timeline/pack.go), and the tiles that are made of them.

import { BEGINS_BEFORE, COLUMNS, ENDS_AFTER, type Tile, unit } from "./wire";

/** Spans of less than so many columns are in the strip alone. */
const LEAST = 3;

/** The spans of a lane in the order of time; none overlap. Times are ns. */
export interface Spans {
  start: Float64Array;
  end: Float64Array;
  span: Int32Array;
  name: Uint32Array;
  class: Uint8Array;
  flags: Uint8Array;
  wait: Float64Array | null;
}

/** The lanes of an answer. */
export function lanesOf(answer: ArrayBuffer): Spans[] {
  const bytes = new Uint8Array(answer), view = new DataView(answer), lanes: Spans[] = [];
  let at = 4;
  const uvarint = (): number => {
    let v = 0, times = 1;
    for (;;) {
      const b = bytes[at++];
      v += (b & 127) * times;
      if (b < 128) return v;
      times *= 128;
    }
  };
  const varint = (): number => {
    const v = uvarint();
    return v % 2 === 0 ? v / 2 : -(v + 1) / 2;
  };
  for (let left = view.getUint32(0, true); left > 0; left--) {
    at += 4; // the length
    const n = uvarint(), waits = bytes[at++] === 1;
    const start = new Float64Array(n), end = new Float64Array(n), span = new Int32Array(n), name = new Uint32Array(n);
    for (let i = 0; i < n; i++) start[i] = varint(); // from the end before
    for (let i = 0, last = 0; i < n; i++) {
      start[i] += last;
      last = end[i] = start[i] + uvarint();
    }
    for (let i = 0, last = 0; i < n; i++) last = span[i] = last + varint();
    for (let i = 0; i < n; i++) name[i] = uvarint();
    const of = bytes.slice(at, at + n), flags = bytes.slice(at + n, at + 2 * n);
    at += 2 * n;
    let wait: Float64Array | null = null;
    if (waits) {
      wait = new Float64Array(n);
      for (let i = 0; i < n; i++) wait[i] = uvarint();
    }
    lanes.push({ start, end, span, name, class: of, flags, wait });
  }
  return lanes;
}

/** How many spans of a lane begin before a time. */
export function before({ start }: Spans, time: number): number {
  let from = 0, end = start.length;
  while (from < end) {
    const mid = (from + end) >> 1;
    if (start[mid] < time) from = mid + 1;
    else end = mid;
  }
  return from;
}

/** The longest span that overlaps a time; -1: none. */
export function longest(l: Spans, from: number, to: number): number {
  let i = before(l, from), best = -1;
  if (i > 0 && l.end[i - 1] > from) i--;
  for (; i < l.start.length && l.start[i] < to; i++) if (best < 0 || l.end[i] - l.start[i] > l.end[best] - l.start[best]) best = i;
  return best;
}

/** A tile of a lane, as Go draws it (tile.go). */
export function draw(l: Spans, lane: number, index: number, level: number): Tile {
  const width = 2 ** level, from = index * COLUMNS * width, to = from + COLUMNS * width, u = unit(level);
  const strip = { class: new Uint8Array(COLUMNS), covered: new Uint8Array(COLUMNS), waited: new Uint8Array(COLUMNS) };
  const covered = new Float64Array(COLUMNS), waited = new Float64Array(COLUMNS), most = new Float64Array(COLUMNS).fill(-1);
  const wide: number[] = [];
  const add = (sums: Float64Array, start: number, end: number) => {
    for (let c = Math.max(Math.floor((start - from) / width), 0), x = from + c * width; c < COLUMNS && x < end; c++, x += width) {
      sums[c] += Math.min(end, x + width) - Math.max(start, x);
    }
  };
  let i = before(l, from), seen = 0;
  if (i > 0 && l.end[i - 1] > from) i--;
  for (; i < l.start.length && l.start[i] < to; i++, seen++) {
    const start = l.start[i], end = l.end[i], dur = end - start;
    const first = Math.max(Math.floor((start - from) / width), 0), last = Math.min(Math.max(Math.ceil((end - from) / width) - 1, first), COLUMNS - 1);
    for (let c = first; c <= last; c++) {
      if (dur <= most[c]) continue;
      most[c] = dur;
      strip.class[c] = l.class[i];
    }
    add(covered, start, end);
    if (l.wait !== null && l.wait[i] > 0) add(waited, start, start + l.wait[i]);
    if (dur >= LEAST * width) wide.push(i);
  }
  for (let c = 0; c < COLUMNS; c++) {
    strip.covered[c] = Math.ceil((Math.min(covered[c], width) * 255) / width);
    strip.waited[c] = Math.ceil((Math.min(waited[c], width) * 255) / width);
  }
  const column = (of: (k: number) => number) => Uint32Array.from(wide, of), begin = (k: number) => Math.max(l.start[k], from);
  return {
    lane, index, bytes: 0, whole: seen === wide.length, strip: seen === 0 ? null : strip, pieces: wide.length,
    start: column((k) => Math.floor((begin(k) - from) / u)), width: column((k) => Math.floor((Math.min(l.end[k], to) - begin(k)) / u)),
    span: column((k) => l.span[k]), name: column((k) => l.name[k]), class: Uint8Array.from(wide, (k) => l.class[k]),
    flags: Uint8Array.from(wide, (k) => l.flags[k] | (l.start[k] < from ? BEGINS_BEFORE : 0) | (l.end[k] > to ? ENDS_AFTER : 0)),
  };
}
