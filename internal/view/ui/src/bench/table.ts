// Tables of a few rows as Go sends them, in its order; see pageTable in explain/report/html.go.

import { h } from "../dom";

export type Cell = { text: string; full?: string; num?: string; code?: boolean; right?: boolean; short?: boolean; wrap?: boolean };
export type Table = {
  id: string; title: string; lead?: string; omitted?: string;
  cols: { name: string; help?: string; right?: boolean }[];
  rows: { id?: string; cells: Cell[] }[];
};

export function table(t: Table): HTMLElement {
  return h("div", null,
    h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": t.title + ", table" }, h("table", null,
      h("thead", null, h("tr", null, ...t.cols.map((c) => (c.name === "" ? h("td") : h("th", { scope: "col", class: c.right ? "r" : undefined, title: c.help }, c.name))))),
      h("tbody", null, ...t.rows.map((r) => h("tr", null, ...r.cells.map(cell)))))),
    t.omitted && h("p", { class: "soft" }, t.omitted));
}

function cell(c: Cell): HTMLElement {
  return h("td", { class: c.right ? "r" : c.wrap ? "w" : c.short ? "n" : undefined }, c.code ? h("code", { title: c.full }, c.text) : c.text);
}
