// The timeline: all ranks side by side. This file holds what is shown and has it drawn; moves.ts and pointing.ts lead
// from one view to another.

import "./timeline.css";
import { hideTip } from "../../../../web/plot";
import { busy, Failed, json, quiet } from "../api";
import { fill, h } from "../dom";
import type { Params } from "../state";
import type { Context, Tab, View } from "../view";
import { extent, read, type State } from "./address";
import { listed } from "./area";
import { arrows, lastArrival } from "./flows";
import { bandsOf, inSight } from "./ghosts";
import { CounterRows } from "./counters";
import { arrange } from "./groups";
import { drawMoved, Gutter, gutterOf } from "./gutter";
import { Heat } from "./heat";
import { between, layout, type Layout, type Open, shownRows, shownText } from "./layout";
import { Load } from "./load";
import { Minimap, MINIMAP } from "./minimap";
import { Moves } from "./moves";
import { Ghosts } from "./otherwise";
import { lengthOf, Overlay, type Pointer } from "./overlay";
import { Painter, type Scene } from "./painter";
import { palette, type Palette } from "./palette";
import { Panel, swatch } from "./panel";
import { Pointing } from "./pointing";
import { Ranks } from "./ranks";
import { type Above, laneHeight, lanesOf, Ruler, stepsIn, type StepLane } from "./ruler";
import { scrolled } from "./reveal";
import type { Range } from "./scale";
import { Source } from "./source";
import { toolbar } from "./toolbar";
import type { Alignment, Found, Head, Link, Ribbon, Selected } from "./wire";



/** So many ghosts are drawn over the rows at most, and none of less than so many pixels. */
const MOST_BANDS = 200, LEAST_BAND = 2;

const nowhere: [number, number] = [-1, -1];

/** What changed, and so is drawn in the next frame. */
type Part = "lanes" | "heat" | "overlay" | "gutter";

export class Timeline implements View {
  readonly el = h("div", { class: "tl" });
  readonly all: Range;
  readonly source: Source;
  state: State;
  plan: Layout = { groups: [], sums: [], lanes: [], height: 0 };
  alignment: Alignment | null = null;
  found: Found | null = null;
  selected: Selected | null = null;
  pointer: Pointer = { x: -1, y: -1, box: null };
  /** The collective that is pointed at. */
  crossing: { of: Ribbon; links: Link[] } | null = null;
  private palette: Palette = palette();
  private ribbons: Ribbon[] = [];
  private moved = new Map<number, number[]>();
  private dirty = new Set<Part>();
  private frame = 0;
  private settle = 0;
  private settled = "";
  /** The first selection was shown: an address that is opened may say itself how far it is scrolled. */
  private arrived = false;
  /** The height of the rows' part of the page, when it was last looked at. */
  private high = 0;
  private readonly waits = new Map<string, () => void>();
  private readonly watch: ResizeObserver;

  readonly painter: Painter;
  readonly overlay = new Overlay(h("canvas", { class: "overlay" }));
  readonly ruler = new Ruler(h("canvas", { role: "img", "aria-label": "Time, steps and collectives" }));
  readonly minimap: Minimap;
  readonly heat: Heat;
  /** Where steps would end. */
  readonly ghosts: Ghosts;
  /** The load that ran meanwhile; null: none is known. */
  readonly load: Load | null;
  readonly counters: CounterRows;
  readonly moves = new Moves(this);
  readonly ranks = new Ranks(this);
  readonly body = h("div", { class: "tl-body", tabindex: "0", role: "region", "aria-label": "Rows of all ranks" });
  readonly search = h("input", { type: "search", placeholder: "Search names  /", "aria-label": "Search names of spans" });
  readonly panel: Panel;
  private readonly gutter: Gutter;
  private readonly strips = h("canvas", { class: "tl-strips" });
  private readonly spacer = h("div", { class: "tl-spacer" });
  private readonly length = h("span", { class: "length", title: "Visible time" });
  private readonly tools = h("div", { class: "tl-tools" });
  private readonly legend = h("div", { class: "legend" });
  private readonly classes = h("p", { class: "tl-classes", "aria-label": "Colours" });

  constructor(readonly context: Context, readonly head: Head) {
    this.all = extent(head);
    this.state = read(this.store.params, head);
    this.source = new Source(head, this.store.params.c, () => this.draw("lanes"));
    const { tiles, names } = this.source;
    this.painter = new Painter(h("canvas", { class: "lanes", role: "img", "aria-label": "Spans of all rows" }), tiles, names);
    this.minimap = new Minimap(h("canvas", { role: "img", "aria-label": "The whole capture" }), tiles, head);
    this.heat = new Heat(head, {
      load: (measure) => this.source.heat(measure),
      choose: (measure) => this.store.set({ heat: measure }),
      pick: (rank, step) => this.moves.compare(rank, step),
      open: (group) => this.moves.turn("g" + group),
      brush: (first, last) => this.moves.steps(first, last, "push"),
    }, () => this.draw("heat"));
    this.ghosts = new Ghosts(this.store.params.c, context.session.exported?.whatif ?? null, () => {
      this.draw("lanes", "gutter");
      toolbar(this.tools, this, this.length);
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
    new Pointing(this, this.moves).listen();
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

  get store(): Context["store"] {
    return this.context.store;
  }

  get width(): number {
    return Math.max(this.body.clientWidth - gutterOf(this.body.clientWidth), 50);
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

  /** Something is to come, for which those wait who want all of a picture. */
  wait(what: string): void {
    this.done(what);
    void busy(new Promise<void>((done) => this.waits.set(what, done)));
  }

  done(what: string): void {
    this.waits.get(what)?.();
    this.waits.delete(what);
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
    toolbar(this.tools, this, this.length);
  }

  /** The rows as they would be with something else open, or other ranks. */
  lay(open: Open, only: readonly number[]): Layout {
    return layout(this.head, open, only, this.state.how);
  }

  /** Makes room for rows. */
  stretchTo(height: number): void {
    this.spacer.style.height = height + "px";
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

  /** The rows that are shown, as the server reads them. */
  rows(): string {
    return shownText(this.head, this.plan);
  }

  /** The rows that are summed up, of some ranks: those that were chosen or are shown. */
  private rowsOf(ranks: readonly number[]): number[] {
    const shown = this.plan.groups.filter((g) => ranks.includes(g.rank)).map((g) => ({ rank: g.rank, rows: g.rows.map((p) => p.row) }));
    return shown.flatMap((g) => {
      const some = g.rows.filter((row) => this.state.rows.includes(row));
      return some.length > 0 ? some : g.rows;
    });
  }

  /** Lets a range go that was being dragged: the address has the one that counts. */
  forget(): void {
    const { range, rows } = read(this.store.params, this.head);
    Object.assign(this.state, { range, rows });
    this.draw("overlay");
  }

  /** What was pointed at is elsewhere now: its tip and its outline go. */
  unpoint(): void {
    this.pointer.box = null;
    this.crossing = null;
    hideTip();
  }

  clear(): void {
    this.store.set({ sel: null, r0: null, r1: null, area: null });
    this.panel.hide();
  }

  /** The time at a pixel. */
  time(x: number): number {
    return this.state.view.t0 + (x / this.width) * (this.state.view.t1 - this.state.view.t0);
  }

  /** Where a span is shown. */
  shown(l: Link): { start: number; end: number } {
    if (this.state.by === "stretched") return { start: l.stretched_ns[0], end: l.stretched_ns[1] };
    const by = this.alignment?.moved_ns[l.rank] ?? 0;
    return { start: l.start_ns + by, end: l.start_ns + by + l.dur_ns };
  }

  // What is drawn.

  draw(...parts: Part[]): void {
    for (const p of parts) this.dirty.add(p);
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
  }

  restyle(): void {
    this.palette = palette();
    this.painter.restyle();
    this.draw("lanes", "heat", "overlay", "gutter");
    const print = document.documentElement.dataset.print !== undefined;
    // What is loaded is for this width: paper has it smaller.
    this.el.style.width = print ? this.el.clientWidth + "px" : "";
    this.el.style.zoom = print ? String(Math.min(720 / this.el.clientWidth, 1)) : "";
    if (!print) return;
    cancelAnimationFrame(this.frame); // there is no frame before it is printed
    this.paint();
  }

  /** What the colours of the rows that are shown mean. */
  private colours(): void {
    const used = new Set(shownRows(this.head, this.plan).flatMap((row) => this.head.rows[row].classes));
    fill(this.classes, ...[...used].sort((a, b) => a - b).map((of) => h("span", { class: "key" }, swatch(of), this.head.classes[of])),
      this.head.stretch && h("span", { class: "key" }, h("i", { class: "tl-swatch tl-waits" }), "waits for other ranks"));
  }

  private scene(): Scene {
    const top = this.body.scrollTop, height = this.body.clientHeight, { view } = this.state;
    const lines: number[] = [];
    const { lanes } = lanesOf(this.head, this.state.only);
    if (this.state.by === "wall" && lanes.length === 1) { // of several their lines would belong to some rows alone
      const { steps } = lanes[0], [from, end] = stepsIn(steps, view);
      if ((end - from) * 40 < this.width) for (let n = from; n < end; n++) if (steps[n].end_ns !== 0) lines.push(steps[n].start_ns);
    }
    const groups = this.plan.groups.filter((g) => g.y + g.height > top && g.y < top + height), least = (LEAST_BAND * (view.t1 - view.t0)) / this.width;
    const bands = this.state.by === "wall" ? bandsOf(inSight(this.ghosts.all, view), groups, least, MOST_BANDS) : [];
    return {
      view, width: this.width, height, top, lanes: between(this.plan.lanes, top, top + height), lines, bands,
      moved: this.alignment?.moved_ns ?? [], stretched: this.state.by === "stretched", palette: this.palette,
      found: this.found === null ? null : new Set(this.found.ids),
    };
  }

  /** What is otherwise, if all ranks step together: of replicas there is no one row of steps as they would be. */
  private otherwise(lanes: readonly StepLane[]): string {
    return lanes.length === 1 ? this.ghosts.words() : "";
  }

  above(): Above {
    const { lanes } = lanesOf(this.head, this.state.only);
    return {
      view: this.state.view, width: this.width, palette: this.palette, lanes, wall: this.state.by === "wall",
      ribbons: this.ribbons, picked: this.state.step, otherwise: this.otherwise(lanes) !== "", ghosts: this.ghosts.over,
    };
  }

  private paint(): void {
    this.frame = 0;
    const started = performance.now(), dirty = this.dirty, { stats } = this.painter, gutter = gutterOf(this.body.clientWidth) + "px";
    if (this.el.style.getPropertyValue("--gutter") !== gutter) this.el.style.setProperty("--gutter", gutter);
    this.dirty = new Set();
    if (!this.el.isConnected || this.body.clientHeight === 0) return;
    if (dirty.has("lanes")) this.lanes();
    else if (dirty.has("overlay")) this.marks();
    const { scrollTop, clientHeight } = this.body;
    if (dirty.has("gutter") || this.gutter.lacks(scrollTop, clientHeight, this.plan.height)) {
      this.gutter.draw({ head: this.head, plan: this.plan, how: this.state.how, open: this.state.open, here: this.state.rank, moved: this.alignment }, scrollTop, clientHeight);
    }
    if (dirty.has("gutter")) this.legends();
    if (dirty.has("heat")) this.heat.paint(this.palette);
    stats.script.push(performance.now() - started);
    if (stats.script.length > 4000) stats.script.splice(0, 2000);
  }

  /** What stands above the rows. */
  private legends(): void {
    const wall = this.state.by === "wall", { lanes, left } = lanesOf(this.head, this.state.only), high = laneHeight(lanes.length), otherwise = this.otherwise(lanes);
    fill(this.legend, h("div", null, this.state.by === "stretched" ? "stretched time" : "time", wall && left > 0 && `; steps of ${left} more replicas not shown`),
      ...(wall ? lanes.map((l) => {
        const el = h("div", { class: high < 18 ? "low" : null }, l.name === "" ? "steps" : "steps of " + l.name);
        el.style.height = high + "px";
        return el;
      }) : []),
      wall && otherwise !== "" && h("div", { title: "if " + otherwise }, "if " + otherwise),
      wall && this.head.stretch && h("div", null, "waits in collectives"));
  }

  private lanes(): void {
    const scene = this.scene(), { level, needs } = Painter.needs(scene), { tiles } = this.source;
    this.painter.paint(scene);
    for (const canvas of [this.painter.canvas, this.overlay.canvas, this.strips]) canvas.style.height = scene.height + "px";
    for (const canvas of [this.painter.canvas, this.overlay.canvas, this.strips, this.ruler.canvas, this.minimap.canvas]) canvas.style.width = scene.width + "px";
    const mini = this.minimap.needs(this.all, this.width);
    tiles.load(needs, level, scene.stretched);
    tiles.load(mini.needs, mini.level, false);
    this.minimap.canvas.style.height = MINIMAP + "px";
    this.minimap.paint(this.all, scene.view, this.width, this.palette);
    const a = this.above(), height = Ruler.height(a, this.head.stretch);
    this.ruler.canvas.style.height = height + "px";
    this.ruler.paint(a, height);
    const text = lengthOf(scene.view);
    if (this.length.textContent !== text) this.length.textContent = text;
    this.load?.paint(this.state.by === "wall" ? scene.view : null, scene.width, this.palette, this.store.params);
    this.counters.paint(this.state.counters && this.state.by === "wall" ? scene.view : null, scene.width, this.palette, this.state.rank);
    this.offsets(scene);
    this.rest(scene);
    this.heat.view(...(a.wall && a.lanes.length > 0 ? this.stepsShown() : nowhere)); // aligned, steps lie elsewhere
    this.marks();
  }

  private stepsShown(): [number, number] {
    const [from, end] = stepsIn(this.head.steps, this.state.view);
    return end > from ? [from, end - 1] : [-1, -1];
  }

  /** Draws what is selected and pointed at. */
  marks(): void {
    const s = this.selected, scene = this.scene();
    this.painter.stats.overlays++;
    this.overlay.paint({
      ...scene, lanes: new Map(scene.lanes.map((l) => [l.lane, l])), place: (l) => this.shown(l), selected: s,
      counterparts: s === null ? [] : s.counterparts.filter((c) => c.span >= 0),
      flows: s === null ? [] : arrows(s), awaited: s === null ? null : s.last === s.rank ? s : lastArrival(s),
      range: this.state.range, rows: this.state.rows.length > 0 ? new Set(this.state.rows) : null, collective: this.crossing?.links ?? null, last: this.crossing?.of.last_ns ?? 0,
    }, this.pointer);
  }

  /** The strips that show how far ranks were moved. */
  private offsets(scene: Scene): void {
    const stretched = scene.stretched && this.moved.size > 0, constant = this.alignment !== null && (this.state.by === "step" || this.state.by === "collective");
    this.strips.hidden = !stretched && !constant;
    if (this.strips.hidden) return;
    const samples = stretched ? this.moved : new Map((this.alignment?.moved_ns ?? []).map((ns, rank): [number, number[]] => [rank, [ns]]));
    const most = Math.max(...[...samples.values()].map((of) => Math.max(...of.map(Math.abs))), 1);
    drawMoved(this.strips, this.plan, scene.top, scene.width, scene.height, samples, most, this.palette.name("medium"));
  }

  /** Loads what is shown once the view has come to rest. */
  private rest(scene: Scene): void {
    const { t0, t1 } = scene.view, ranks = this.plan.groups.filter((g) => g.y + g.height > scene.top && g.y < scene.top + scene.height).map((g) => g.rank);
    const counts = this.state.counters && this.state.by === "wall", what = JSON.stringify([t0, t1, this.state.by, scene.stretched ? ranks : 0, counts && [this.state.rank, scene.width]]);
    if (what === this.settled || (!this.head.stretch && !counts) || (this.state.by !== "wall" && !scene.stretched)) return;
    this.settled = what;
    clearTimeout(this.settle);
    this.wait("rest");
    this.settle = window.setTimeout(() => {
      const from = Math.floor(t0), to = Math.ceil(t1);
      if (counts) void this.counters.rest(scene.view, scene.width, this.state.rank).then(() => this.draw("lanes"));
      const loaded = scene.stretched
        ? this.source.moved(ranks, from, to, 240).then((of) => void (this.moved = new Map(ranks.map((r, i) => [r, of[i]]))))
        : this.source.ribbons(from, to).then((r) => void (this.ribbons = r));
      this.done("rest");
      void loaded.then(() => this.draw("lanes"));
    }, 80);
  }

  close(): void {
    this.moves.close();
    clearTimeout(this.settle);
    for (const what of [...this.waits.keys()]) this.done(what);
    cancelAnimationFrame(this.frame);
    this.watch.disconnect();
    hideTip();
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
