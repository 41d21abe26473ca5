// The first view: what is wrong, what it is worth, where to see it; where the time of each rank goes; the steps.

import { StepBars } from "../../../../web/bars";
import { duration, percent } from "../../../../web/format";
import { HeatMap, type Measure, noise } from "../../../../web/heat";
import { legendKey, type Plot, StepView } from "../../../../web/plot";
import { partLabel, stack } from "../../../../web/stack";
import type { Data } from "../../../../web/steps";
import { type Fix, json } from "../api";
import { type Child, fill, h } from "../dom";
import { type Changes, elsewhere, format, type Params, whole } from "../state";
import { listText } from "../timeline/groups";
import type { Context, Tab, View } from "../view";
import { fixed, rankOf, settingsOf } from "../whatif/fixes";
import "./summary.css";

/** See Overview in internal/explain/report. */
interface Overview {
  title: string;
  verdict: string;
  caveat: string;
  no_fault: boolean;
  head: string[];
  findings: Finding[];
  says: string[];
  times: Time[];
  parts: string[];
  /** What a large part of the time is. */
  colours: { kind: string; part: string; text: string; finding: number }[];
  chart: Data;
  left_out: string[];
  /** What a watch told of the window. */
  watched: { says: string; more: string[] }[];
}

interface Finding {
  id: string;
  severity: string;
  cost: string;
  title: string;
  cause: string;
  passing: boolean;
  steps: string;
  ranks: number[];
  evidence: { text: string; short: string; name: string; kernel: boolean; at: Place | null }[];
  next: string[];
  guide: string;
  at: Place | null;
  measure: Measure;
  what_if: string[];
}

interface Place {
  step: number;
  rank: number;
  t0: number;
  t1: number;
  /** The interval itself, and the span that has it; below 0: there is none. */
  start_ns: number;
  end_ns: number;
  span: number;
}

interface Time {
  rank: number;
  kind: string;
  steps: number;
  per_step_ns: number;
  total_ns: number;
  parts: number[];
}

const measures: [Measure, string][] = [
  ["work", "own work beyond the median rank"],
  ["host", "host gap beyond the median rank"],
  ["wait", "waiting for other ranks"],
];

/** The parameters of the timeline for a place of a finding: what is selected there fills a third of the width. */
function placed(at: Place, f: Finding): Changes {
  const room = at.end_ns - at.start_ns, selected = at.span >= 0 ? { sel: at.span } : { r0: at.start_ns, r1: at.end_ns };
  return { tab: "timeline", step: at.step < 0 ? null : at.step, rank: at.rank, t0: at.start_ns - room, t1: at.end_ns + room, find: f.id, ...selected };
}

class Summary implements View {
  el = h("div", { class: "summary" });
  private plots: Plot[] = [];
  private steps: StepView | null = null;
  private map: HeatMap | null = null;
  private open: (col: number, row: number) => void = () => {};
  private overview: Overview | null = null;
  private shown: Measure | null = null;

  constructor(private context: Context) {
    const { keys, store } = context;
    const move = (by: number) => {
      const n = this.overview?.findings.length ?? 0;
      if (n > 0) store.set({ sel: Math.min(Math.max(whole(store.params, "sel", -1) + by, 0), n - 1) });
    };
    keys.bind("j ArrowDown", "Summary", "next finding", () => move(1));
    keys.bind("k ArrowUp", "Summary", "previous finding", () => move(-1));
    keys.bind("Enter", "Summary", "show the finding in the timeline", () => {
      const f = this.overview?.findings[whole(store.params, "sel", -1)];
      if (f?.at) store.go(elsewhere(store.params, placed(f.at, f)));
    });
    keys.bind("m", "Summary", "next measure of the map", () => {
      const at = measures.findIndex(([m]) => m === this.measure());
      store.set({ map: measures[(at + 1) % measures.length][0] });
    });
    json<Overview>("summary", { c: store.params.c }).then((o) => {
      this.overview = o;
      this.show(o);
    });
  }

  /** The finding that the map marks: the one that was chosen, or the first that has ranks and steps; -1: there is none. */
  private marked(): number {
    const chosen = whole(this.context.store.params, "sel", -1), o = this.overview!;
    return o.findings[chosen] !== undefined ? chosen : o.chart.findings.findIndex((f) => f.first >= 0 && f.ranks.length > 0);
  }

  /** The measure that is shown unless the address says another. */
  private first(): Measure {
    return (this.overview?.findings[whole(this.context.store.params, "sel", -1)]?.measure ?? this.context.capture!.map) as Measure;
  }

  private measure(): Measure {
    const m = this.context.store.params.map;
    return measures.some(([name]) => name === m) ? (m as Measure) : this.first();
  }

  private link(changes: Changes, ...children: Child[]): HTMLAnchorElement {
    return h("a", { href: format(elsewhere(this.context.store.params, changes)) }, ...children);
  }

  private show(o: Overview): void {
    const many = o.chart.grid.cols > 0;
    const caveat = o.caveat !== "" && h("p", { class: "caveat" }, h("strong", null, "Incomplete: "), o.caveat);
    fill(this.el,
      h("section", { class: "answer-line" },
        o.no_fault && caveat,
        ...o.watched.map((w) => h("div", { class: "watch" }, h("p", { class: "verdict" }, w.says),
          w.more.length > 0 && h("details", null, h("summary", null, "what the watch saw"), h("pre", null, w.more.join("\n"))))),
        o.verdict !== "" && h("p", { class: o.watched.length > 0 ? "in-window" : "verdict" }, o.watched.length > 0 && "In this window: ", o.verdict),
        h("p", { class: "facts" }, o.head.join(" · ")),
        !o.no_fault && caveat),
      h("section", { class: "found", "aria-label": "Findings" },
        h("h2", null, "Findings"),
        ...o.findings.map((f, i) => this.finding(o, f, i)),
        o.findings.length === 0 && h("p", { class: "soft" }, "Nothing stands out."),
        ...o.says.map((text) => h("p", { class: "note" }, text))),
      h("div", { class: "seen" },
        h("section", { "aria-label": "Where the time goes" }, this.times(o)),
        many && h("section", { "aria-label": "Steps" }, ...this.strips(o))),
      o.left_out.length > 0 && h("details", { class: "left" }, h("summary", null, "Not shown in this view"), h("ul", null, ...o.left_out.map((text) => h("li", null, text)))));
    this.plot(o);
    this.select();
  }

  private finding(o: Overview, f: Finding, i: number): HTMLElement {
    const few = 3;
    const evidence = f.evidence.map((e) => h("li", null, e.text,
      e.short !== "" && h("code", { title: e.name }, e.short),
      e.kernel && !e.name.includes("\n") && this.link({ tab: "kernels", q: e.name }, "kernel"),
      e.at && this.link(placed(e.at, f), e.at.step < 0 ? "timeline" : "step " + e.at.step)));
    return h("article", { class: "finding sev-" + f.severity, data: { finding: String(i) }, on: { click: () => this.context.store.set({ sel: i }) } },
      h("header", null, h("span", { class: "severity" }, f.severity), h("span", { class: "cost" }, f.cost)),
      h("h3", null, f.title),
      h("p", { class: "chips" },
        ...f.ranks.slice(0, 6).map((r) => h("span", { class: "chip" }, o.chart.ranks[r] ?? "#" + r)),
        f.ranks.length > 6 && h("span", { class: "chip" }, `and ${f.ranks.length - 6} more`),
        f.at && f.ranks.length > 1 && f.ranks.length < o.chart.ranks.length && this.link({ ...placed(f.at, f), rank: f.ranks[0], only: listText(f.ranks), order: "late" }, `all ${f.ranks.length} in the timeline`),
        f.steps !== "" && h("span", { class: "chip" }, f.steps),
        f.cause !== "" && h("span", { class: "chip" }, "cause: " + f.cause),
        f.passing && h("span", { class: "chip" }, "transient"),
        h("span", { class: "space" }),
        f.what_if.length > 0 && fixed({ finding: f.title, set: f.what_if }, this.context.session) && this.whatIf({ finding: f.title, set: f.what_if }),
        f.at && h("span", { class: "go" }, this.link(placed(f.at, f), "Show in the timeline"))),
      evidence.length > 0 && h("ul", { class: "evidence" }, ...evidence.slice(0, few)),
      evidence.length > few && h("details", null, h("summary", null, `and ${evidence.length - few} more`), h("ul", { class: "evidence" }, ...evidence.slice(few))),
      (f.next.length > 0 || f.guide !== "") && h("ul", { class: "next" }, ...f.next.map((text) => h("li", null, text)),
        f.guide !== "" && h("li", null, "More on this: ", h("code", null, "stepscope guide " + f.guide))));
  }

  /** A link to the steps as they would be without the cause of a finding. */
  private whatIf(f: Fix): HTMLElement {
    return this.link({ tab: "whatif", set: settingsOf(f), rank: rankOf(f, this.context.capture?.ranks ?? []) }, "What if");
  }

  /** The time split of each rank, for steps of one kind. */
  private times(o: Overview): HTMLElement {
    const kinds = [...new Set(o.times.map((t) => t.kind))];
    const kind = kinds.includes(this.context.store.params.kind ?? "") ? this.context.store.params.kind : kinds.includes("all") ? "all" : kinds[0];
    const rows = o.times.filter((t) => t.kind === kind && (t.rank >= 0 || o.chart.ranks.length > 1));
    const used = o.parts.filter((_, i) => rows.some((t) => t.parts[i] > 0));
    const longest = Math.max(...rows.map((t) => t.per_step_ns), 1);
    const pick = h("select", { "aria-label": "Steps of kind", on: { change: () => this.context.store.set({ kind: pick.value === "all" ? null : pick.value }) } },
      ...kinds.map((k) => h("option", { value: k, selected: k === kind }, k === "all" ? "all steps" : k)));
    return h("div", { class: "times" },
      h("h2", null, "Where the time goes", h("span", { class: "space" }), kinds.length > 2 && pick),
      h("div", { class: "split", role: "table", "aria-label": "Time of a mean step by rank" },
        ...rows.map((t) => h("div", { role: "row", class: t.rank < 0 ? "all" : "" },
          h("span", { role: "rowheader" }, t.rank < 0 ? "all ranks" : (o.chart.ranks[t.rank] ?? "#" + t.rank)),
          h("span", { role: "cell", class: "track" }, this.split(o, t, longest)),
          h("span", { role: "cell", class: "number" }, duration(t.per_step_ns))))),
      h("p", { class: "keys" }, ...used.map((name) => legendKey("--" + name, partLabel(name)))),
      h("ul", { class: "explained" }, ...o.colours.filter((c) => c.kind === kind).map((c) => h("li", null, legendKey("--" + c.part, ""), h("span", null, c.text,
        c.finding >= 0 && h("a", { href: format({ ...this.context.store.params, sel: String(c.finding) }) }, "finding"))))));
  }

  /** One bar: its width is the length of a mean step, its parts are what that went into. */
  private split(o: Overview, t: Time, longest: number): HTMLElement {
    const parts = o.parts.map((name, i) => ({ name, label: partLabel(name), ns: t.parts[i] }));
    return stack(parts, t.per_step_ns / longest, (p) => `${p.label} ${percent(p.ns / t.total_ns)}`);
  }

  private strips(o: Overview): Child[] {
    const tools = h("span", { class: "tools", role: "group", "aria-label": "Measure" }, ...measures.map(([m, text]) =>
      h("button", { class: "choice", "aria-pressed": String(m === this.measure()), data: { measure: m }, title: text, on: { click: () => this.context.store.set({ map: m === this.first() ? null : m }) } }, m)));
    return [
      o.chart.ranks.length > 1 && h("figure", null,
        h("figcaption", null, h("span", null, "Ranks × steps: ", h("span", { class: "measure" })), h("span", { class: "scale" }), tools),
        h("canvas", { id: "map", tabindex: "0", role: "img", "aria-label": "Heat map, ranks by steps: arrows move, Enter opens the timeline there" })),
      h("figure", null,
        h("figcaption", null, h("span", null, "Time of each step"), h("span", { class: "scale", id: "cut-bars" })),
        h("canvas", { id: "bars", tabindex: "0", role: "img", "aria-label": "Stacked bars, where the time of each step goes: arrows move, Enter opens the timeline there" })),
    ];
  }

  private plot(o: Overview): void {
    for (const p of this.plots.splice(0)) p.drop();
    this.map = null;
    if (o.chart.grid.cols === 0) return;
    const view = (this.steps = new StepView(o.chart.grid.cols));
    const open = (col: number, row: number) => {
      const step = o.chart.grid.first[col];
      this.context.store.go(elsewhere(this.context.store.params, { tab: "timeline", step, rank: row, ...this.around(o, step) }));
    };
    this.open = open;
    const canvas = this.el.querySelector<HTMLCanvasElement>("#map");
    if (canvas) this.draw(o, canvas, open);
    const bars = new StepBars(o.chart, view, this.el.querySelector<HTMLCanvasElement>("#bars")!);
    bars.onpick = (col) => open(col, 0);
    this.plots.push(bars);
    bars.draw();
  }

  /** The map of a measure, in place of that of another. */
  private draw(o: Overview, old: HTMLCanvasElement, open: (col: number, row: number) => void): void {
    const measure = (this.shown = this.measure()), canvas = old.cloneNode(false) as HTMLCanvasElement;
    old.replaceWith(canvas); // without the listeners of the map before
    if (this.map) {
      this.steps!.plots.splice(this.steps!.plots.indexOf(this.map), 1);
      this.plots.splice(this.plots.indexOf(this.map), 1);
      this.map.drop();
    }
    this.map = new HeatMap(canvas, o.chart, this.steps!, measure, noise(o.chart, measure), this.el.querySelector<HTMLElement>("figure .scale"));
    const { map } = this;
    map.only = this.marked();
    this.steps!.row = map.rowOf(o.chart.findings[map.only]?.ranks[0] ?? 0);
    map.onpick = (col, row) => open(col, map.rankOf(row, col));
    this.plots.push(this.map);
    this.map.draw();
    fill(this.el.querySelector(".measure")!, measures.find(([m]) => m === measure)![1]);
    for (const b of this.el.querySelectorAll<HTMLElement>("[data-measure]")) b.ariaPressed = String(b.dataset.measure === measure);
  }

  /** The time around a step, where its beginning is known. */
  private around(o: Overview, step: number): Changes {
    const l = o.chart.lengths, at = l.step.indexOf(step);
    if (at < 0) return {};
    return { t0: l.at[at] - l.ns[at] / 10, t1: l.at[at] + l.ns[at] * 1.1 };
  }

  /** Marks the finding that the address names, and its cell of the map. */
  private select(): void {
    const sel = whole(this.context.store.params, "sel", -1);
    for (const el of this.el.querySelectorAll<HTMLElement>("[data-finding]")) {
      const on = el.dataset.finding === String(sel);
      el.classList.toggle("selected", on);
      if (on) el.scrollIntoView({ block: "nearest" });
    }
    const f = this.overview?.findings[sel];
    if (!this.steps || !this.map) return;
    if (this.map.only !== this.marked()) {
      this.map.only = this.marked();
      this.map.draw();
    }
    if (!f?.at) return;
    this.steps.row = this.map.rowOf(f.at.rank);
    this.steps.point(this.map.colOf(f.at.step));
  }

  update(now: Params, before: Params): void {
    const o = this.overview;
    if (!o) return;
    if (now.kind !== before.kind) this.el.querySelector(".times")?.replaceWith(this.times(o));
    const canvas = this.el.querySelector<HTMLCanvasElement>("#map");
    if (this.measure() !== this.shown && canvas) this.draw(o, canvas, this.open);
    this.select();
  }

  restyle(): void {
    for (const p of this.plots) p.draw();
  }

  close(): void {
    for (const p of this.plots.splice(0)) p.drop();
  }
}

export const summary: Tab = { id: "summary", title: "Summary", needs: "capture", open: (context) => new Summary(context) };
