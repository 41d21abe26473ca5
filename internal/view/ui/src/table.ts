// Tables of data: sorted and filtered as the address says, a part of the rows until all are asked for.

import { type Child, fill, h } from "./dom";
import type { Store } from "./state";

export interface Column<R> {
  id: string;
  title: string;
  help?: string;
  /** What is shown and, unless num says otherwise, sorted by. */
  text(row: R): string;
  /** What numbers are sorted by; they stand at the right. */
  num?(row: R): number;
  /** What is shown in place of the text. */
  cell?(row: R): Child;
  class?: string;
}

/** Rows in the order that a sort asks for: a column's id, with a leading - for falling. Equal rows stay as they are. */
export function sorted<R>(rows: readonly R[], columns: readonly Column<R>[], sort: string): R[] {
  const down = sort.startsWith("-"), column = columns.find((c) => c.id === (down ? sort.slice(1) : sort));
  const out = rows.slice();
  if (!column) return out;
  const sign = down ? -1 : 1;
  if (column.num) {
    const key = column.num.bind(column);
    // What is no number stands last, either way.
    return out.sort((a, b) => {
      const x = key(a), y = key(b);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      return sign * (Number(x > y) - Number(x < y)); // there may be infinite ones
    });
  }
  return out.sort((a, b) => sign * column.text(a).localeCompare(column.text(b), "en"));
}

/** Rows in which all words stand, in any case. */
export function filtered<R>(rows: readonly R[], text: (row: R) => string, q: string): R[] {
  const words = q.toLowerCase().split(/\s+/).filter((w) => w !== "");
  return rows.filter((r) => {
    const all = text(r).toLowerCase();
    return words.every((w) => all.includes(w));
  });
}

/** One line of comma-separated values. What a spreadsheet would take for a formula gets an apostrophe before it. */
export function csvLine(cells: readonly (string | number)[]): string {
  return cells.map((c) => {
    if (typeof c === "number") return Number.isFinite(c) ? String(c) : "";
    const text = /^[=+\-@\t\r]/.test(c) ? "'" + c : c;
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }).join(",") + "\r\n";
}

/** Saves a text as a file of the browser's user. */
export function save(name: string, kind: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const firstRows = 100;

export class Table<R> {
  readonly el = h("div", { class: "table", role: "region", tabindex: "0" });
  private rows: readonly R[] = [];

  /** A table whose sort is usual until the address has another; key names the rows that sel and filters speak of. */
  constructor(private readonly store: Store, label: string, private columns: Column<R>[], private readonly usual: string, private readonly key: (row: R) => string,
    private readonly onpick?: (row: R) => void) {
    this.el.setAttribute("aria-label", label);
  }

  /** The rows that are shown now, in their order. */
  shown(): R[] {
    const { q = "", sort = this.usual } = this.store.params;
    return sorted(filtered(this.rows, this.key, q), this.columns, sort);
  }

  set(rows: readonly R[], columns = this.columns): void {
    this.rows = rows;
    this.columns = columns;
    this.draw();
  }

  draw(): void {
    const { sort = this.usual, sel, all } = this.store.params;
    const rows = this.shown(), part = all === "1" ? rows : rows.slice(0, firstRows);
    const head = h("tr", null, ...this.columns.map((c) => {
      const on = sort.replace(/^-/, "") === c.id, falls = sort.startsWith("-");
      const next = on ? (falls ? c.id : "-" + c.id) : c.num ? "-" + c.id : c.id;
      return h("th", { scope: "col", class: (c.num ? "r " : "") + (c.class ?? ""), "aria-sort": on ? (falls ? "descending" : "ascending") : null, title: c.help },
        h("button", { on: { click: () => this.store.set({ sort: next === this.usual ? null : next }) } }, c.title, on && h("span", { "aria-hidden": "true" }, falls ? " ▾" : " ▴")));
    }));
    const body = part.map((row) => {
      const tr = h("tr", { class: sel !== undefined && this.key(row) === sel ? "selected" : null },
        ...this.columns.map((c) => h("td", { class: (c.num ? "r " : "") + (c.class ?? "") }, c.cell ? c.cell(row) : c.text(row))));
      if (this.onpick) tr.addEventListener("click", (e) => (e.target as Element).closest("a, button") === null && this.onpick!(row));
      return tr;
    });
    fill(this.el, h("table", null, h("thead", null, head), h("tbody", null, ...body)));
    if (rows.length === 0) this.el.append(h("p", { class: "none" }, this.rows.length === 0 ? "There are no rows." : "No row matches."));
    if (rows.length > part.length) this.el.append(h("button", { class: "more button", on: { click: () => this.store.set({ all: "1" }) } }, `Show all ${rows.length}`));
  }
}
