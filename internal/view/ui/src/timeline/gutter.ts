// The names of ranks and rows beside the lanes, and what unfolds and pins them.

import { signed } from "../../../../web/format";
import { fill, h } from "../dom";
import { groupingOf, type How } from "./groups";
import { type Group, HEADER, type Layout, LINE, type Open, shownLanes, type Sums } from "./layout";
import type { Alignment, Head } from "./wire";

const roles: { [role: string]: string } = { compute: "compute", communication: "communication", launches: "launches", ranges: "ranges of", python: "Python of", profiler: "profiler" };

/** The width that names take: at most a quarter. */
export function gutterOf(width: number): number {
  return Math.min(220, Math.floor(width / 4));
}

/** What is named, and which of it is chosen. */
export interface Named {
  head: Head;
  plan: Layout;
  how: How;
  open: Open;
  here: number; // the rank of the address, -1
  moved: Alignment | null;
}

/** The names beside the lanes. Of many ranks there are those around what is in view. */
export class Gutter {
  readonly el = h("div", { class: "tl-gutter" });
  /** Finding of each rank that is blamed. */
  private readonly blamed = new Map<number, string>();
  private from = 0;
  private to = 0;

  constructor(head: Head, private readonly turn: (what: string) => void, private readonly pin: (rank: number) => void) {
    for (const b of head.blamed) for (const r of b.ranks) if (!this.blamed.has(r)) this.blamed.set(r, b.title);
  }

  /** Names are missing of what is in view. */
  lacks(top: number, height: number, all: number): boolean {
    return top < this.from || Math.min(top + height, all) > this.to;
  }

  draw(n: Named, top: number, height: number): void {
    const room = Math.max(height, 600);
    this.from = Math.max(top - room, 0);
    this.to = top + height + room;
    const focus = (document.activeElement as HTMLElement | null)?.dataset.key, inside = this.el.contains(document.activeElement);
    const parts: HTMLElement[] = [];
    const put = (e: HTMLElement, y: number) => {
      e.style.top = y + "px";
      parts.push(e);
    };
    const seen = (y: number, high: number) => y + high > this.from && y < this.to;
    let s = 0;
    const { sums, groups } = n.plan;
    const heads = (before: number) => {
      for (; s < sums.length && sums[s].y < before; s++) if (seen(sums[s].y, LINE)) put(this.group(n, sums[s]), sums[s].y);
    };
    for (const g of groups) {
      heads(g.y);
      if (!seen(g.y, g.height)) continue;
      put(g.line ? this.line(n, g) : this.rank(n, g), g.y);
      if (!g.line) this.rows(n, g, put);
    }
    heads(Infinity);
    fill(this.el, ...parts);
    this.el.style.height = Math.max(n.plan.height, height) + "px";
    if (inside && focus !== undefined) this.el.querySelector<HTMLElement>(`[data-key="${focus}"]`)?.focus({ preventScroll: true });
  }

  /** How far a rank was moved, in words. */
  private moved({ moved }: Named, rank: number): string {
    if (moved === null || moved.by === "wall" || moved.by === "stretched") return "";
    const by = moved.moved_ns[rank];
    return !moved.known[rank] ? "not moved" : by !== 0 ? "moved " + signed(by) : "";
  }

  private pinButton(n: Named, rank: number, pinned: boolean): HTMLElement | false {
    const name = n.head.ranks[rank];
    return n.head.ranks.length > 2 && h("button", {
      class: "tl-pin", "aria-pressed": String(pinned), "aria-label": "Pin " + name, title: (pinned ? "Unpin " : "Pin ") + name + " on top, to compare it (key: p)",
      data: { key: "p" + rank }, on: { click: () => this.pin(rank) },
    }, pinned ? "◆" : "◇");
  }

  /** How late a rank is beside the median rank, if ranks are listed by that or a finding is about it. */
  private late(n: Named, rank: number): HTMLElement | false {
    const title = this.blamed.get(rank), ns = n.head.late_ns[rank] ?? 0;
    if (title === undefined && !n.how.late) return false;
    return h("span", { class: "tl-late" + (title !== undefined ? " blamed" : ""), title: (title !== undefined ? title + ". " : "") + `It arrives at collectives ${signed(ns)} a step after the median rank.` }, title !== undefined && ns <= 0 ? "late" : signed(ns));
  }

  private rank(n: Named, g: Group): HTMLElement {
    const { head } = n, name = head.ranks[g.rank], label = this.moved(n, g.rank), fold = g.folded > 0 || g.open;
    return h("div", { class: "tl-rank" + (g.rank === n.here ? " here" : "") + (g.inside ? " inside" : "") },
      h("span", null, name),
      fold && h("button", { "aria-expanded": String(g.open), title: (g.open ? "Fold rows of " : "Unfold all rows of ") + name, data: { key: "r" + g.rank }, on: { click: () => this.turn("r" + g.rank) } },
        h("span", { "aria-hidden": "true" }, g.open ? "▾ " : "▸ "), g.open ? "fewer" : `${g.folded} more`),
      label === "" ? this.late(n, g.rank) : h("span", { class: "moved", title: label }, label), h("span", { class: "space" }), this.pinButton(n, g.rank, g.pinned));
  }

  private line(n: Named, g: Group): HTMLElement {
    const name = n.head.ranks[g.rank], label = this.moved(n, g.rank);
    return h("div", { class: "tl-rank tl-line" + (g.rank === n.here ? " here" : "") + (g.inside ? " inside" : "") },
      h("button", { "aria-expanded": "false", title: "Unfold all rows of " + name, data: { key: "r" + g.rank }, on: { click: () => this.turn("r" + g.rank) } }, h("span", { "aria-hidden": "true" }, "▸ "), name),
      label === "" ? this.late(n, g.rank) : h("span", { class: "moved", title: label }, label), h("span", { class: "space" }), this.pinButton(n, g.rank, false));
  }

  private group(n: Named, s: Sums): HTMLElement {
    const worst = s.ranks.reduce((a, b) => ((n.head.late_ns[b] ?? 0) > (n.head.late_ns[a] ?? 0) ? b : a), s.ranks[0]), blamed = s.ranks.filter((r) => this.blamed.has(r));
    const shown = blamed.length > 0 ? (blamed.includes(worst) ? worst : blamed[0]) : worst, key = "g" + s.group;
    const what = groupingOf(n.head, n.how.by)?.id ?? "group";
    return h("div", { class: "tl-rank tl-line tl-group" + (!s.open && s.ranks.includes(n.here) ? " here" : "") },
      h("button", { "aria-expanded": String(s.open), title: `${s.open ? "Fold" : "Open"} ${what} ${s.name}: ${s.ranks.length} ranks. The row shows the mean of their compute and communication rows, by the wall clock (key: e).`, data: { key }, on: { click: () => this.turn(key) } },
        h("span", { "aria-hidden": "true" }, s.open ? "▾ " : "▸ "), s.name, h("span", { class: "tl-soft" }, ` ${s.ranks.length}`)),
      h("span", { class: "space" }),
      (blamed.length > 0 || n.how.late) && !s.open && h("span", { class: "tl-soft tl-worst" }, n.head.ranks[shown], " ", blamed.length > 1 && `+${blamed.length - 1} `),
      !s.open && this.late(n, shown));
  }

  private rows(n: Named, g: Group, put: (e: HTMLElement, y: number) => void): void {
    const { head } = n, ranks = g.pinned ? n.how.pins.length : n.plan.groups.length;
    for (const p of g.rows) {
      const row = head.rows[p.row], role = roles[row.role];
      const deep = row.lanes > shownLanes(row, ranks);
      const name = [role !== undefined && h("b", null, role), (role !== undefined ? " " : "") + row.name, row.deeper > 0 && ` (${row.deeper} spans nested deeper)`];
      const title = `${head.ranks[row.rank]}: ${role ?? ""} ${row.name}, ${row.spans} spans in ${row.lanes} lane${row.lanes === 1 ? "" : "s"}`;
      const el = h("div", { class: "tl-row", title },
        deep ? h("button", { title, "aria-expanded": String(p.lanes === row.lanes), data: { key: String(p.row) }, on: { click: () => this.turn(String(p.row)) } }, (p.lanes === row.lanes ? "▾ " : "▸ "), ...name) : h("span", { class: "tl-name", title }, ...name));
      el.style.height = p.height + "px";
      put(el, p.y);
    }
  }
}

/** The strips beside the ranks' names that show how far each moment was moved: the longer a bar, the farther. */
export function drawMoved(canvas: HTMLCanvasElement, l: Layout, top: number, width: number, height: number, samples: ReadonlyMap<number, number[]>, most: number, color: string): void {
  const ratio = window.devicePixelRatio || 1, ctx = canvas.getContext("2d")!;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = color;
  for (const g of l.groups) {
    const y = g.y - top, of = samples.get(g.rank), room = g.line ? LINE : HEADER - 3, high = g.line ? 4 : HEADER - 5;
    if (of === undefined || y > height || y + HEADER < 0) continue;
    const w = width / of.length;
    of.forEach((ns, i) => {
      const h = Math.min(Math.abs(ns) / Math.max(most, 1), 1) * high;
      if (h > 0.5) ctx.fillRect(i * w, y + room - h, Math.max(w, 1), h);
    });
  }
}
