// Tables as Go sends them; see pageTable in explain/report/html.go.

import { enhance } from "../../../explain/report/page/tables";
import { h } from "./dom";

export type Cell = { text: string; full?: string; num?: string; code?: boolean; right?: boolean; short?: boolean; wrap?: boolean };
export type Table = {
  id: string; title: string; lead?: string; omitted?: string;
  cols: { name: string; help?: string; right?: boolean }[];
  rows: { id?: string; cells: Cell[] }[];
};

/** A table whose columns sort, and which can be filtered if it is long. */
export function table(t: Table): HTMLElement {
  const el = h("table", { data: { title: t.title } },
    h("thead", null, h("tr", null, ...t.cols.map((c) => h("th", { scope: "col", class: c.right ? "r" : undefined, title: c.help }, c.name)))),
    h("tbody", null, ...t.rows.map((r) => h("tr", null, ...r.cells.map(cell)))));
  const box = h("div", { class: "table" }, h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": t.title + ", table" }, el), t.omitted && h("p", { class: "omitted" }, t.omitted));
  enhance(el);
  return box;
}

function cell(c: Cell): HTMLElement {
  const text = c.code ? h("code", { title: c.full }, c.text) : c.text;
  return h("td", { class: c.right ? "r" : c.wrap ? "w" : c.short ? "n" : undefined, data: c.num ? { v: c.num } : {} }, text);
}
