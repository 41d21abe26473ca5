// The names of ranks and rows beside the lanes, and what unfolds them.

import { signed } from "../../../../explain/report/page/format";
import { fill, h } from "../dom";
import { HEADER, type Layout, shownLanes } from "./layout";
import type { Alignment, Head } from "./wire";

const roles: { [role: string]: string } = { compute: "compute", communication: "communication", launches: "launches", ranges: "ranges of", python: "Python of", profiler: "profiler" };

/** The width that names take: at most a quarter. */
export function gutterOf(width: number): number {
  return Math.min(220, Math.floor(width / 4));
}

/** A rank's names. */
export function drawGutter(el: HTMLElement, head: Head, l: Layout, here: number, moved: Alignment | null, turn: (what: string) => void): void {
  const parts: HTMLElement[] = [];
  const at = (e: HTMLElement, y: number) => {
    e.style.top = y + "px";
    parts.push(e);
  };
  for (const g of l.groups) {
    const by = moved !== null && moved.by !== "wall" && moved.by !== "stretched" ? moved.moved_ns[g.rank] : 0;
    const label = moved !== null && moved.by !== "wall" && moved.by !== "stretched" && !moved.known[g.rank] ? "not moved" : by !== 0 ? "moved " + signed(by) : "";
    const fold = g.folded > 0 || g.open;
    at(h("div", { class: "tl-rank" + (g.rank === here ? " here" : "") },
      h("span", null, head.ranks[g.rank]),
      fold && h("button", { "aria-expanded": String(g.open), title: (g.open ? "Fold rows of " : "Unfold all rows of ") + head.ranks[g.rank], on: { click: () => turn("r" + g.rank) } },
        h("span", { "aria-hidden": "true" }, g.open ? "▾ " : "▸ "), g.open ? "fewer" : `${g.folded} more`),
      label !== "" && h("span", { class: "moved", title: label }, label)), g.y);
    for (const p of g.rows) {
      const row = head.rows[p.row], role = roles[row.role];
      const deep = row.lanes > shownLanes(row, l.groups.length);
      const name = [role !== undefined && h("b", null, role), (role !== undefined ? " " : "") + row.name, row.deeper > 0 && ` (${row.deeper} spans nested deeper)`];
      const title = `${head.ranks[row.rank]}: ${role ?? ""} ${row.name}, ${row.spans} spans in ${row.lanes} lane${row.lanes === 1 ? "" : "s"}`;
      const el = h("div", { class: "tl-row", title },
        deep ? h("button", { title, "aria-expanded": String(p.lanes === row.lanes), on: { click: () => turn(String(p.row)) } }, (p.lanes === row.lanes ? "▾ " : "▸ "), ...name) : h("span", { class: "tl-name", title }, ...name));
      el.style.height = p.height + "px";
      at(el, p.y);
    }
  }
  fill(el, ...parts);
}

/** The strips beside the ranks' names that show how far each moment was moved: the longer a bar, the farther. */
export function drawMoved(canvas: HTMLCanvasElement, l: Layout, top: number, width: number, height: number, samples: ReadonlyMap<number, number[]>, most: number, color: string): void {
  const ratio = window.devicePixelRatio || 1, ctx = canvas.getContext("2d")!;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = color;
  for (const g of l.groups) {
    const y = g.y - top, of = samples.get(g.rank);
    if (of === undefined || y > height || y + HEADER < 0) continue;
    const w = width / of.length;
    of.forEach((ns, i) => {
      const h = Math.min(Math.abs(ns) / Math.max(most, 1), 1) * (HEADER - 5);
      if (h > 0.5) ctx.fillRect(i * w, y + HEADER - 3 - h, Math.max(w, 1), h);
    });
  }
}
