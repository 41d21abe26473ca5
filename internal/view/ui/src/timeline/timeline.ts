// The timeline: all ranks side by side. This file has picture.ts show what the address says; moves.ts and pointing.ts
// lead from one view to another.

import "./timeline.css";
import { Failed, json, quiet } from "../api";
import { h } from "../dom";
import type { Params } from "../state";
import type { Context, Tab, View } from "../view";
import { read } from "./address";
import { listed } from "./area";
import { CounterRows } from "./counters";
import { arrange } from "./groups";
import { Gutter } from "./gutter";
import { Heat } from "./heat";
import { Load } from "./load";
import { Moves } from "./moves";
import { Ghosts } from "./otherwise";
import { Panel } from "./panel";
import { Picture } from "./picture";
import { Pointing } from "./pointing";
import { Ranks } from "./ranks";
import { scrolled } from "./reveal";
import type { Range } from "./scale";
import { toolbar } from "./toolbar";
import type { Head } from "./wire";

class Timeline extends Picture implements View {
  /** The first selection was shown: an address that is opened may say itself how far it is scrolled. */
  private arrived = false;
  /** The height of the rows' part of the page, when it was last looked at. */
  private high = 0;
  private readonly watch: ResizeObserver;

  readonly moves = new Moves(this);
  readonly ranks = new Ranks(this, this.moves);
  readonly heat: Heat;
  readonly ghosts: Ghosts;
  readonly load: Load | null;
  readonly counters: CounterRows;
  readonly panel: Panel;
  protected readonly gutter: Gutter;
  private readonly tools = h("div", { class: "tl-tools" });

  constructor(context: Context, head: Head) {
    super(context, head);
    this.heat = new Heat(head, {
      load: (measure) => this.source.heat(measure),
      choose: (measure) => this.store.set({ heat: measure }),
      pick: (rank, step) => this.moves.compare(rank, step),
      open: (group) => this.moves.turn("g" + group),
      brush: (first, last) => this.moves.steps(first, last, "push"),
    }, () => this.draw("heat"));
    this.ghosts = new Ghosts(this.store.params.c, context.session.exported?.whatif ?? null, () => {
      this.draw("lanes", "gutter");
      this.toolbar();
    });
    const run = context.capture?.load || null;
    this.load = run === null ? null : new Load(run, context.capture!.id, this.all, () => {
      this.draw("lanes");
      if (this.state.range !== null && this.state.sel < 0) this.sum();
    });
    this.counters = new CounterRows(head.counters, {
      load: (view, columns, rank) => this.source.counters(view, columns, rank),
      peak: (at, rank) => this.moves.moment(at, rank),
    });
    this.panel = new Panel(head, {
      go: (l) => this.moves.go(l), sort: (by) => this.store.set({ sort: by }), close: () => this.clear(), alike: (which) => void this.moves.alike(which),
      ranks: (of) => this.store.set({ area: of === null ? null : listed(this.rowsOf(of)) }), dock: (text) => this.store.set({ panel: text }),
    }, this.el, this.source.exported);
    this.gutter = new Gutter(head, (what) => this.moves.turn(what), (rank) => this.ranks.pin(rank));
    this.spacer.append(this.gutter.el, h("div", { class: "tl-stage" }, this.painter.canvas, this.strips, this.overlay.canvas));
    this.body.append(this.spacer);
    this.el.append(this.tools, this.heat.el,
      h("div", { class: "tl-above tl-mini" }, h("div", { class: "legend" }, "all recorded"), this.minimap.canvas),
      h("div", { class: "tl-above tl-rule" }, this.legend, this.ruler.canvas),
      this.load?.el ?? "", this.counters.el, this.body, this.panel.el, this.classes);
    new Pointing(this, this.moves, this.ranks).listen();
    this.moves.bind();
    this.ranks.bind();
    this.watch = new ResizeObserver(() => {
      this.hold();
      this.draw("lanes", "heat", "gutter");
    });
    this.watch.observe(this.body);
    this.apply(this.store.params, null);
    this.count();
  }

  /** It is part of the page now, so that it can be scrolled: as the address says, or to the rank that it names. */
  attached(): void {
    const { rank, sel, y } = this.state, group = this.plan.groups.find((g) => g.rank === rank);
    this.body.scrollTop = this.store.params.y !== undefined || sel >= 0 || group === undefined ? y : scrolled(this.body, { ...group, lane: -1, row: -1 });
    this.panel.dock.measure();
  }

  /** What tests and measurements ask for. */
  private count(): void {
    const { tiles } = this.source;
    (window as unknown as { __stats: unknown }).__stats = Object.assign(this.painter.stats, {
      received: () => tiles.received, requests: () => tiles.requests, kept: () => tiles.kept(), idle: () => quiet() && this.frame === 0,
      shown: () => this.state.view, box: () => this.box(), selected: () => this.selected, step: (n: number) => this.head.steps[n],
      /** Shows a view around the middle of the last step. */
      look: (around: (at: number) => Range) => {
        const s = this.head.steps[this.head.steps.length - 1] ?? { start_ns: this.all.t0, end_ns: this.all.t1 };
        this.moves.look(around((s.start_ns + s.end_ns) / 2));
      },
    });
  }

  /** Keeps a selection that is in view there when the rows get more or less room. */
  private hold(): void {
    const { selected: s, body, high } = this, l = s === null ? undefined : this.plan.lanes.find((p) => p.lane === s.lane);
    this.high = body.clientHeight;
    if (s !== null && l !== undefined && l.y + l.height > body.scrollTop && l.y < body.scrollTop + high) this.moves.reveal(s);
  }

  /** Where the selection is, in shares of the width, and whether its row is in view. */
  private box(): { left: number; width: number; seen: boolean } | null {
    const s = this.selected, { view } = this.state, length = view.t1 - view.t0;
    if (s === null) return null;
    const { start, end } = this.shown(s), l = this.plan.lanes.find((p) => p.lane === s.lane), top = this.body.scrollTop;
    return { left: (start - view.t0) / length, width: (end - start) / length, seen: l !== undefined && l.y >= top && l.y + l.height <= top + this.body.clientHeight };
  }

  // What the address says.

  update(now: Params, before: Params): void {
    this.apply(now, before);
  }

  private apply(now: Params, before: Params | null): void {
    const changed = (...names: string[]) => before === null || names.some((n) => now[n] !== before[n]);
    const s = read(now, this.head);
    if (this.moves.pending && !changed("t0", "t1")) s.view = this.state.view; // which is not in the address yet
    this.state = s;
    if (changed("only", "open", "pin", "rows", "group", "order")) {
      this.plan = this.lay(s.open, s.only);
      this.heat.list(arrange(this.head, s.open, [], { ...s.how, pins: [] }));
      this.stretchTo(this.plan.height);
      this.colours();
    }
    const moved = changed("panel") && this.panel.dock.show(now.panel) && before !== null;
    if (moved && s.range === null) this.select();
    if (changed("y", "only", "open", "pin", "rows", "group", "order") && Math.abs(this.body.scrollTop - s.y) > 1) this.body.scrollTop = s.y;
    if (changed("align", "step", "at") && (before === null || s.by !== this.alignment?.by || s.by !== "wall")) this.align();
    this.heat.marked = s.found;
    if (changed("heat")) void this.heat.show(s.heat).then(() => this.draw("heat"));
    if (changed("set")) this.ghosts.show(now.set);
    if (changed("q")) this.seek();
    if (changed("rank", "sel") && (before === null || this.selected?.rank !== s.rank || this.selected?.span !== s.sel)) this.select();
    if (moved || changed("r0", "r1", "rows", "area", "group", "only", "open", "align", "step", "at", "sort")) s.sel < 0 && this.sum();
    this.draw("lanes", "overlay", "heat");
    const more = before === null || Object.keys({ ...now, ...before }).some((name) => !["t0", "t1", "y"].includes(name) && changed(name));
    if (!more) return; // what has the focus beside the rows keeps it while they move
    this.draw("gutter");
    this.toolbar();
  }

  private align(): void {
    void this.source.align(this.state).then((a) => {
      if (this.state.by !== a.by) return;
      this.alignment = a;
      this.settled = "";
      this.draw("lanes", "overlay", "gutter");
    });
  }

  private seek(): void {
    const { q } = this.state;
    if (this.search.value !== q && document.activeElement !== this.search) this.search.value = q;
    if (q === "") {
      if (this.found !== null && this.state.sel < 0 && this.state.range === null) this.panel.hide();
      this.found = null;
      return;
    }
    void this.source.search(q, this.rows(), this.state.view.t0, false).then((f) => {
      if (this.state.q !== q) return;
      this.found = f;
      if (this.state.sel < 0 && this.state.range === null) this.panel.found(f, q);
      this.draw("lanes");
    });
  }

  private select(): void {
    const { rank, sel } = this.state;
    if (sel < 0) {
      this.selected = null;
      if (this.state.range === null) this.found !== null ? this.panel.found(this.found, this.state.q) : this.panel.hide();
      return;
    }
    void this.source.span(rank, sel).then((s) => {
      if (this.state.rank !== rank || this.state.sel !== sel) return;
      this.selected = s;
      this.panel.span(s);
      this.panel.args(s, this.source);
      if (this.arrived || this.store.params.y === undefined) this.moves.reveal(s);
      if (!this.arrived && this.store.params.t0 === undefined) this.moves.frame(s);
      this.arrived = true;
      this.draw("overlay", "lanes");
    }).catch((e: unknown) => this.lacking(e));
  }

  private sum(): void {
    const { range, sort } = this.state;
    if (range === null) {
      if (this.found === null) this.panel.hide();
      return;
    }
    const { rows } = this.state;
    void this.source.range(this.state, rows.length > 0 ? rows.join(",") : this.rows()).then((t) => {
      if (this.state.range?.t0 !== range.t0 || this.state.range.t1 !== range.t1 || this.state.rows.join() !== rows.join() || this.state.sel >= 0) return;
      this.panel.range(t, this.plan.groups.map((g) => g.rank), rows.length > 0, sort, this.during(range));
      this.draw("overlay", "lanes");
    }).catch((e: unknown) => this.lacking(e));
  }

  /** Links to the requests that were under way in a range. */
  private during(range: Range): HTMLElement | false {
    const { load } = this;
    if (load === null || this.state.by !== "wall") return false;
    const some = load.during(range), most = 40;
    return h("p", { class: "tl-requests" }, `Requests in progress: ${some.length === 0 ? "none" : some.length} `,
      ...some.slice(0, most).map((i) => h("a", { class: "chip", href: load.link(this.store.params, range, i) }, String(i))), some.length > most && ` and ${some.length - most} more`);
  }

  /** Says what cannot be shown, as in an exported page; an address may speak of a span that is in no file. */
  private lacking(e: unknown): void {
    if (!(e instanceof Failed) || e.status === 0) throw e;
    this.selected = null;
    this.panel.note(e.message);
    this.draw("overlay", "lanes");
  }

  /** The rows that are summed up, of some ranks: those that were chosen or are shown. */
  private rowsOf(ranks: readonly number[]): number[] {
    const shown = this.plan.groups.filter((g) => ranks.includes(g.rank)).map((g) => ({ rank: g.rank, rows: g.rows.map((p) => p.row) }));
    return shown.flatMap((g) => {
      const some = g.rows.filter((row) => this.state.rows.includes(row));
      return some.length > 0 ? some : g.rows;
    });
  }

  private toolbar(): void {
    toolbar(this.tools, this, this.moves, this.ranks, this.length);
  }

  override close(): void {
    this.moves.close();
    super.close();
    this.watch.disconnect();
  }
}

/** The timeline of a capture, when its head is there. */
class Loading implements View {
  readonly el = h("div", null);
  private view: Timeline | null = null;
  private closed = false;

  constructor(context: Context) {
    void json<Head>("timeline/head", { c: context.store.params.c }).then((head) => {
      if (this.closed) return;
      this.view = new Timeline(context, head);
      this.el.replaceChildren(this.view.el);
      this.view.attached();
      this.view.draw("lanes", "heat", "gutter");
    });
  }

  update(now: Params, before: Params): void {
    this.view?.update(now, before);
  }

  restyle(): void {
    this.view?.restyle();
  }

  close(): void {
    this.closed = true;
    this.view?.close();
  }
}

export const timeline: Tab = {
  id: "timeline",
  title: "Timeline",
  needs: "capture",
  open: (context) => new Loading(context),
};
