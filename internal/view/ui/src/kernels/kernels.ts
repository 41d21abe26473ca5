// What the GPUs did, added up: a flame graph and a table of the same work, by what one chooses, beside another capture.

import { digits3, duration, groupDigits, percent, signed } from "../../../../web/format";
import { legendKey } from "../../../../web/plot";
import { choices, json } from "../api";
import { fill, h } from "../dom";
import { type Changes, elsewhere, format, type Params, whole } from "../state";
import { type Column, csvLine, save, Table } from "../table";
import type { Context, Tab, View } from "../view";
import { FlameGraph } from "./flame";
import { branching, type Flame, path } from "./layout";
import "./kernels.css";

/** See Table and Row in internal/view/kernels. */
interface Rows {
  rows: Row[];
  total_ns: number;
  wait_ns: number;
  steps: number;
  other_wait_ns: number;
  other_total_ns: number;
  other_steps: number;
}

interface Row {
  name: string;
  full: string;
  class: string;
  count: number;
  total_ns: number;
  wait_ns: number;
  self_ns: number;
  median_ns: number;
  p99_ns: number;
  min_ns: number;
  max_ns: number;
  tflop_s: number;
  gb_s: number;
  rank_spread: number;
  slowest_rank: string;
  fastest_rank: string;
  role: string;
  floor_ns: number;
  source: string;
  sources: string;
  only_rank: string;
  other_count: number;
  other_total_ns: number;
  other_self_ns: number;
  other_median_ns: number;
  other_wait_ns: number;
}

const groups: { [id: string]: { title: string; one: string } } = {
  kernel: { title: "Kernel", one: "kernel" },
  class: { title: "Class", one: "class of kernels" },
  op: { title: "Op", one: "CPU op" },
  layer: { title: "Layer", one: "layer or module" },
  frame: { title: "Python", one: "Python function" },
};

/** What the figures of a view are of: a change of these asks the server anew. */
const asked = ["c", "by", "rank", "kind", "vs"] as const;

class Kernels implements View {
  el = h("div", { class: "kernels" });
  private graph = new FlameGraph((node) => this.context.store.set({ node: node === 0 ? null : node }, "push"));
  private table: Table<Row>;
  private crumbs = h("p", { class: "crumbs" });
  private tools = h("div", { class: "tools" });
  private found = h("span", { class: "soft", role: "status" });
  private search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter" });
  private rows: Rows | null = null;
  private flame: Flame | null = null;
  private asking = new AbortController();

  constructor(private context: Context) {
    const { store, keys } = context;
    this.table = new Table<Row>(store, "GPU work", [], "-total", (r) => r.full || r.name, (r) => {
      const name = r.full || r.name;
      store.set({ sel: store.params.sel === name ? null : name });
    });
    this.search.addEventListener("input", () => store.set({ q: this.search.value, all: null }));
    keys.bind("/", "Kernels", "filter", () => this.search.focus());
    keys.bind("g", "Kernels", "next grouping", () => {
      const all = this.offered();
      this.choose({ by: all[(all.indexOf(this.by()) + 1) % all.length] });
    });
    keys.bind("Escape", "Kernels", "zoom out, clear the selection", () => {
      if (store.params.sel !== undefined) store.set({ sel: null });
      else store.set({ node: null, q: null });
    });
    keys.bind("c", "Kernels", "save the table as CSV", () => this.csv());
    fill(this.el, this.tools, this.crumbs, this.graph.el, h("p", { class: "keys under-flame" }), this.table.el);
    this.head();
    this.ask();
  }

  private offered(): string[] {
    const has = this.context.capture?.groups ?? ["kernel", "class", "op"];
    return Object.keys(groups).filter((g) => has.includes(g));
  }

  private by(): string {
    const { by } = this.context.store.params, all = this.offered();
    return by !== undefined && all.includes(by) ? by : all[0];
  }

  /** Other work: what was zoomed to and chosen is not in it. */
  private choose(changes: Changes): void {
    this.context.store.set({ node: null, sel: null, all: null, ...changes });
  }

  private head(): void {
    const { session, capture, store } = this.context, p = store.params;
    const by = this.by();
    const kinds = h("select", { "aria-label": "Steps of kind", on: { change: () => this.choose({ kind: kinds.value }) } },
      h("option", { value: "" }, "all steps"), ...(capture?.kinds ?? []).map((k) => h("option", { value: k }, k)));
    kinds.value = p.kind ?? "";
    const ranks = h("select", { "aria-label": "Rank", on: { change: () => this.choose({ rank: ranks.value }) } },
      h("option", { value: "" }, "all ranks"), ...(capture?.ranks ?? []).map((r, i) => h("option", { value: String(i) }, r)));
    ranks.value = p.rank ?? "";
    const someRun = "a run";
    const others = choices(session).filter((c) => c.id !== (p.c ?? session.captures[0]?.id));
    const against = h("select", { "aria-label": "Compared with", on: {
      change: () => (against.value === someRun ? store.go(elsewhere(p, { tab: "runs" })) : this.choose({ vs: against.value })),
    } },
      h("option", { value: "" }, p.vs === undefined ? "compare with …" : "no comparison"), ...others.map((c) => h("option", { value: c.id }, "against " + c.title)));
    if (p.vs !== undefined && !others.some((c) => c.id === p.vs)) against.append(h("option", { value: p.vs }, "against " + p.vs));
    if (session.runs) against.append(h("option", { value: someRun }, "a run from the list …"));
    against.value = p.vs ?? "";
    if (document.activeElement !== this.search) this.search.value = p.q ?? "";
    fill(this.tools,
      h("span", { role: "group", "aria-label": "By" }, ...this.offered().map((g) =>
        h("button", { class: "choice", "aria-pressed": String(g === by), title: "by " + groups[g].one, on: { click: () => this.choose({ by: g === this.offered()[0] ? null : g }) } }, groups[g].title))),
      (capture?.kinds.length ?? 0) > 1 && kinds, (capture?.ranks.length ?? 0) > 1 && (session.exported?.kernel_ranks ?? true) && ranks, against.options.length > 1 && against,
      h("span", { class: "space" }), this.found, this.search,
      h("button", { class: "button", title: "Save the rows as shown (key: c)", on: { click: () => this.csv() } }, "CSV"));
  }

  private ask(): void {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking, p = this.context.store.params;
    const what = { c: p.c, by: this.by(), rank: p.rank, kind: p.kind, vs: p.vs };
    const both = Promise.all([json<Rows>("kernels", what, signal), json<Flame>("flame", { ...what, by: what.by === "kernel" ? "class" : what.by }, signal)]);
    both.then(([rows, flame]) => {
      this.rows = rows;
      this.flame = flame;
      this.show();
    }).catch((e) => {
      if (!signal.aborted) throw e;
    });
  }

  private columns(r: Rows): Column<Row>[] {
    const per = (ns: number) => ns / Math.max(r.steps, 1), was = (ns: number) => ns / Math.max(r.other_steps, 1);
    const by = this.by(), kernels = by === "kernel", nested = by !== "kernel" && by !== "class", compared = r.other_steps > 0;
    const store = this.context.store;
    const most = r.rows.reduce((m, x) => Math.max(m, per(x.total_ns), was(x.other_total_ns)), 1e-9);
    const count = (n: number) => (n > 0 && n < 0.01 ? "< 0.01" : Number.isInteger(n) ? groupDigits(String(n)) : digits3(n));
    const name: Column<Row> = {
      id: "name", title: groups[by].title, class: "name", text: (x) => x.full || x.name,
      cell: (x) => h("span", { class: "named" },
        x.class !== "" && swatch(x.class),
        h("code", { title: x.full || x.name }, x.name),
        kernels && h("a", { class: "find", href: format(elsewhere(store.params, { tab: "timeline", q: x.full || x.name })), title: "Find it in the timeline" }, "find")),
    };
    const known = (v: number, text: string) => (v > 0 ? text : "");
    if (compared) {
      const change = (x: Row) => (x.other_total_ns > 0 ? per(x.total_ns) / was(x.other_total_ns) - 1 : NaN);
      return [name,
        { id: "total", title: "this", help: "GPU time per step, mean over ranks", num: (x) => per(x.total_ns), text: (x) => known(x.total_ns, duration(per(x.total_ns))) },
        { id: "other", title: "other", help: "the same in the other capture", num: (x) => was(x.other_total_ns), text: (x) => known(x.other_total_ns, duration(was(x.other_total_ns))) },
        { id: "diff", title: "difference", help: "per step", num: (x) => Math.abs(per(x.total_ns) - was(x.other_total_ns)), text: (x) => signed(per(x.total_ns) - was(x.other_total_ns)),
          cell: (x) => differ(per(x.total_ns) - was(x.other_total_ns), most) },
        { id: "change", title: "change", num: change, text: (x) => (x.other_total_ns === 0 ? "new" : x.total_ns === 0 ? "gone" : (change(x) > 0 ? "+" : "") + percent(change(x))) },
        { id: "count", title: "kernels", help: "per step and rank", num: (x) => x.count / Math.max(r.steps, 1), text: (x) => count(x.count / Math.max(r.steps, 1)) },
        { id: "count2", title: "other", num: (x) => x.other_count / Math.max(r.other_steps, 1), text: (x) => count(x.other_count / Math.max(r.other_steps, 1)) },
        ...(r.wait_ns + r.other_wait_ns > 0 ? [
          { id: "wait", title: "waits", help: waitHelp, num: (x: Row) => per(x.wait_ns), text: (x: Row) => known(x.wait_ns, duration(per(x.wait_ns))) },
          { id: "wait2", title: "other", num: (x: Row) => was(x.other_wait_ns), text: (x: Row) => known(x.other_wait_ns, duration(was(x.other_wait_ns))) },
        ] : []),
        ...(kernels ? [
          { id: "median", title: "median", num: (x: Row) => x.median_ns, text: (x: Row) => known(x.median_ns, duration(x.median_ns)) },
          { id: "median2", title: "other", num: (x: Row) => x.other_median_ns, text: (x: Row) => known(x.other_median_ns, duration(x.other_median_ns)) },
        ] : [])];
    }
    return [name,
      { id: "total", title: "per step", help: "GPU time per step, mean over ranks" + (r.wait_ns > 0 ? ", without waits for other ranks" : "") + (nested ? ", including everything inside" : ""), num: (x) => x.total_ns, text: (x) => duration(per(x.total_ns)) },
      ...(nested ? [{ id: "self", title: "own", help: "launched directly, not by anything inside it", num: (x: Row) => x.self_ns, text: (x: Row) => known(x.self_ns, duration(per(x.self_ns))) }] : []),
      { id: "share", title: "share", num: (x) => x.total_ns, text: (x) => percent(x.total_ns / Math.max(r.total_ns, 1)), class: "share", cell: (x) => share(x, per(x.total_ns) / most, x.total_ns / Math.max(r.total_ns, 1)) },
      ...(r.wait_ns > 0 ? [{ id: "wait", title: "waits", help: waitHelp, num: (x: Row) => x.wait_ns, text: (x: Row) => known(x.wait_ns, duration(per(x.wait_ns))) }] : []),
      { id: "count", title: "kernels", help: "per step and rank", num: (x) => x.count, text: (x) => known(x.count, count(x.count / Math.max(r.steps, 1))) },
      ...(r.rows.some((x) => x.role !== "") ? [
        { id: "role", title: "role", help: "the modules of the model whose main kernel this is", text: (x: Row) => x.role, cell: (x: Row) => cut(x.role, x.role) },
        { id: "floor", title: "floor", help: "per step: the least time of these modules at the peaks of the device", num: (x: Row) => x.floor_ns, text: (x: Row) => known(x.floor_ns, duration(per(x.floor_ns))) },
      ] : []),
      ...(kernels ? [
        { id: "median", title: "median", num: (x: Row) => x.median_ns, text: (x: Row) => duration(x.median_ns) },
        { id: "p99", title: "p99", num: (x: Row) => x.p99_ns, text: (x: Row) => duration(x.p99_ns) },
        { id: "max", title: "longest", num: (x: Row) => x.max_ns, text: (x: Row) => duration(x.max_ns) },
        { id: "spread", title: "over ranks", help: "the rank with the longest median, beside the one with the shortest; or the only rank that runs it", num: (x: Row) => (x.only_rank ? Infinity : x.rank_spread), text: overRanks,
          cell: (x: Row) => h("span", { title: x.only_rank || x.rank_spread < leastSpread ? "" : `the median on ${x.slowest_rank}, beside ${x.fastest_rank}, which has the shortest` }, overRanks(x)) },
        ...(r.rows.some((x) => x.tflop_s > 0) ? [{ id: "tflops", title: "TFLOP/s", num: (x: Row) => x.tflop_s, text: (x: Row) => known(x.tflop_s, count(x.tflop_s)) }] : []),
        ...(r.rows.some((x) => x.gb_s > 0) ? [{ id: "gbs", title: "GB/s", num: (x: Row) => x.gb_s, text: (x: Row) => known(x.gb_s, count(x.gb_s)) }] : []),
      ] : []),
      ...(r.rows.some((x) => x.source !== "") ? [{ id: "source", title: "source", help: "the place in the program that launches it", text: (x: Row) => x.source, cell: (x: Row) => cut(x.source, x.sources || x.source) }] : [])];
  }

  private show(): void {
    if (!this.rows || !this.flame) return;
    this.table.set(this.rows.rows, this.columns(this.rows));
    this.graph.set(this.flame, 0);
    this.legend();
    this.zoom();
    this.light();
  }

  private zoom(): void {
    const f = this.flame, t = this.graph.walk;
    if (!f || !t) return;
    const node = whole(this.context.store.params, "node", -1);
    const focus = node >= 0 && node < f.parent.length ? node : branching(f, t);
    this.graph.zoom(focus);
    const { store } = this.context;
    const steps = path(f, focus), link = (n: number, text: string) => h("a", { href: format({ ...store.params, node: String(n) }) }, text);
    // A long way: its beginning and its end.
    const named = (n: number) => f.names[f.name[n]];
    const all = this.rows!, per = (ns: number) => duration(ns / Math.max(all.steps, 1)), wait = all.rows.find((r) => r.class === "wait")?.total_ns ?? all.wait_ns;
    if (steps.length === 0) return fill(this.crumbs, `${per(f.total[0])} of GPU time per step and rank, ${wait > 0 ? per(wait) + " of it waiting for other ranks, " : ""}over ${groupDigits(String(this.rows!.steps))} steps of all ranks together`);
    fill(this.crumbs, link(0, "all"), ...steps.flatMap((n, i) => {
      if (steps.length > 6 && i >= 2 && i < steps.length - 3) return i === 2 ? [" › ", h("span", { title: steps.slice(2, -3).map(named).join(" › ") }, "…")] : [];
      return [" › ", n === focus ? h("b", null, named(n)) : link(n, named(n))];
    }));
  }

  private light(): void {
    const { sel, q = "" } = this.context.store.params;
    const words = q.toLowerCase().split(/\s+/).filter((w) => w !== "");
    this.graph.light((name) => (sel !== undefined ? name === sel : words.length > 0 && words.every((w) => name.toLowerCase().includes(w))));
    const shown = this.table.shown().length;
    fill(this.found, this.rows && q !== "" && `${shown} of ${this.rows.rows.length}`);
  }

  private legend(): void {
    const f = this.flame!, compared = f.other.length > 0;
    const classes = [...new Set(f.class.filter((c) => c !== ""))];
    fill(this.el.querySelector(".under-flame")!,
      ...(compared ? [legendKey("--under", "shorter here"), legendKey("--cold", "the same"), legendKey("--high", "longer here, or new")] : classes.map((c) => legendKey("--" + c.toLowerCase(), c))),
      f.left_out > 0 && h("span", null, `${groupDigits(String(f.left_out))} parts are too small to see`));
  }

  private csv(): void {
    if (!this.rows) return;
    const columns = this.columns(this.rows), title = this.context.capture?.title ?? "capture";
    const unit = (c: Column<Row>) => (["total", "wait", "wait2", "floor", "self", "other", "diff", "median", "median2", "p99", "max"].includes(c.id) ? " (ns)" : "");
    const lines = [csvLine([...columns.map((c, i) => (c.title === "other" && i > 0 ? columns[i - 1].title + ", other" : c.title) + unit(c)), "class"]),
      ...this.table.shown().map((r) => csvLine([...columns.map((c) => (c.id === "diff" ? r.total_ns / Math.max(this.rows!.steps, 1) - r.other_total_ns / Math.max(this.rows!.other_steps, 1) : this.value(c, r))), r.class]))];
    save(`${title.replace(/[^\w.-]+/g, "_")}-${this.by()}.csv`, "text/csv", lines.join(""));
  }

  /** A column's number as the table says it: times and counts of a step. */
  private value(c: Column<Row>, r: Row): number | string {
    if (!c.num) return c.text(r);
    const n = c.num(r), whole = this.rows!.other_steps > 0 ? 1 : Math.max(this.rows!.steps, 1);
    if (!Number.isFinite(n)) return c.text(r);
    if (c.id === "share") return n / Math.max(this.rows!.total_ns, 1);
    return ["total", "self", "wait", "floor", "count"].includes(c.id) ? n / whole : n;
  }

  update(now: Params, before: Params): void {
    const changed = (names: readonly string[]) => names.some((n) => now[n] !== before[n]);
    if (changed(asked)) {
      this.head();
      return this.ask();
    }
    if (document.activeElement !== this.search) this.search.value = now.q ?? "";
    if (changed(["node"])) this.zoom();
    if (changed(["sel", "q"])) this.light();
    if (changed(["sel", "q", "sort", "all"])) this.table.draw();
  }

  restyle(): void {
    this.graph.draw();
  }

  close(): void {
    this.asking.abort();
    this.graph.drop();
  }
}

function swatch(name: string): HTMLElement {
  return h("i", { class: "swatch s-" + name.toLowerCase().replace(/[^a-z]/g, "-"), title: name });
}

/** Ranks differ by so much at least if anything is said of it. */
const leastSpread = 0.005;

const waitHelp = "per step: the time in collectives until the last rank arrives, or while another rank was not recorded";

/** How a kernel differs over ranks, in words. */
export function overRanks(x: Pick<Row, "only_rank" | "rank_spread" | "slowest_rank">): string {
  if (x.only_rank) return "only " + x.only_rank;
  if (x.rank_spread < leastSpread) return "";
  return x.slowest_rank + (x.rank_spread < 1 ? ` ${percent(x.rank_spread)} longer` : ` ${digits3(1 + x.rank_spread)} times as long`);
}

/** A text that is cut where there is no room for it. */
function cut(text: string, all: string): HTMLElement {
  return h("span", { class: "cut", title: all }, text);
}

/** A share as a bar and a number. */
function share(x: Row, part: number, of: number): HTMLElement {
  const bar = h("i", { class: "s-" + (x.class || "share").toLowerCase().replace(/[^a-z]/g, "-") });
  bar.style.width = Math.max(part * 100, 0.5) + "%";
  return h("span", { class: "part" }, h("span", { class: "bar", "aria-hidden": "true" }, bar), h("span", null, percent(of)));
}

/** A difference as a bar to either side and a number. */
function differ(ns: number, most: number): HTMLElement {
  const bar = h("i", { class: ns > 0 ? "more-time" : "less-time" });
  bar.style.width = Math.min(Math.abs(ns) / most, 1) * 50 + "%";
  return h("span", { class: "part" }, h("span", { class: "bar two", "aria-hidden": "true" }, bar), h("span", null, signed(ns)));
}

export const kernels: Tab = { id: "kernels", title: "Kernels", needs: "capture", open: (context) => new Kernels(context) };
