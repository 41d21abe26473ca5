// Brings a span into view: which rows must be unfolded for it, and how far down it is.

import { groupOf, type How } from "./groups";
import type { Lane, Layout, Open } from "./layout";
import type { Head, Link } from "./wire";

/** What is unfolded and which ranks are shown once the lane of a span is. */
export function unfolded(at: { head: Head; state: { open: Open; only: readonly number[]; how: How }; lay(open: Open, only: readonly number[]): Layout }, l: Link): { open: Set<string>; only: readonly number[]; place: Lane | undefined; plan: Layout } {
  const { head, state } = at, only = state.only.length > 0 && !state.only.includes(l.rank) ? [] : state.only, open = new Set(state.open), group = groupOf(head, state.how, l.rank);
  if (group !== "") open.add(group);
  let plan = at.lay(open, only), place = plan.lanes.find((p) => p.lane === l.lane);
  const row = place !== undefined ? -1 : head.rows.findIndex((r) => l.lane >= r.lane && l.lane < r.lane + r.lanes);
  if (row < 0) return { open, only, place, plan };
  for (const what of head.rows[row].pinned ? [String(row)] : ["r" + l.rank, String(row)]) {
    if (place !== undefined) break;
    open.add(what);
    plan = at.lay(open, only);
    place = plan.lanes.find((p) => p.lane === l.lane);
  }
  return { open, only, place, plan };
}

/** How far rows are scrolled so that a lane is seen: as far as they are if it is. */
export function scrolled(body: HTMLElement, place: Lane | undefined): number {
  const y = body.scrollTop;
  if (place === undefined || (place.y >= y + 4 && place.y + place.height <= y + body.clientHeight - 4)) return y;
  return Math.max(place.y - Math.max((body.clientHeight - place.height) / 3, 20), 0);
}
