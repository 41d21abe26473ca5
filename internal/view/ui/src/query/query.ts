// SQL over the spans of a capture. SQLite runs in a worker (worker.ts), over the database that trace export writes.

import "./query.css";
import { address, busy, json } from "../api";
import { fill, h } from "../dom";
import { elsewhere, type Params } from "../state";
import type { Context, Tab, View } from "../view";
import { cell, csv, placeOf } from "./rows";

/** What the worker is asked: a query over the database of an address. */
export interface Ask {
  url: string;
  sql: string;
}

/** What it answers. */
export type Answer = { error: string } | { columns: string[]; rows: (string | number | null)[][]; more: boolean; ms: number };

const examples: readonly [title: string, sql: string][] = [
  ["longest kernels", "SELECT rank, step, name, start_ns, dur_ns FROM spans\nWHERE category = 'kernel' ORDER BY dur_ns DESC LIMIT 50"],
  ["longest gaps of each GPU", "SELECT rank, step, start_ns - max(end_ns) OVER (PARTITION BY rank ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns,\n  name AS 'after the gap', start_ns FROM spans WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset') ORDER BY gap_ns DESC LIMIT 50"],
  ["time by kernel class", "SELECT rank, class, count(*) AS kernels, sum(dur_ns) AS ns FROM spans\nWHERE class IS NOT NULL GROUP BY rank, class ORDER BY rank, ns DESC"],
  ["one step on all ranks", "SELECT rank, step_kind, count(*) AS kernels, sum(dur_ns) AS busy_ns, max(end_ns) - min(start_ns) AS length_ns\nFROM spans WHERE step = 1 AND category = 'kernel' GROUP BY rank"],
  ["shapes of matrix products", "SELECT name, input_dims, count(*) AS calls, sum(dur_ns) AS ns FROM spans\nWHERE input_dims IS NOT NULL GROUP BY name, input_dims ORDER BY calls DESC LIMIT 50"],
  ["tables and columns", "SELECT m.name AS 'table', group_concat(c.name, ', ') AS columns\nFROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') GROUP BY m.name ORDER BY m.name"],
];

/** The longest query that is kept in the address. */
const MOST_KEPT = 4000;

class Query implements View {
  private worker: Worker | null = null;
  private ranks: string[] | null = null;
  private running: (() => void) | null = null;
  private readonly text = h("textarea", { spellcheck: "false", rows: "5", "aria-label": "SQL", placeholder: "SELECT … FROM spans" });
  private readonly start = h("button", { class: "button", title: "Run the query (key: Ctrl + Enter)", on: { click: () => this.run() } }, "Run");
  private readonly stop = h("button", { class: "button", disabled: true, on: { click: () => this.end("stopped") } }, "Stop");
  private readonly said = h("p", { class: "query-said", role: "status" });
  private readonly result = h("div", { class: "table query-rows", tabindex: "0", role: "region", "aria-label": "Rows" });
  readonly el = h("div", { class: "query" },
    h("p", { class: "query-about" }, "SQL over the spans of this capture, as ", h("code", null, "stepscope trace export"), " writes them. Times are ns; ",
      h("code", null, "start_ns"), " counts from the epoch. A row with ", h("code", null, "rank"), " and ", h("code", null, "start_ns"), " leads to its span in the timeline."),
    h("div", { class: "query-examples" }, ...examples.map(([title, sql]) => h("button", { class: "chip", on: { click: () => this.example(sql) } }, title))),
    this.text, h("div", { class: "query-tools" }, this.start, this.stop, this.said), this.result);

  constructor(private readonly context: Context) {
    this.text.value = context.store.params.sql ?? "";
    this.text.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      this.run();
    });
    if (this.text.value !== "") this.run();
  }

  update(now: Params, before: Params): void {
    if (now.sql === before.sql || now.sql === this.text.value) return;
    this.text.value = now.sql ?? "";
    if (now.sql !== undefined) this.run();
  }

  private example(sql: string): void {
    this.text.value = sql;
    this.run();
  }

  private async ask(sql: string): Promise<Answer> {
    this.worker ??= new Worker("query.js");
    const { worker } = this;
    return new Promise((done) => {
      this.running = () => done({ error: "stopped" });
      worker.onmessage = (e: MessageEvent<Answer>) => done(e.data);
      worker.onerror = () => done({ error: "SQLite could not be started in this browser" });
      // A worker resolves addresses against its own, which is beside the page.
      worker.postMessage({ url: address("database", { c: this.context.store.params.c }), sql } satisfies Ask);
    });
  }

  private run(): void {
    const sql = this.text.value.trim();
    if (sql === "" || this.running !== null) return;
    if (sql.length <= MOST_KEPT) this.context.store.set({ sql }, "push");
    this.stop.disabled = false;
    this.said.textContent = this.worker === null ? "making the tables …" : "running …";
    void busy((async () => {
      // Ranks by their places in the tables, which are those of the timeline.
      const ranks = this.ranks === null ? await this.ask("SELECT rank FROM ranks ORDER BY id") : null;
      if (ranks !== null && "error" in ranks) return this.show(ranks);
      if (ranks !== null) this.ranks = ranks.rows.map((r) => String(r[0]));
      this.show(await this.ask(sql));
    })());
  }

  private show(a: Answer): void {
    this.running = null;
    this.stop.disabled = true;
    this.said.classList.toggle("bad", "error" in a);
    if ("error" in a) {
      this.said.textContent = a.error;
      return fill(this.result);
    }
    const n = a.rows.length, where = placeOf(a.columns);
    fill(this.said, `${a.more ? `the first ${n} rows` : `${n} row${n === 1 ? "" : "s"}`}, ${a.ms < 10 ? a.ms.toFixed(1) : Math.round(a.ms)} ms `,
      n > 0 && h("a", { href: URL.createObjectURL(new Blob([csv(a.columns, a.rows)], { type: "text/csv" })), download: "query.csv" }, "CSV"));
    fill(this.result, a.columns.length > 0 && h("table", null,
      h("thead", null, h("tr", null, where !== null && h("th", { scope: "col" }, h("span", { class: "hidden" }, "span")), ...a.columns.map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", null, ...a.rows.map((row) => h("tr", null,
        where !== null && h("td", null, h("button", { class: "tl-link", "aria-label": "Show in the timeline", on: { click: () => void this.find(row, where) } }, "show")),
        ...row.map((v) => h("td", { class: typeof v === "number" ? "r" : null, title: typeof v === "string" ? v : null }, cell(v))))))));
  }

  /** Shows the span of a row in the timeline. */
  private async find(row: readonly (string | number | null)[], where: { rank: number; start: number; dur: number }): Promise<void> {
    const rank = this.ranks?.indexOf(String(row[where.rank])) ?? -1, { store } = this.context;
    const l = rank < 0 ? null : await json<{ rank: number; span: number; start_ns: number; dur_ns: number } | null>("timeline/locate",
      { c: store.params.c, rank, start: String(row[where.start]), dur: where.dur < 0 ? null : String(row[where.dur]) });
    if (l === null) return void (this.said.textContent = "No span of this rank begins at that time.");
    const half = Math.max(l.dur_ns, 500);
    store.go(elsewhere(store.params, { tab: "timeline", rank: l.rank, sel: l.span, t0: l.start_ns - half, t1: l.start_ns + l.dur_ns + half }));
  }

  /** Ends what runs. SQLite cannot be interrupted, so its worker ends with it; the next query makes the tables anew. */
  private end(why: string): void {
    this.worker?.terminate();
    this.worker = null;
    this.running?.();
    if (why !== "") this.said.textContent = why;
  }

  close(): void {
    this.end("");
  }
}

export const query: Tab = { id: "query", title: "Query", needs: "tables", open: (context) => new Query(context) };
