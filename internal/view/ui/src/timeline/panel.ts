// What is known of what was chosen: a span with its counterparts, or all that a range of time holds.

import { duration, groupDigits, signed } from "../../../../web/format";
import { type Child, fill, h } from "../dom";
import { Failed } from "../api";
import { asText, copy } from "./copy";
import { Dock } from "./dock";
import { lastArrival, way } from "./flows";
import { VARIABLES } from "./palette";
import { rankSums } from "./ranksums";
import { position } from "./snap";
import type { Source, Which } from "./source";
import type { Counterpart, Found, Head, Link, Selected, Sum, Table } from "./wire";

/** Why a rank has no counterpart, in words. */
export const reasons: { [why: string]: string } = {
  outside: "the span belongs to no step, so its counterpart is unknown",
  no_step: "this rank's file lacks the step",
  none_such: "this rank ran no such work there",
  too_many: "the kernels differ over too long a stretch to be matched",
  apart: "this rank shares no collectives with the other, so its steps differ",
};

/** What the panel asks of the view that it is part of. */
export interface PanelEvents {
  go(l: Link): void;
  sort(by: string): void;
  close(): void;
  alike(which: Which): void;
  /** Sums up over rows of some ranks, or of all (null). */
  ranks(of: readonly number[] | null): void;
  dock(text: string | null): void;
}

/** A coloured square for a class. */
export function swatch(of: number): HTMLElement {
  const el = h("i", { class: "tl-swatch" });
  el.style.background = `var(--${VARIABLES[of] ?? "other"})`;
  return el;
}

export class Panel {
  readonly el = h("section", { class: "tl-panel", "aria-label": "Details", tabindex: "0", hidden: true });

  /** The args of a span. */
  private readonly all = h("div", { class: "tl-args" });
  private reading: AbortController | null = null;
  readonly dock: Dock;

  constructor(private readonly head: Head, private readonly events: PanelEvents, root: HTMLElement, private readonly exported: boolean) {
    this.dock = new Dock(root, this.el, (text) => events.dock(text));
  }

  /** All args of a span, once they are read from its file. */
  args(s: Selected, source: Source): void {
    this.reading?.abort();
    const { signal } = (this.reading = new AbortController());
    const note = (text: string) => h("p", { class: "tl-soft" }, text);
    const known = [...this.all.children];
    this.all.append(source.exported ? note("An exported page has these args alone.") : note("reading the file for all args …"));
    if (source.exported) return;
    void source.args(s, signal).then((args) => {
      const own = s.args.filter((a) => a.name === "requests" || a.name === "thread");
      if (args.length > 0) fill(this.all, h("h3", null, `All ${args.length} args in the file`), facts_([...own, ...args].map((a) => [a.name, a.value])));
      else fill(this.all, ...known, note("The file gives no other args."));
    }).catch((e: unknown) => {
      if (signal.aborted) return;
      if (!(e instanceof Failed) || e.status === 0) throw e;
      fill(this.all, ...known, note(`These are the args that were kept: ${e.message}.`));
    });
  }

  hide(): void {
    this.reading?.abort();
    this.el.hidden = true;
    fill(this.el);
  }

  private open(title: Child[], ...parts: Child[]): void {
    this.el.hidden = false;
    const focus = document.activeElement as HTMLElement | null, tool = focus !== null && this.el.contains(focus) ? focus.dataset.tool : undefined;
    const button = (text: string, name: string, key: string, click: () => void) =>
      h("button", { class: "quiet", title: `${name} (key: ${key})`, "aria-label": name, data: { tool: key }, on: { click } }, text);
    fill(this.el, this.dock.handle,
      h("div", { class: "tl-panel-head" }, ...title, h("span", { class: "space" }),
        button("copy", "Copy the details as text", "y", () => this.copy()),
        button(this.dock.side ? "below" : "beside", this.dock.side ? "Move the details below the rows" : "Move the details beside the rows", "|", () => this.dock.move()),
        h("button", { class: "quiet", data: { tool: "" }, title: "Close (key: Escape)", "aria-label": "Close the details", on: { click: () => this.events.close() } }, "✕")),
      h("div", { class: "tl-panel-body" }, ...parts));
    this.dock.measure();
    if (tool) this.el.querySelector<HTMLElement>(`[data-tool="${tool}"]`)?.focus();
  }

  /** Puts what is shown on the clipboard. */
  copy(): void {
    if (!this.el.hidden) void copy(asText(this.el)).then(() => {
      const button = this.el.querySelector<HTMLElement>("[data-tool=y]");
      if (button !== null) button.textContent = "copied";
    });
  }

  /** Spans of the same name on the same rank. */
  private alike(): Child {
    const link = (which: Which, key: string) => h("button", { class: "tl-link", title: `key: ${key}`, on: { click: () => this.events.alike(which) } }, which);
    return h("span", { data: { tool: "" } }, link("previous", "X"), " · ", link("next", "x"), " · ", link("longest", "L"));
  }

  private link(l: Link, text: Child = l.label): HTMLElement {
    return h("button", { class: "tl-link", title: l.label, on: { click: () => this.events.go(l) } }, text);
  }

  span(s: Selected): void {
    const facts: [string, Child][] = [
      ["rank", this.head.ranks[s.rank]], ["start", exact(s.start_ns)], ["end", exact(s.start_ns + s.dur_ns)], ["duration", duration(s.dur_ns)],
    ];
    if (!this.exported) facts.push(["same name here", this.alike()]);
    if (s.wait_ns > 0) facts.push(["waits for others", duration(s.wait_ns)]);
    const last = lastArrival(s);
    if (s.last >= 0) facts.push(["last to arrive", last !== null ? this.link(last, this.head.ranks[s.last]) : this.head.ranks[s.last] + (s.last === s.rank ? ", this one" : "")]);
    if (s.step >= 0) facts.push(["step", `${s.step}${s.step_name ? ", " + s.step_name : ""}`]);
    if (s.layer !== "") facts.push(["layer", s.layer]);
    if (s.launch !== null) facts.push(["launched by", this.link(s.launch)], ["launch delay", duration(s.delay_ns)]);
    if (s.launches > 0) facts.push(["launched", `${groupDigits(String(s.launches))} on the GPU`]);
    if (s.launches > 0 && /^cuda_/.test(s.category)) facts.push(["launch delay", duration(s.delay_ns)]);
    fill(this.all, s.args.length > 0 && facts_(s.args.map((a) => [a.name, a.value])));
    const full = s.name !== s.label && h("p", { class: "tl-full" }, s.name);
    this.open(
      [swatch(s.class), h("h2", { title: s.name }, s.label), h("span", { class: "tl-soft" }, s.category)],
      way(s, (l, text) => this.link(l, text), (n) => this.head.ranks[n]),
      h("div", { class: "tl-facts" }, full, facts_(facts), this.all),
      s.counterparts.length > 0 && this.counterparts(s),
      (s.around.length > 0 || s.launched.length > 0) && h("div", { class: "tl-around" },
        s.launched.length > 0 && h("h3", null, /^cuda_/.test(s.category) ? "Launched by it" : "Launched inside it"),
        s.launched.length > 0 && h("ol", null, ...s.launched.map((l) => h("li", { title: l.label }, this.link(l), h("span", { class: "tl-soft" }, " " + duration(l.dur_ns)))),
          s.launches > s.launched.length && h("li", { class: "tl-soft" }, `and ${s.launches - s.launched.length} more`)),
        s.around.length > 0 && h("h3", null, s.launch ? "Launched inside" : "Inside"),
        s.around.length > 0 && h("ol", null, ...s.around.map((l) => h("li", { title: l.label }, this.link(l), h("span", { class: "tl-soft" }, " " + duration(l.dur_ns)))))));
  }

  private counterparts(s: Selected): HTMLElement {
    const most = Math.max(s.dur_ns, ...s.counterparts.map((c) => (c.why === "" ? c.dur_ns : 0)), 1);
    const bar = (ns: number) => {
      const el = h("span", { class: "tl-bar" });
      el.style.width = (ns / most) * 90 + "px";
      el.style.background = `var(--${VARIABLES[s.class] ?? "other"})`;
      return el;
    };
    const delays = s.counterparts.some((c) => c.delays);
    const grids = s.counterparts.some((c) => c.grid !== "");
    const grid = s.args.find((a) => a.name === "grid")?.value ?? "";
    const row = (c: Counterpart) => {
      if (c.why !== "") {
        return h("tr", { class: "tl-none" }, h("th", { scope: "row" }, this.head.ranks[c.rank]),
          h("td", { colspan: String(3 + Number(grids) + Number(delays)) }, "none: " + (reasons[c.why] ?? c.why)));
      }
      return h("tr", { data: { rank: String(c.rank), span: String(c.span) } },
        h("th", { scope: "row" }, this.link(c, this.head.ranks[c.rank])),
        h("td", null, bar(c.dur_ns), " " + duration(c.dur_ns)), h("td", { class: "r" }, signed(c.longer_ns)), h("td", { class: "r" }, signed(c.later_ns)),
        grids && h("td", { class: c.grid !== grid ? "tl-differs" : "" }, c.grid + (c.other ? " · another kernel: " + c.label : "")),
        delays && h("td", { class: "r" }, c.delays ? signed(c.delayed_ns) : ""));
    };
    const self = h("tr", { class: "selected" }, h("th", { scope: "row" }, this.head.ranks[s.rank]), h("td", null, bar(s.dur_ns), " " + duration(s.dur_ns)),
      h("td", null), h("td", null), grids && h("td", null, grid), delays && h("td", null));
    const rows = s.counterparts.map((c) => [c.rank, row(c)] as const);
    const all = [...rows, [s.rank, self] as const].sort((a, b) => a[0] - b[0]).map(([, tr]) => tr);
    return h("div", { class: "tl-counterparts" }, h("h3", null, "The same on every rank"),
      h("table", null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "rank"), h("th", { scope: "col" }, "duration"), h("th", { scope: "col", class: "r" }, "longer by"),
          h("th", { scope: "col", class: "r" }, "starts later by"), grids && h("th", { scope: "col" }, "grid"), delays && h("th", { scope: "col", class: "r" }, "launch delay"))),
        h("tbody", null, ...all)));
  }

  /** A sentence in place of details. */
  note(text: string): void {
    this.open([h("h2", null, text)]);
  }

  /** What a range holds; shown are the ranks in view, chosen says that not all rows are summed up. */
  range(t: Table, shown: readonly number[], chosen: boolean, by: string, more: Child): void {
    const ranks = shown.length;
    const columns: { id: string; title: string; key: (s: Sum) => number | string; text: (s: Sum) => Child; right: boolean }[] = [
      { id: "name", title: "name", key: (s) => s.name, text: (s) => [swatch(s.class), this.link(s.longest, s.name)] as unknown as Child, right: false },
      { id: "count", title: "count", key: (s) => s.count, text: (s) => groupDigits(String(s.count)), right: true },
      { id: "self", title: "self time", key: (s) => s.self_ns, text: (s) => duration(s.self_ns), right: true },
      { id: "total", title: "total", key: (s) => s.total_ns, text: (s) => duration(s.total_ns), right: true },
      { id: "wait", title: "waiting", key: (s) => s.wait_ns, text: (s) => (s.wait_ns > 0 ? duration(s.wait_ns) : ""), right: true },
      { id: "max", title: "longest", key: (s) => s.max_ns, text: (s) => duration(s.max_ns), right: true },
      { id: "spread", title: "lowest to highest rank", key: (s) => s.most_ns - s.least_ns,
        text: (s) => (ranks > 1 && s.most >= 0 ? `${duration(s.least_ns)} (${this.head.ranks[s.least]}) – ${duration(s.most_ns)} (${this.head.ranks[s.most]})` : ""), right: true },
    ];
    const down = by.startsWith("-"), column = columns.find((c) => c.id === by.replace(/^-/, "")) ?? columns[2];
    const sums = t.sums.slice().sort((a, b) => {
      const x = column.key(a), y = column.key(b), order = typeof x === "string" ? x.localeCompare(String(y), "en") : x - Number(y);
      return down ? -order : order;
    });
    this.open(
      [h("h2", null, duration(t.to_ns - t.from_ns)), h("span", { class: "tl-soft" }, `from ${exact(t.from_ns)} to ${exact(t.to_ns)}: contents of ${chosen ? "chosen" : "the visible"} rows`)],
      rankSums(this.head, t, shown, chosen, (l, text) => this.link(l, text), this.exported ? null : (of) => this.events.ranks(of)),
      h("div", { class: "table tl-range" },
        sums.length === 0 ? h("p", { class: "tl-soft" }, "Nothing begins, runs or ends here on the visible rows.") :
        h("table", null,
          h("thead", null, h("tr", null, ...columns.map((c) => h("th", { scope: "col", class: c.right ? "r" : "", "aria-sort": c === column ? (down ? "descending" : "ascending") : null },
            h("button", { on: { click: () => this.events.sort(c === column && down ? c.id : "-" + c.id) } }, c.title, c === column && h("span", { "aria-hidden": "true" }, down ? " ▾" : " ▴")))))),
          h("tbody", null, ...sums.map((s) => h("tr", null, ...columns.map((c) => {
            const text = c.text(s), td = h("td", { class: c.right ? "r" : "name", title: c.right ? null : s.name });
            if (Array.isArray(text)) td.append(...(text as Node[]));
            else fill(td, text);
            return td;
          }))))),
        t.all > sums.length && h("p", { class: "tl-soft" }, `${groupDigits(String(t.all - sums.length))} more names, each with less self time, are left out.`)), more);
  }

  found(f: Found, text: string): void {
    const names = `${groupDigits(String(f.all))} name${f.all === 1 ? "" : "s"}`;
    // An exported page marks what it draws, and cannot count the rest.
    if (f.spans === 0 && f.all > 0) return this.note(`${names} contain${f.all === 1 ? "s" : ""} “${text}”: the drawn spans are marked`);
    this.open(
      [h("h2", null, f.all === 0 ? `No name contains “${text}”` : `${groupDigits(String(f.spans))} spans of ${names}, ${duration(f.total_ns)}`),
        h("span", { class: "tl-soft" }, f.all === 0 ? "on the visible rows" : "n and N go to the next and the previous one")],
      f.names.length > 0 && h("div", { class: "table tl-range" }, h("table", null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "name"), h("th", { scope: "col", class: "r" }, "spans"), h("th", { scope: "col", class: "r" }, "total"))),
        h("tbody", null, ...f.names.map((n) => h("tr", null, h("td", { class: "name", title: n.name }, this.link(n.first, n.name)),
          h("td", { class: "r" }, groupDigits(String(n.count))), h("td", { class: "r" }, duration(n.total_ns))))))));
  }
}

/** A position in ms and ns. */
function exact(ns: number): string {
  return `${position(ns)} (${groupDigits(String(ns))} ns)`;
}

/** Names and values. */
function facts_(list: [string, Child][]): HTMLElement {
  return h("dl", null, ...list.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}
