// The runs that are kept: what they measured, and the way to what of them can be shown.

import { bytes, groupDigits } from "../../../../web/format";
import { json } from "../api";
import { type Child, fill, h } from "../dom";
import { elsewhere, format, type Params } from "../state";
import { type Column, Table } from "../table";
import type { Context, Tab, View } from "../view";
import "./runs.css";

/** See runRow in internal/view. */
interface Run {
  id: string;
  kind: string;
  status: string;
  created_ms: number;
  tags: string[];
  model: string;
  backend: string;
  numbers: { name: string; value: number; unit?: string }[];
  size: number;
  problem: string;
  traces: boolean;
  load: boolean;
}

/** A time of this place, in a form that sorts. */
export function stamp(ms: number): string {
  const d = new Date(ms), two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** A figure as the list of the command line has it. */
export function figure(n: { name: string; value: number; unit?: string }): string {
  const value = Math.abs(n.value) >= 1000 ? groupDigits(String(Math.round(n.value))) : String(Number(n.value.toPrecision(3)));
  return `${n.name} ${value}${n.unit ? " " + n.unit : ""}`;
}

class Runs implements View {
  el = h("div", { class: "runs" });
  private search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter" });
  private table: Table<Run>;

  constructor(private context: Context) {
    const { store, keys } = context;
    this.table = new Table<Run>(store, "Runs", this.columns(), "-created", (r) => [r.id, r.kind, r.status, r.model, r.backend, ...r.tags].join(" "));
    this.search.value = store.params.q ?? "";
    this.search.addEventListener("input", () => store.set({ q: this.search.value, all: null }));
    keys.bind("/", "Runs", "filter", () => this.search.focus());
    json<{ runs: Run[] }>("runs").then(({ runs }) => {
      if (runs.length === 0) return fill(this.el, h("p", { class: "none" }, "There are no runs yet: bench, profile, demo and job each keep one."));
      fill(this.el, h("div", { class: "tools" }, h("span", { class: "soft" }, `${groupDigits(String(runs.length))} runs`), h("span", { class: "space" }), this.search), this.table.el);
      this.table.set(runs);
    });
  }

  private columns(): Column<Run>[] {
    const { store, session } = this.context;
    const link = (changes: Params, text: string, title: string): HTMLElement => h("a", { href: format(elsewhere(store.params, changes)), title }, text);
    const open = store.params.c ?? session.captures[0]?.id;
    const ways = (r: Run): Child[] => [
      r.traces && link({ tab: "summary", c: r.id }, "capture", "summary of the capture"),
      r.load && link({ tab: "bench", run: r.id }, "load", "latencies of the requests"),
      r.traces && open !== undefined && open.split(":")[0] !== r.id && link({ tab: "kernels", c: open, vs: r.id }, "compare", "compare the kernels of the open capture with those of this run"),
    ];
    return [
      { id: "created", title: "when", num: (r) => r.created_ms, text: (r) => stamp(r.created_ms), class: "when" },
      { id: "kind", title: "kind", text: (r) => r.kind },
      { id: "status", title: "status", text: (r) => r.status, cell: (r) => h("span", { class: "status is-" + r.status.replace(/[^a-z]/g, ""), title: r.problem }, r.status) },
      { id: "model", title: "model", class: "name", text: (r) => r.model, cell: (r) => h("span", { class: "cut", title: [r.model, r.backend, ...r.tags].filter((t) => t !== "").join(", ") }, r.model || r.backend, ...r.tags.map((t) => h("span", { class: "chip" }, t))) },
      { id: "numbers", title: "figures", text: (r) => r.numbers.map(figure).join(", "), cell: (r) => r.numbers.slice(0, 3).map(figure).join(" · ") },
      { id: "size", title: "size", num: (r) => r.size, text: (r) => bytes(r.size) },
      { id: "id", title: "id", text: (r) => r.id, cell: (r) => h("code", null, r.id) },
      { id: "show", title: "show", text: () => "", cell: (r) => h("span", { class: "ways" }, ...ways(r)) },
    ];
  }

  update(now: Params, before: Params): void {
    if (["q", "sort", "all"].some((n) => now[n] !== before[n])) this.table.draw();
  }
}

export const runs: Tab = { id: "runs", title: "Runs", needs: "runs", open: (context) => new Runs(context) };
