// How a range of time divides on each rank, and the choice of ranks.

import { duration, percent } from "../../../../web/format";
import { stack } from "../../../../web/stack";
import { type Child, h } from "../dom";
import type { Head, Link, RankSum, Table } from "./wire";

const MOST = 256;

const columns: { name: string; title: string; of: (s: RankSum) => number }[] = [
  { name: "compute", title: "compute", of: (s) => s.compute_ns },
  { name: "transfer", title: "transfer", of: (s) => s.transfer_ns },
  { name: "wait", title: "wait", of: (s) => s.wait_ns },
  { name: "copy", title: "copy", of: (s) => s.copy_ns },
  { name: "unknown", title: "idle", of: (s) => s.idle_ns },
];

/** A table with a line for each rank that is shown; choose sums up over some of them, null: it cannot. */
export function rankSums(head: Head, t: Table, shown: readonly number[], chosen: boolean, link: (l: Link, text: string) => Child, choose: ((ranks: readonly number[] | null) => void) | null): HTMLElement {
  const by = new Map(t.ranks.map((s) => [s.rank, s])), used = columns.filter((c) => c.name !== "copy" || t.ranks.some((s) => s.copy_ns > 0));
  const turned = (rank: number) => (by.has(rank) ? t.ranks.map((s) => s.rank).filter((r) => r !== rank) : [...by.keys(), rank]);
  const box = (rank: number) => h("td", { data: { tool: "" } }, h("input", {
    type: "checkbox", checked: by.has(rank), "aria-label": `Sum up ${head.ranks[rank]}`, data: { tool: "rank" + rank }, on: { change: () => choose!(turned(rank)) } }));
  const row = (rank: number): HTMLElement => {
    const s = by.get(rank), pick = choose !== null && shown.length > 1 && box(rank), name = h("th", { scope: "row" }, head.ranks[rank]);
    if (s === undefined) return h("tr", { class: "tl-none" }, pick, name, h("td", { colspan: String(used.length + 2) }));
    const parts = used.map((c) => ({ name: c.name, label: s.device ? c.title : c.title === "compute" ? "busy" : c.title, ns: c.of(s) }));
    return h("tr", { data: { rank: String(rank) } }, pick, name,
      h("td", { data: { tool: "" } }, stack(parts, 1, (p) => `${p.label} ${percent(p.ns / Math.max(t.to_ns - t.from_ns, 1))}`)),
      ...used.map((c) => h("td", { class: "r" }, s.device || c.name === "compute" || c.name === "unknown" ? duration(c.of(s)) : "")),
      h("td", { title: s.longest?.label }, s.longest === null ? "" : link(s.longest, duration(s.longest.dur_ns) + " " + s.longest.label)));
  };
  const device = t.ranks.every((s) => s.device);
  return h("div", { class: "tl-counterparts tl-ranksums" },
    h("h3", null, "By rank", chosen && choose !== null && h("button", { class: "tl-link", data: { tool: "" }, on: { click: () => choose(null) } }, "all visible rows")),
    h("table", null,
      h("thead", null, h("tr", null, choose !== null && shown.length > 1 && h("td", { data: { tool: "" } }), h("th", { scope: "col" }, "rank"), h("td", { data: { tool: "" } }),
        ...used.map((c) => h("th", { scope: "col", class: "r" }, c.title === "compute" && !device ? "busy" : c.title)), h("th", { scope: "col" }, "longest span"))),
      h("tbody", null, ...shown.slice(0, MOST).map(row))),
    shown.length > MOST && h("p", { class: "tl-soft" }, `${shown.length - MOST} more ranks are left out: show fewer, or drag over their rows.`));
}
