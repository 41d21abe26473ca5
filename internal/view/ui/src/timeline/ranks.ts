// What ranks are shown, and how: one line each or all rows, grouped, the latest first, some pinned on top to be compared.

import { type Child, h } from "../dom";
import type { Changes } from "../state";
import { arrange, groupOf, type Item, listText, places, ranksText } from "./groups";
import type { Moves } from "./moves";
import type { Picture } from "./picture";

const titles: { [id: string]: string } = { node: "node", replica: "replica (DP)", stage: "stage (PP)", block: "block" };

export class Ranks {
  constructor(private readonly at: Picture, private readonly moves: Moves) {}

  /** All at once: rows move, and so the list begins at its top. */
  private set(changes: Changes): void {
    this.at.body.scrollTop = 0;
    this.at.store.set({ y: null, ...changes }, "push");
  }

  private items(): Item[] {
    const { head, state } = this.at;
    return arrange(head, state.open, state.only, state.how);
  }

  /** Ranks on top, or no longer. */
  pin(rank: number): void {
    const { pins } = this.at.state.how;
    this.set({ pin: listText(pins.includes(rank) ? pins.filter((r) => r !== rank) : [...pins, rank]) });
  }

  /** Shows the pinned ranks alone, aligned at the step that is chosen, if any. */
  compare(): void {
    const { state, body } = this.at, { pins } = state.how;
    if (pins.length < 2) return;
    const changes = { only: listText(pins), pin: listText(pins), sel: null, y: null };
    body.scrollTop = 0;
    if (state.step < 0) this.at.store.set(changes, "push");
    else this.moves.steps(state.step, state.step, "push", { ...changes, align: "step", step: state.step, r0: null, r1: null, at: null });
  }

  compact(): void {
    this.set({ rows: this.at.state.how.compact ? "full" : "compact" });
  }

  latest(): void {
    this.set({ order: this.at.state.how.late ? null : "late" });
  }

  /** By a grouping; "": by none. */
  group(by: string): void {
    const { open } = this.at.state;
    this.set({ group: by === "" ? "none" : by, open: [...open].filter((o) => !o.startsWith("g")).join(",") || null });
  }

  /** Opens all groups, or folds them if all are open. */
  all(): void {
    const groups = this.items().filter((i) => "group" in i), open = new Set(this.at.state.open), shut = groups.some((g) => !g.open);
    for (const g of groups) shut ? open.add("g" + g.group) : open.delete("g" + g.group);
    this.set({ open: [...open].join(",") || null });
  }

  /** To the next rank of the list, or the one before; a folded group is one. */
  private next(by: number): void {
    const { state, store, plan, body } = this.at;
    const stops = this.items().filter((i) => !("group" in i) || !i.open);
    const is = (i: Item) => ("group" in i ? i.ranks.includes(state.rank) : i.rank === state.rank);
    const now = stops.findIndex(is), to = stops[Math.min(Math.max(now < 0 ? (by > 0 ? 0 : stops.length - 1) : now + by, 0), stops.length - 1)];
    if (to === undefined) return;
    const [y, high] = "group" in to ? [plan.sums.find((s) => s.group === to.group)?.y ?? 0, 16] : ((g) => [g?.y ?? 0, g?.height ?? 0])(plan.groups.find((g) => g.rank === to.rank));
    const top = Math.max(Math.min(body.scrollTop, y), y + Math.min(high, body.clientHeight) - body.clientHeight);
    if (top !== body.scrollTop) body.scrollTop = top;
    store.set({ rank: "group" in to ? to.ranks[0] : to.rank, sel: null, y: Math.round(top) || null });
  }

  /** Goes to the ranks and the step that a text names, and pins the ranks; false: it names something else. */
  go(text: string): boolean {
    const { head, state, store, body } = this.at, to = places(text, head);
    if (to === null) return false;
    const pin = to.ranks.length > 0 ? { pin: listText([...new Set([...state.how.pins, ...to.ranks])]), rank: to.ranks[0] } : {};
    body.scrollTop = 0;
    if (to.step < 0) store.set({ ...pin, y: null, q: null }, "push");
    else this.moves.steps(to.step, to.step, "push", { ...pin, step: to.step, y: null, q: null });
    return true;
  }

  /** The buttons of the toolbar. */
  tools(): Child[] {
    const { head, state, store } = this.at, { how } = state, { pins } = how;
    if (head.ranks.length < 2) return [];
    const compared = state.only.length === pins.length && pins.every((r) => state.only.includes(r));
    const pick = h("select", { "aria-label": "Group ranks by", title: "Group ranks (key: G); a group opens by a click or e", on: { change: () => this.group(pick.value) } },
      h("option", { value: "" }, "no groups"), ...head.groupings.map((g) => h("option", { value: g.id }, "by " + (titles[g.id] ?? g.id))));
    pick.value = how.by;
    return [
      head.groupings.length > 0 && pick,
      head.ranks.length > 2 && h("span", { role: "group", "aria-label": "List of ranks" },
        h("button", { class: "choice", "aria-pressed": String(how.late), title: "List the ranks that arrive latest at collectives first (key: o)", on: { click: () => this.latest() } }, "latest first"),
        h("button", { class: "choice", "aria-pressed": String(how.compact), title: "One line for each rank (key: v)", on: { click: () => this.compact() } }, "compact")),
      pins.length > 0 && !compared && h("span", { class: "tl-only" }, "pinned " + ranksText(head, pins),
        pins.length > 1 && h("button", { class: "button", title: "Show the pinned ranks alone, aligned at the chosen step, if there is one (key: P)", on: { click: () => this.compare() } }, "compare"),
        h("button", { class: "quiet", title: "Unpin all", "aria-label": "Unpin all", on: { click: () => store.set({ pin: null }, "push") } }, "✕")),
    ];
  }

  bind(): void {
    const { at } = this, bind = (keys: string, help: string, run: () => void) => at.context.keys.bind(keys, "Ranks", help, run);
    bind("j", "the next rank or group", () => this.next(1));
    bind("k", "and the previous one", () => this.next(-1));
    bind("p", "pin the rank on top, or unpin it", () => at.state.rank >= 0 && this.pin(at.state.rank));
    bind("P", "compare the pinned ranks", () => this.compare());
    bind("v", "one line for each rank, or all rows", () => this.compact());
    bind("o", "list the latest ranks first", () => this.latest());
    if (at.head.groupings.length === 0) return;
    bind("G", "next way to group ranks", () => {
      const ids = ["", ...at.head.groupings.map((g) => g.id)];
      this.group(ids[(ids.indexOf(at.state.how.by) + 1) % ids.length]);
    });
    bind("e", "open or fold the group of the rank", () => {
      const group = groupOf(at.head, at.state.how, at.state.rank);
      if (group !== "") this.moves.turn(group);
    });
    bind("E", "open or fold all groups", () => this.all());
  }
}
