// Which rows are shown, and where: those that matter of all ranks, and what was unfolded.

import { arrange, type GroupItem, type How, listText, plain } from "./groups";
import type { Head, Row } from "./wire";

/** Heights, in CSS pixels. A line is a rank in one, or the sums of a group. */
export const LANE = 16, HEADER = 18, GAP = 3, BETWEEN = 8, LINE = 16;

/** A lane that is shown; of the sums of a group rank and row are -1. */
export interface Lane {
  lane: number;
  row: number;
  rank: number;
  y: number;
  height: number;
}

/** A row that is shown, with as many of its lanes as are. */
export interface Place {
  row: number;
  y: number;
  height: number;
  lanes: number;
}

/** A rank's rows. */
export interface Group {
  rank: number;
  y: number;
  height: number;
  rows: Place[];
  folded: number; // rows that are not shown
  open: boolean; // all are
  /** It is one line, without names of rows. */
  line: boolean;
  pinned: boolean;
  inside: boolean;
}

/** The row of sums of a group of ranks. */
export interface Sums extends GroupItem {
  y: number;
}

export interface Layout {
  groups: Group[];
  sums: Sums[];
  lanes: Lane[];
  height: number;
}

/** What was unfolded: "r3" all rows of a rank, "17" all lanes of a row, "g2" a group of ranks. */
export type Open = ReadonlySet<string>;

/** How many lanes of a row are shown before it is unfolded. */
export function shownLanes(row: Row, ranks: number): number {
  if (row.role === "launches" || row.role === "thread" || row.role === "python") return Math.min(row.lanes, ranks <= 2 ? 6 : ranks <= 4 ? 4 : ranks <= 8 ? 2 : 1);
  return Math.min(row.lanes, 2);
}

const byRank = new WeakMap<Head, number[][]>();

/** The rows of each rank. */
export function rowsOf(head: Head): number[][] {
  let of = byRank.get(head);
  if (of === undefined) {
    of = head.ranks.map(() => []);
    for (let i = 0; i < head.rows.length; i++) of[head.rows[i].rank].push(i);
    byRank.set(head, of);
  }
  return of;
}

/** The rows that stand for a rank in one line: what it computes, and what it communicates beside that. */
export function lineRows(head: Head, rank: number): number[] {
  const rows = rowsOf(head)[rank], on = (role: string) => rows.filter((i) => head.rows[i].role === role && head.rows[i].pinned);
  const some = [...on("compute"), ...on("communication")].slice(0, 2);
  return some.length > 0 ? some : rows.slice(0, 1);
}

/** Where the lanes of a line are: one has all of it. */
function inLine(y: number, lanes: number): { y: number; height: number }[] {
  return lanes < 2 ? [{ y, height: LINE - 1 }] : [{ y, height: 9 }, { y: y + 10, height: 5 }];
}

/** Places the rows of some ranks (none given: of all), one rank below the other. */
export function layout(head: Head, open: Open, only: readonly number[], how: How = plain): Layout {
  const out: Layout = { groups: [], sums: [], lanes: [], height: 0 };
  const { groups, lanes } = out, ranks = only.length > 0 ? only.length : head.ranks.length, rows = rowsOf(head);
  let y = 0;
  for (const item of arrange(head, open, only, how)) {
    if ("group" in item) {
      out.sums.push({ ...item, y });
      const shown = item.lanes.filter((l) => l >= 0), at = inLine(y, shown.length);
      shown.forEach((lane, i) => lanes.push({ lane, row: -1, rank: -1, ...at[i] }));
      y += LINE;
      continue;
    }
    const { rank, pinned, inside } = item;
    const group: Group = { rank, y, height: 0, rows: [], folded: 0, open: open.has("r" + rank), line: false, pinned, inside };
    groups.push(group);
    if (how.compact && !pinned && !group.open && !rows[rank].some((i) => open.has(String(i)))) {
      group.line = true;
      const shown = lineRows(head, rank), at = inLine(y, shown.length);
      shown.forEach((row, i) => {
        lanes.push({ lane: head.rows[row].lane, row, rank, ...at[i] });
        group.rows.push({ row, ...at[i], lanes: 1 });
      });
      y += group.height = LINE;
      continue;
    }
    y += HEADER;
    for (const at of rows[rank]) {
      const row = head.rows[at];
      if (!row.pinned && !group.open) {
        group.folded++;
        continue;
      }
      const n = open.has(String(at)) ? row.lanes : shownLanes(row, pinned ? how.pins.length : ranks);
      group.rows.push({ row: at, y, height: n * LANE, lanes: n });
      for (let k = 0; k < n; k++) lanes.push({ lane: row.lane + k, row: at, rank, y: y + k * LANE, height: LANE - 1 });
      y += n * LANE + GAP;
    }
    y += BETWEEN;
    group.height = y - group.y;
  }
  out.height = y;
  return out;
}

/** The lanes that lie between two heights. */
export function between(lanes: readonly Lane[], from: number, to: number): Lane[] {
  let lo = 0, hi = lanes.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (lanes[mid].y + lanes[mid].height <= from) lo = mid + 1;
    else hi = mid;
  }
  const out: Lane[] = [];
  for (let i = lo; i < lanes.length && lanes[i].y < to; i++) out.push(lanes[i]);
  return out;
}

/** The rows that are shown, or whose sums are. */
export function shownRows(head: Head, l: Layout): number[] {
  return l.groups.flatMap((g) => g.rows.map((p) => p.row)).concat(l.sums.filter((s) => !s.open).flatMap((s) => s.ranks.flatMap((r) => lineRows(head, r))));
}

/** The same as the server reads them. */
export function shownText(head: Head, l: Layout): string {
  return listText(shownRows(head, l).sort((a, b) => a - b)) ?? "";
}

/** Open, with a row, rank or group turned around. */
export function turned(open: Open, what: string): Set<string> {
  const out = new Set(open);
  if (!out.delete(what)) out.add(what);
  return out;
}
