// Which rows are shown, and where: those that matter of all ranks, and what was unfolded.

import type { Head, Row } from "./wire";

/** Heights, in CSS pixels. */
export const LANE = 16, HEADER = 18, GAP = 3, BETWEEN = 8;

/** A lane that is shown. */
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
}

export interface Layout {
  groups: Group[];
  lanes: Lane[];
  height: number;
}

/** What was unfolded: "r3" all rows of a rank, "17" all lanes of a row. */
export type Open = ReadonlySet<string>;

/** How many lanes of a row are shown before it is unfolded. */
export function shownLanes(row: Row, ranks: number): number {
  if (row.role === "launches" || row.role === "thread" || row.role === "python") return Math.min(row.lanes, ranks <= 2 ? 6 : ranks <= 4 ? 4 : ranks <= 8 ? 2 : 1);
  return Math.min(row.lanes, 2);
}

/** Places the rows of some ranks (none given: of all), one rank below the other. */
export function layout(head: Head, open: Open, only: readonly number[]): Layout {
  const groups: Group[] = [], lanes: Lane[] = [];
  const ranks = only.length > 0 ? only : head.ranks.map((_, i) => i);
  const rowsOf = new Map<number, number[]>();
  head.rows.forEach((row, i) => rowsOf.set(row.rank, [...(rowsOf.get(row.rank) ?? []), i]));
  let y = 0;
  for (const rank of ranks) {
    const group: Group = { rank, y, height: 0, rows: [], folded: 0, open: open.has("r" + rank) };
    y += HEADER;
    for (const at of rowsOf.get(rank) ?? []) {
      const row = head.rows[at];
      if (!row.pinned && !group.open) {
        group.folded++;
        continue;
      }
      const n = open.has(String(at)) ? row.lanes : shownLanes(row, ranks.length);
      group.rows.push({ row: at, y, height: n * LANE, lanes: n });
      for (let k = 0; k < n; k++) lanes.push({ lane: row.lane + k, row: at, rank, y: y + k * LANE, height: LANE - 1 });
      y += n * LANE + GAP;
    }
    y += BETWEEN;
    group.height = y - group.y;
    groups.push(group);
  }
  return { groups, lanes, height: y };
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

/** Open, with a row or rank turned around. */
export function turned(open: Open, what: string): Set<string> {
  const out = new Set(open);
  if (!out.delete(what)) out.add(what);
  return out;
}
