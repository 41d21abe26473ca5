// What the address says of the timeline, beside the parameters that all views share (state.ts):
//
//   at     the time of the collective that ranks are aligned at, ns
//   only   the ranks that are shown, as 2,0 or 4-7; none: all
//   pin    the ranks that stay on top, like only
//   open   what is unfolded: r3 all rows of a rank, 17 all lanes of a row, g2 a group of ranks
//   rows   compact: one line for each rank; full: all main rows; none: by the number of ranks
//   group  how ranks are grouped, or none
//   order  late: the latest ranks first
//   r0,r1  the range that is summed up, ns
//   area   the rows that it is summed up over, as 1,4-7; none: those that are shown
//   panel  where the details are and how large, in pixels: side420, or 300 (dock.ts)
//   find   the finding that the map marks, by its id; none: the first
//   heat   the measure of the map of ranks and steps, or off
//   set    what is otherwise (settings.ts of What if): where steps would end is drawn beside where they did
//   counters  off: the counters are hidden
//   y      by how much the rows are scrolled down, in pixels

import { type Params, whole } from "../state";
import { parsed } from "./area";
import { groupingOf, type How, listOf, usually } from "./groups";
import { bounded, type Range } from "./scale";
import type { Head, Marked, Step } from "./wire";

export const alignments = [
  { by: "wall", title: "wall clock", help: "by the clocks of the ranks" },
  { by: "step", title: "step start", help: "shifts each rank so that one step begins at the same position on all" },
  { by: "collective", title: "collective entry", help: "shifts each rank so that all enter one collective at the same position" },
  { by: "stretched", title: "stretched", help: "stretches each rank's time between collectives to that of the last rank to arrive" },
] as const;

export interface State {
  view: Range;
  step: number; // -1: none
  by: string;
  at: number;
  only: number[];
  how: How;
  open: Set<string>;
  rank: number; // -1: none
  sel: number; // -1: nothing
  range: Range | null;
  rows: number[];
  q: string;
  found: Marked | null;
  heat: string;
  counters: boolean;
  y: number;
  sort: string;
}

/** A range of two parameters, null if there is none. */
function rangeOf(p: Params, from: string, to: string): Range | null {
  const t0 = whole(p, from, NaN), t1 = whole(p, to, NaN);
  return t0 < t1 ? { t0, t1 } : null;
}

/** From where to where a step is shown, with something before and after it; of all ranks, or of a replica. */
export function aroundStep(head: Head, first: number, last: number, steps: readonly Step[] = head.steps): Range | null {
  let t0 = Infinity, t1 = -Infinity;
  for (let n = first; n <= last; n++) {
    const s = steps[n];
    if (s === undefined || s.end_ns === 0) continue;
    t0 = Math.min(t0, s.start_ns);
    t1 = Math.max(t1, s.end_ns);
  }
  return t0 < t1 ? bounded({ t0: t0 - (t1 - t0) * 0.06, t1: t1 + (t1 - t0) * 0.06 }, extent(head)) : null;
}

export function extent(head: Head): Range {
  return { t0: head.from_ns, t1: Math.max(head.to_ns, head.from_ns + 1) };
}

/** The capture: what was recorded before and after it, as while the profilers end, lies beside it. */
export function windowOf(head: Head): Range {
  const [t0, t1] = head.window_ns;
  return { t0, t1: Math.max(t1, t0 + 1) };
}

export function read(p: Params, head: Head): State {
  const step = whole(p, "step", -1), rank = whole(p, "rank", -1);
  const given = rangeOf(p, "t0", "t1");
  const by = alignments.some((a) => a.by === p.align) ? p.align : "wall";
  const found = head.findings.find((f) => f.id === p.find) ?? head.findings[0] ?? null;
  const known = (r: number) => Number.isInteger(r) && r >= 0 && r < head.ranks.length;
  const only = listOf(p.only, head.ranks.length), usual = usually(head, only.length > 0 ? only.length : head.ranks.length);
  return {
    view: given !== null ? bounded(given, extent(head)) : (aroundStep(head, step, step) ?? windowOf(head)),
    step: step < head.steps.length ? step : -1,
    by: by === "stretched" && !head.stretch ? "wall" : by === "step" && (step < 0 || step >= head.steps.length) ? "wall" : by,
    at: whole(p, "at", 0),
    only,
    how: {
      compact: p.rows === "compact" || (p.rows !== "full" && usual.compact), late: p.order === "late", pins: listOf(p.pin, head.ranks.length),
      by: p.group === "none" ? "" : groupingOf(head, p.group ?? "") !== undefined ? p.group! : usual.by,
    },
    open: new Set((p.open ?? "").split(",").filter((x) => /^[gr]?\d+$/.test(x))),
    rank: known(rank) ? rank : -1,
    sel: known(rank) ? whole(p, "sel", -1) : -1,
    range: rangeOf(p, "r0", "r1"),
    rows: parsed(p.area, head.rows.length),
    q: p.q ?? "",
    found,
    heat: p.heat ?? (head.ranks.length > 1 && head.steps.length > 1 ? (p.find !== undefined && found?.measure) || head.measure : "off"),
    counters: head.counters > 0 && p.counters !== "off",
    y: Math.max(whole(p, "y", 0), 0),
    sort: p.sort ?? "-self",
  };
}
