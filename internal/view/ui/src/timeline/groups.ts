// In which order ranks are listed: pinned ones first, the latest first, in groups that fold.

import type { Grouping, Head } from "./wire";

/** How ranks are listed. */
export interface How {
  /** A line of 16 pixels for each rank. */
  compact: boolean;
  /** The grouping, "": none. */
  by: string;
  /** The latest first. */
  late: boolean;
  /** Ranks that stay on top. */
  pins: readonly number[];
}

export const plain: How = { compact: false, by: "", late: false, pins: [] };

/** From how many ranks on each has one line, and from how many on they are grouped, unless the address says otherwise. */
const COMPACT_FROM = 9, GROUPED_FROM = 129;

/** The choices that the address leaves open. */
export function usually(head: Head, ranks: number): Pick<How, "compact" | "by"> {
  return { compact: ranks >= COMPACT_FROM, by: ranks >= GROUPED_FROM ? (head.groupings[0]?.id ?? "") : "" };
}

export interface RankItem {
  rank: number;
  pinned: boolean;
  /** It belongs to the open group above. */
  inside: boolean;
}

/** The head of a group. */
export interface GroupItem {
  group: number;
  name: string;
  ranks: number[];
  open: boolean;
  lanes: readonly [number, number];
}

export type Item = RankItem | GroupItem;

export function groupingOf(head: Head, by: string): Grouping | undefined {
  return head.groupings.find((g) => g.id === by);
}

/** The group of a rank, as a name of what is open; "": it is in none. */
export function groupOf(head: Head, how: How, rank: number): string {
  const grouping = groupingOf(head, how.by);
  return grouping === undefined || rank < 0 || how.pins.includes(rank) ? "" : "g" + grouping.of[rank];
}

/** The list of ranks (only none given: all). open has g3 for group 3. */
export function arrange(head: Head, open: ReadonlySet<string>, only: readonly number[], how: How): Item[] {
  const late = (r: number) => head.late_ns[r] ?? 0, pinned = new Set(how.pins), asked = only.length > 0 ? new Set(only) : null;
  const items: Item[] = how.pins.filter((r) => asked === null || asked.has(r)).map((rank) => ({ rank, pinned: true, inside: false }));
  const rest = (asked !== null ? [...only] : head.ranks.map((_, i) => i)).filter((r) => !pinned.has(r));
  if (how.late) rest.sort((a, b) => late(b) - late(a) || a - b);
  const grouping = groupingOf(head, how.by);
  if (grouping === undefined) return items.concat(rest.map((rank) => ({ rank, pinned: false, inside: false })));
  const of = new Map<number, number[]>(); // groups in the order of their first ranks, so that the latest come first
  for (const rank of rest) {
    const list = of.get(grouping.of[rank]);
    if (list === undefined) of.set(grouping.of[rank], [rank]);
    else list.push(rank);
  }
  const all = [...of];
  if (!how.late) all.sort((a, b) => a[0] - b[0]);
  for (const [group, ranks] of all) {
    const shown = open.has("g" + group);
    items.push({ group, name: grouping.groups[group], ranks, open: shown, lanes: grouping.lanes[group] });
    if (shown) for (const rank of ranks) items.push({ rank, pinned: false, inside: true });
  }
  return items;
}

/** Numbers below n from a list as 2,0,7-12. What is none is left out. */
export function listOf(text: string | undefined, n: number): number[] {
  const out = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const m = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part);
    if (m === null) continue;
    for (let i = Number(m[1]), to = Math.min(Number(m[2] ?? m[1]), n - 1); i <= to; i++) out.add(i);
  }
  return [...out];
}

/** A list for an address, null if it is empty. */
export function listText(list: readonly number[]): string | null {
  const parts: string[] = [];
  for (let i = 0; i < list.length; ) {
    let end = i;
    while (end + 1 < list.length && list[end + 1] === list[end] + 1) end++;
    if (end - i >= 2) parts.push(`${list[i]}-${list[end]}`);
    else for (let k = i; k <= end; k++) parts.push(String(list[k]));
    i = end + 1;
  }
  return parts.length > 0 ? parts.join(",") : null;
}

/** Ranks in words: all of a few, the first of many. */
export function ranksText(head: Head, ranks: readonly number[], most = 4): string {
  const names = ranks.slice(0, most).map((r) => head.ranks[r]), left = ranks.length - names.length;
  return left > 0 ? `${names.join(", ")} and ${left} more` : names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : (names[0] ?? "");
}

/** Ranks and a step that a text names, as "TP03 TP07 step 40"; null: it names something else. */
export function places(text: string, head: Head): { ranks: number[]; step: number } | null {
  const words = text.trim().split(/[\s,]+/), at = new Map(head.ranks.map((name, i) => [name.toLowerCase(), i]));
  const ranks: number[] = [];
  let step = -1;
  for (let i = 0; i < words.length; i++) {
    const word = words[i].toLowerCase(), rank = at.get(word);
    if (rank !== undefined) ranks.push(rank);
    else if (word === "step" && /^\d{1,9}$/.test(words[i + 1] ?? "") && Number(words[i + 1]) < head.steps.length) step = Number(words[++i]);
    else return null;
  }
  return ranks.length > 0 || step >= 0 ? { ranks, step } : null;
}
