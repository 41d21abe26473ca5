// What the server sends of a timeline, see internal/view/timeline: answer.go and wire.go.

export const COLUMNS = 512;
/** Tiles that are asked for at once at most. */
export const MOST_TILES = 448;

export interface Row {
  rank: number;
  role: string;
  name: string;
  pinned: boolean;
  lane: number;
  lanes: number;
  deeper: number;
  spans: number;
  classes: number[];
}

export interface Step {
  kind: string;
  name: string;
  start_ns: number;
  end_ns: number;
  slow: boolean;
}

export interface Measure {
  id: string;
  title: string;
  unit: string;
  beyond: boolean;
  /** What fills the colour scale at least. */
  floor: number;
}

export interface Head {
  epoch: number;
  from_ns: number;
  to_ns: number;
  /** The capture, from and to: it may begin and end within what was recorded. */
  window_ns: [number, number];
  ranks: string[];
  rows: Row[];
  classes: string[];
  names: number;
  block: number;
  steps: Step[];
  /** Ranks that step together, where others step by themselves; none: all step together. */
  replicas: Replica[];
  groupings: Grouping[];
  /** How much later than the median rank each rank arrives at collectives, a step. */
  late_ns: number[];
  /** Findings about late ranks. */
  blamed: { title: string; ranks: number[] }[];
  measures: Measure[];
  /** The one to begin with. */
  measure: string;
  findings: Marked[];
  stretch: boolean;
  /** Of an exported page: the levels whose tiles it has, as far as coarser ones do not show all. */
  levels: number[];
  /** How many counters there are. */
  counters: number;
  /** An exported page has all spans, and makes its tiles. */
  columns: boolean;
  /** Of an exported page: alignments by collectives are there, and sums of so many steps, from the first on. */
  collectives: boolean;
  summed: number;
}

/** A way to group ranks: of is the group of each, lanes the sums of compute and communication rows, -1 for none. */
export interface Grouping {
  id: string;
  groups: string[];
  of: number[];
  lanes: [number, number][];
}

/** A finding about some ranks and steps. */
export interface Marked {
  id: string;
  measure: string;
  ranks: number[];
  first: number;
  last: number;
}

export interface Replica {
  name: string;
  ranks: number[];
  steps: Step[];
}

export interface Link {
  rank: number;
  span: number;
  lane: number;
  label: string;
  start_ns: number;
  dur_ns: number;
  /** From when to when it is on the stretched axis. */
  stretched_ns: [number, number];
}

export interface Counterpart extends Link {
  why: string;
  other: boolean;
  grid: string;
  longer_ns: number;
  later_ns: number;
  delayed_ns: number;
  delays: boolean;
}

export interface Selected extends Link {
  name: string;
  category: string;
  class: number;
  step: number;
  step_name: string;
  layer: string;
  args: { name: string; value: string }[];
  wait_ns: number;
  last: number;
  launch: Link | null;
  delay_ns: number;
  launched: Link[];
  launches: number;
  around: Link[];
  /** The op that made the launch; of an op, the first launches inside it, each with what it launched in launched. */
  op: Link | null;
  calls: Link[];
  counterparts: Counterpart[];
}

/** A span of a group of counterparts. */
export interface Member extends Link {
  why: string;
  other: boolean;
  grid: string;
  delay_ns: number;
  launched: boolean;
}

export interface Sum {
  name: string;
  id: number;
  class: number;
  gpu: boolean;
  count: number;
  total_ns: number;
  self_ns: number;
  wait_ns: number;
  max_ns: number;
  longest: Link;
  ranks: number[];
  least: number;
  most: number;
  least_ns: number;
  most_ns: number;
}

/** How a range divides on a rank: the parts sum up to its length. */
export interface RankSum {
  rank: number;
  device: boolean;
  compute_ns: number;
  wait_ns: number;
  transfer_ns: number;
  copy_ns: number;
  idle_ns: number;
  longest: Link | null;
}

export interface Table {
  from_ns: number;
  to_ns: number;
  sums: Sum[];
  all: number;
  ranks: RankSum[];
}

export interface Found {
  names: { name: string; id: number; count: number; total_ns: number; first: Link }[];
  all: number;
  ids: number[];
  next: Link | null;
  spans: number;
  total_ns: number;
}

export interface Alignment {
  by: string;
  step: number;
  at_ns: number;
  what: string;
  moved_ns: number[];
  known: boolean[];
}

/** Alignments by all collectives, of an exported page. */
export interface Collectives {
  last_ns: number[];
  at: Alignment[];
}

export interface Ribbon {
  domain: number;
  index: number;
  op: string;
  step: number;
  first_ns: number;
  last_ns: number;
  end_ns: number;
  late: Link;
  ranks: number;
  wait_ns: number;
  arrivals_ns: number[];
}

export interface Ribbons {
  ribbons: Ribbon[];
  all: number;
}

/** Flags of a piece. */
export const BEGINS_BEFORE = 1, ENDS_AFTER = 2, IN_GRAPH = 4, MATCHED = 8;

/** 512 columns of a lane. Its arrays are null where nothing is in it. */
export interface Tile {
  lane: number;
  index: number;
  /** How long it was on the wire. */
  bytes: number;
  /** No span that has a part in it is missing from its pieces: a finer tile shows the same. */
  whole: boolean;
  strip: { class: Uint8Array; covered: Uint8Array; waited: Uint8Array } | null;
  /** Pieces of spans: start and width from the tile's start, in unit(level). */
  pieces: number;
  start: Uint32Array;
  width: Uint32Array;
  span: Uint32Array;
  name: Uint32Array;
  class: Uint8Array;
  flags: Uint8Array;
}

/** In how many ns starts and widths of pieces are. */
export function unit(level: number): number {
  return 2 ** Math.max(0, level - 22);
}

const none = new Uint32Array(0), nothing = new Uint8Array(0);

/** The tiles of an answer. They are copies: a large answer is not kept for a small part of it. */
export function decode(answer: ArrayBuffer, epoch: number): Tile[] {
  const head = new DataView(answer);
  if (answer.byteLength < 32 || head.getUint32(0, false) !== 0x5353544c || head.getUint16(4, true) !== 1) throw new Error("these are not tiles of this version");
  if (head.getUint32(8, true) !== epoch) throw new Error("the server shows another capture now: reload the page");
  const count = head.getUint32(12, true), tiles: Tile[] = [];
  for (let i = 0; i < count; i++) {
    const at = 32 + 16 * i, offset = head.getUint32(at + 8, true), word = head.getUint32(at + 12, true), n = word & 0x7fffffff;
    const bytes = offset === 0 ? 16 : 16 + 3 * COLUMNS + ((18 * n + 7) & ~7);
    const tile: Tile = {
      lane: head.getUint32(at, true), index: head.getInt32(at + 4, true), bytes, whole: word >>> 31 === 1, strip: null,
      pieces: n, start: none, width: none, span: none, name: none, class: nothing, flags: nothing,
    };
    if (offset !== 0) {
      const body = answer.slice(offset, offset + bytes - 16);
      tile.strip = { class: new Uint8Array(body, 0, COLUMNS), covered: new Uint8Array(body, COLUMNS, COLUMNS), waited: new Uint8Array(body, 2 * COLUMNS, COLUMNS) };
      const words = (column: number) => new Uint32Array(body, 3 * COLUMNS + 4 * n * column, n);
      tile.start = words(0);
      tile.width = words(1);
      tile.span = words(2);
      tile.name = words(3);
      tile.class = new Uint8Array(body, 3 * COLUMNS + 16 * n, n);
      tile.flags = new Uint8Array(body, 3 * COLUMNS + 17 * n, n);
    }
    tiles.push(tile);
  }
  return tiles;
}
