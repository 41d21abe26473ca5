// Where each step would end if something were otherwise (What if): ghosts beside the steps as they were. Each begins where
// the step before it ended in the recording, so that what is seen is the gain of this step, and not that of all before it.

import { duration, percent } from "../../../../web/format";
import type { Lengths } from "../whatif/data";
import type { Group } from "./layout";
import type { Range } from "./scale";

/** A step of ranks that share collectives. */
export interface Ghost {
  step: number;
  ranks: ReadonlySet<number>;
  /** When the step before ended, and it ended. */
  from: number;
  end: number;
  /** When it would end. */
  would: number;
}

/** The ghosts of an answer, by when the steps ended. */
export function ghostsOf(lengths: readonly Lengths[]): Ghost[] {
  return lengths.flatMap((l) => {
    const ranks = new Set(l.ranks);
    return l.steps.map((step, i) => ({ step, ranks, from: l.end_ns[i] - l.was[i], end: l.end_ns[i], would: l.end_ns[i] - l.was[i] + l.would[i] }));
  }).sort((a, b) => a.end - b.end);
}

/** Those that have a part in a time. */
export function inSight(ghosts: readonly Ghost[], { t0, t1 }: Range): Ghost[] {
  return ghosts.filter((g) => g.from < t1 && Math.max(g.end, g.would) > t0);
}

/** One for each step of the capture, over all ranks: it ends when the last of them does. */
export function overall(ghosts: readonly Ghost[]): Ghost[] {
  const of = new Map<number, Ghost>();
  for (const g of ghosts) {
    const was = of.get(g.step);
    of.set(g.step, was === undefined ? g : { ...g, from: Math.min(g.from, was.from), end: Math.max(g.end, was.end), would: Math.max(g.would, was.would) });
  }
  return [...of.values()].sort((a, b) => a.end - b.end);
}

/** From where to where the rows of some ranks reach, each stretch of neighbours as one. */
export function stretches(groups: readonly Group[], ranks: ReadonlySet<number>): [top: number, bottom: number][] {
  const out: [number, number][] = [];
  groups.forEach((g, i) => {
    if (!ranks.has(g.rank)) return;
    const last = out[out.length - 1];
    if (last !== undefined && i > 0 && ranks.has(groups[i - 1].rank)) last[1] = g.y + g.height;
    else out.push([g.y, g.y + g.height]);
  });
  return out;
}

/** Part of the picture: from when a step would end to when it did, over the rows of its ranks. */
export interface Band {
  would: number;
  end: number;
  top: number;
  bottom: number;
}

/** The bands of ghosts, of which none is narrower than least; none at all if they are more than most. */
export function bandsOf(ghosts: readonly Ghost[], groups: readonly Group[], least: number, most: number): Band[] {
  const out: Band[] = [];
  for (const g of ghosts) {
    if (Math.abs(g.end - g.would) < least) continue;
    for (const [top, bottom] of stretches(groups, g.ranks)) out.push({ would: g.would, end: g.end, top, bottom });
    if (out.length > most) return [];
  }
  return out;
}

/** What a ghost says. */
export function ghostTip(g: Ghost): { title: string; rows: [string, string][] } {
  const was = g.end - g.from, would = g.would - g.from;
  return { title: `step ${g.step}, with these changes`, rows: [["was", duration(was)], ["would be", duration(would)], ["change", change(was, would)]] };
}

/** A change in percent, with its sign. */
export function change(was: number, would: number): string {
  const by = would / Math.max(was, 1) - 1;
  return (by > 0 ? "+" : "") + percent(by);
}
