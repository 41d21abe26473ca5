// The timeline: all ranks side by side. This file holds what is shown and leads events to it; the parts draw.

import "./timeline.css";
import { duration, percent } from "../../../../explain/report/page/format";
import { hideTip, showTip } from "../../../../explain/report/page/plot";
import { busy, bytes, json, quiet } from "../api";
import { fill, h } from "../dom";
import type { Changes, Params } from "../state";
import type { Context, Tab, View } from "../view";
import { alignments, aroundStep, extent, read, type State } from "./address";
import { drawGutter, drawMoved } from "./gutter";
import { Heat, medianRank } from "./heat";
import { between, type Lane, layout, type Layout, turned } from "./layout";
import { Minimap, MINIMAP } from "./minimap";
import { lengthOf, Overlay, type Pointer } from "./overlay";
import { Painter, type Hit, type Scene } from "./painter";
import { palette, type Palette } from "./palette";
import { Panel, swatch } from "./panel";
import { type Above, Ruler, ribbonTip, stepAtTime, stepsIn } from "./ruler";
import { framed, panned, type Range, whole, zoomed } from "./scale";
import { Names, Tiles } from "./tiles";
import type { Alignment, Found, Head, Link, Ribbon, Ribbons, Selected, Table } from "./wire";

const GUTTER = 200;

/** What changed, and so is drawn in the next frame. */
type Part = "lanes" | "heat" | "overlay" | "gutter";

class Timeline implements View {
  readonly el = h("div", { class: "tl" });
  private readonly all: Range;
  private state: State;
  private palette: Palette = palette();
  private plan: Layout = { groups: [], lanes: [], height: 0 };
  private alignment: Alignment | null = null;
  private found: Found | null = null;
  private selected: Selected | null = null;
  private ribbons: Ribbon[] = [];
  private parts: { of: Ribbon; links: Link[] } | null = null;
  private moved = new Map<number, number[]>();
  private pointer: Pointer = { x: -1, y: -1, box: null };
  private dirty = new Set<Part>();
  private frame = 0;
  private timer = 0;
  private settle = 0;
  private rested: () => void = () => {};
  private settled = "";
  private written: () => void = () => {};
  private readonly watch: ResizeObserver;

  private readonly tiles: Tiles;
  private readonly names: Names;
  private readonly painter: Painter;
  private readonly overlay = new Overlay(h("canvas", { class: "overlay" }));
  private readonly ruler = new Ruler(h("canvas", { role: "img", "aria-label": "Time, steps and collectives" }));
  private readonly minimap: Minimap;
  private readonly heat: Heat;
  private readonly panel: Panel;
  private readonly gutter = h("div", { class: "tl-gutter" });
  private readonly strips = h("canvas", { class: "tl-strips" });
  private readonly spacer = h("div", { class: "tl-spacer" });
  private readonly body = h("div", { class: "tl-body", tabindex: "0", role: "region", "aria-label": "Rows of all ranks" });
  private readonly search = h("input", { type: "search", placeholder: "Search names  /", "aria-label": "Search names of spans" });
  private readonly length = h("span", { class: "length", title: "How much time is shown" });
  private readonly tools = h("div", { class: "tl-tools" });
  private readonly legend = h("div", { class: "legend" });
  private readonly classes = h("p", { class: "tl-classes", "aria-label": "Colours" });

  constructor(private readonly context: Context, private readonly head: Head) {
    this.all = extent(head);
    this.state = read(context.store.params, head);
    const c = context.store.params.c;
    this.tiles = new Tiles(head.epoch, (level, stretched, tiles) => bytes("timeline/tiles", { c, level, axis: stretched ? "stretched" : null, tiles }), () => this.draw("lanes"));
    this.names = new Names(head.block, (block) => json<string[]>("timeline/names", { c, block }), () => this.draw("lanes"));
    this.painter = new Painter(h("canvas", { class: "lanes", role: "img", "aria-label": "Spans of all rows" }), this.tiles, this.names);
    this.minimap = new Minimap(h("canvas", { role: "img", "aria-label": "The whole capture" }), this.tiles, head);
    this.heat = new Heat(head, {
      load: (measure) => bytes("timeline/heat", { c, measure }),
      choose: (measure) => context.store.set({ heat: measure }),
      pick: (rank, step) => this.compare(rank, step),
      brush: (first, last) => this.look(aroundStep(head, first, last), "push"),
    }, () => this.draw("heat"));
    this.panel = new Panel(head, {
      go: (l) => this.go(l),
      find: (text) => context.store.set({ q: text }),
      sort: (by) => context.store.set({ sort: by }),
      close: () => this.clear(),
    });
    const stage = h("div", { class: "tl-stage" }, this.painter.canvas, this.strips, this.overlay.canvas);
    this.spacer.append(this.gutter, stage);
    this.body.append(this.spacer);
    this.el.append(this.tools, this.heat.el,
      h("div", { class: "tl-above tl-mini" }, h("div", { class: "legend" }, "whole capture"), this.minimap.canvas),
      h("div", { class: "tl-above tl-rule" }, this.legend, this.ruler.canvas),
      this.body, this.panel.el, this.classes);
    this.listen();
    this.bind();
    this.watch = new ResizeObserver(() => this.draw("lanes", "heat", "gutter"));
    this.watch.observe(this.body);
    this.apply(context.store.params, null);
    // For tests and measurements.
    (window as unknown as { __stats: unknown }).__stats = Object.assign(this.painter.stats, {
      received: () => this.tiles.received, requests: () => this.tiles.requests, kept: () => this.tiles.kept(), idle: () => quiet() && this.frame === 0,
      /** Shows a view around the middle of the last step. */
      look: (around: (at: number) => Range) => {
        const s = head.steps[head.steps.length - 1] ?? { start_ns: this.all.t0, end_ns: this.all.t1 };
        this.look(around((s.start_ns + s.end_ns) / 2));
      },
    });
  }

  private get width(): number {
    return Math.max(this.body.clientWidth - GUTTER, 50);
  }

  private get c(): string | undefined {
    return this.context.store.params.c;
  }

  // What the address says.

  update(now: Params, before: Params): void {
    this.apply(now, before);
  }

  private apply(now: Params, before: Params | null): void {
    const s = (this.state = read(now, this.head));
    const changed = (...names: string[]) => before === null || names.some((n) => now[n] !== before[n]);
    if (changed("only", "open")) {
      this.plan = layout(this.head, s.open, s.only);
      this.spacer.style.height = this.plan.height + "px";
      this.colours();
    }
    if (changed("y", "only", "open") && Math.abs(this.body.scrollTop - s.y) > 1) this.body.scrollTop = s.y;
    if (changed("align", "step", "at") && (before === null || s.by !== this.alignment?.by || s.by !== "wall")) this.align();
    if (changed("heat")) void this.heat.show(s.heat).then(() => this.draw("heat"));
    if (changed("q")) this.seek();
    if (changed("rank", "sel") && (before === null || this.selected?.rank !== s.rank || this.selected?.span !== s.sel)) this.select();
    if (changed("r0", "r1", "only", "open", "align", "step", "at", "sort") && s.sel < 0) this.sum();
    this.draw("lanes", "overlay", "gutter", "heat");
    this.toolbar();
  }

  private align(): void {
    const { by, step, at } = this.state;
    const ask = { c: this.c, align: by, step: by === "step" ? step : null, at: by === "collective" ? at : null };
    void json<Alignment>("timeline/align", ask).then((a) => {
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
    void json<Found>("timeline/search", { c: this.c, q, rows: this.rows(), after: Math.round(this.state.view.t0) }).then((f) => {
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
    void json<Selected>("timeline/span", { c: this.c, rank, span: sel }).then((s) => {
      if (this.state.rank !== rank || this.state.sel !== sel) return;
      this.selected = s;
      this.panel.span(s);
      this.draw("overlay", "lanes");
    });
  }

  private sum(): void {
    const { range, by, step, at, sort } = this.state;
    if (range === null) {
      if (this.found === null) this.panel.hide();
      return;
    }
    const ask = { c: this.c, from: range.t0, to: range.t1, rows: this.rows(), align: by, step: by === "step" ? step : null, at: by === "collective" ? at : null };
    void json<Table>("timeline/range", ask).then((t) => {
      if (this.state.range?.t0 !== range.t0 || this.state.range.t1 !== range.t1 || this.state.sel >= 0) return;
      this.panel.range(t, this.plan.groups.length, sort);
      this.draw("overlay", "lanes");
    });
  }

  /** The rows that are shown, as the server reads them. */
  private rows(): string {
    return this.plan.groups.flatMap((g) => g.rows.map((p) => p.row)).join(",");
  }

  private clear(): void {
    this.context.store.set({ sel: null, r0: null, r1: null });
    this.panel.hide();
  }

  // What moves the view. The address follows when it has come to rest.

  private look(view: Range | null, how: "replace" | "push" = "replace", changes: Changes = {}): void {
    if (view === null) return;
    this.state.view = view;
    this.draw("lanes", "overlay");
    if (how === "push" || Object.keys(changes).length > 0) {
      this.state.y = this.body.scrollTop;
      this.context.store.set({ ...this.place(), ...changes }, how);
      return;
    }
    this.write();
  }

  private place(): Changes {
    return { t0: Math.round(this.state.view.t0), t1: Math.round(this.state.view.t1), y: Math.round(this.body.scrollTop) || null };
  }

  private write(): void {
    clearTimeout(this.timer);
    this.written();
    void busy(new Promise<void>((done) => (this.written = done)));
    this.timer = window.setTimeout(() => {
      const view = this.state.view;
      this.context.store.set(this.place());
      this.state.view = view; // not rounded, so that zooming in and out comes back to where it was
      this.written();
    }, 250);
  }

  private zoom(factor: number, x = this.pointer.x >= 0 ? this.pointer.x : this.width / 2): void {
    this.look(zoomed(this.state.view, this.time(x), factor, this.all));
  }

  private pan(share: number): void {
    this.look(panned(this.state.view, share, this.all));
  }

  private time(x: number): number {
    return this.state.view.t0 + (x / this.width) * (this.state.view.t1 - this.state.view.t0);
  }

  /** Where a span is shown. */
  private shown(l: Link): { start: number; end: number } {
    if (this.state.by === "stretched") return { start: l.stretched_ns[0], end: l.stretched_ns[1] };
    const by = this.alignment?.moved_ns[l.rank] ?? 0;
    return { start: l.start_ns + by, end: l.start_ns + by + l.dur_ns };
  }

  /** Selects a span and brings it into view. */
  private go(l: Link, how: "replace" | "push" = "push", always = false): void {
    const changes: Changes = { rank: l.rank, sel: l.span, r0: null, r1: null };
    let only = this.state.only;
    if (only.length > 0 && !only.includes(l.rank)) only = [];
    const open = new Set(this.state.open);
    const at = this.head.rows.findIndex((r) => l.lane >= r.lane && l.lane < r.lane + r.lanes);
    const shows = () => layout(this.head, open, only).lanes.find((p) => p.lane === l.lane);
    if (at >= 0 && shows() === undefined && !this.head.rows[at].pinned) open.add("r" + l.rank);
    if (at >= 0 && shows() === undefined) open.add(String(at));
    const place = shows();
    const { start, end } = this.shown(l);
    const view = framed(this.state.view, start, end - start, this.all, always);
    let y = this.body.scrollTop;
    if (place !== undefined && (place.y < y + 20 || place.y > y + this.body.clientHeight - 40)) y = Math.max(place.y - this.body.clientHeight / 3, 0);
    this.spacer.style.height = layout(this.head, open, only).height + "px";
    this.body.scrollTop = y;
    this.look(view, how, { ...changes, open: [...open].join(",") || null, only: only.join(",") || null, y: Math.round(y) || null });
  }

  /** The rank of a cell beside the one with the median, aligned at its step. */
  private compare(rank: number, step: number): void {
    const cells = this.heat.cells, others = cells === null ? -1 : medianRank(cells.values, this.head.ranks.length, this.head.steps.length, step);
    const only = others < 0 || others === rank ? [rank] : [rank, others];
    this.body.scrollTop = 0;
    this.look(aroundStep(this.head, step, step), "push", { only: only.join(","), align: "step", step, rank, sel: null, r0: null, r1: null, at: null, y: null });
  }

  private cycle(): void {
    const choices = alignments.filter((a) => a.by !== "stretched" || this.head.stretch);
    const at = choices.findIndex((a) => a.by === this.state.by);
    this.choose(choices[(at + 1) % choices.length].by);
  }

  /** Aligns at what is in the middle of the view. */
  private choose(by: string): void {
    const middle = Math.round((this.state.view.t0 + this.state.view.t1) / 2), { steps } = this.head;
    const near = this.state.step >= 0 ? this.state.step : Math.max(stepAtTime(steps, middle), 0);
    const at = this.selected !== null && this.selected.last >= 0 ? this.selected.start_ns : middle;
    this.look(this.state.view, "push", { align: by === "wall" ? null : by, step: by === "step" ? near : this.context.store.params.step ?? null, at: by === "collective" ? at : null });
  }

  private nextStep(by: number): void {
    const middle = (this.state.view.t0 + this.state.view.t1) / 2, at = this.state.step >= 0 ? this.state.step : stepAtTime(this.head.steps, middle);
    const to = Math.min(Math.max(at + by, 0), this.head.steps.length - 1);
    this.look(aroundStep(this.head, to, to), "replace", { step: to });
  }

  private async nextFound(back: boolean): Promise<void> {
    if (this.state.q === "") return;
    const after = this.selected !== null ? this.selected.start_ns : Math.round(back ? this.state.view.t1 : this.state.view.t0);
    const f = await json<Found>("timeline/search", { c: this.c, q: this.state.q, rows: this.rows(), after, back: back ? 1 : null });
    if (f.next !== null) this.go(f.next, "replace");
  }

  private async beside(back: boolean): Promise<void> {
    const s = this.selected;
    const l = s !== null ? await json<Link | null>("timeline/beside", { c: this.c, rank: s.rank, span: s.span, back: back ? 1 : null }) : await this.first();
    if (l !== null) this.go(l, "replace");
  }

  /** The longest span in view on the first lane that has any. */
  private async first(): Promise<Link | null> {
    for (const l of between(this.plan.lanes, this.body.scrollTop, this.body.scrollTop + this.body.clientHeight)) {
      const hit = await this.ask(l, this.state.view.t0, this.state.view.t1);
      if (hit !== null) return hit;
    }
    return null;
  }

  /** The span of the lane above or below that runs at the same time. */
  private async lanesAway(by: number): Promise<void> {
    const s = this.selected;
    if (s === null) return void (this.body.scrollTop += by * 48);
    const { lanes } = this.plan;
    for (let at = lanes.findIndex((l) => l.lane === s.lane) + by; at >= 0 && at < lanes.length; at += by) {
      const { start, end } = this.shown(s), hit = await this.ask(lanes[at], start, Math.max(end, start + 1));
      if (hit !== null) return this.go(hit, "replace");
    }
  }

  /** The longest span of a lane in a time that is shown; on a stretched axis as far as it goes. */
  private ask(l: Lane, from: number, to: number): Promise<Link | null> {
    const by = this.alignment?.moved_ns[l.rank] ?? 0;
    return json<Link | null>("timeline/hit", { c: this.c, lane: l.lane, from: Math.floor(from - by), to: Math.ceil(Math.max(to - by, from - by + 1)), axis: this.state.by === "stretched" ? "stretched" : null });
  }

  private counterpart(by: number): void {
    const s = this.selected;
    if (s === null) return;
    const there = s.counterparts.filter((c) => c.span >= 0), after = there.filter((c) => by > 0 ? c.rank > s.rank : c.rank < s.rank);
    const to = by > 0 ? (after[0] ?? there[0]) : (after[after.length - 1] ?? there[there.length - 1]);
    if (to !== undefined) this.go(to, "replace");
  }

  private bind(): void {
    const { keys, store } = this.context, group = "Timeline";
    keys.bind("w +", group, "zoom in", () => this.zoom(0.75));
    keys.bind("s -", group, "zoom out", () => this.zoom(1 / 0.75));
    keys.bind("a ArrowLeft", group, "to the left", () => this.pan(-0.1));
    keys.bind("d ArrowRight", group, "to the right", () => this.pan(0.1));
    keys.bind("0 Home", group, "the whole capture", () => this.look(whole(this.all)));
    keys.bind("f", group, "what is selected as wide as the view", () => {
      if (this.selected !== null) this.go(this.selected, "replace", true);
      else if (this.state.range !== null) this.look(framed(this.state.view, this.state.range.t0, this.state.range.t1 - this.state.range.t0, this.all, true));
    });
    keys.bind("m", group, "sum up what runs during the selected span", () => {
      if (this.selected === null) return;
      const { start, end } = this.shown(this.selected);
      store.set({ r0: Math.round(start), r1: Math.round(Math.max(end, start + 1)), sel: null }, "push");
    });
    keys.bind("[", group, "the step before", () => this.nextStep(-1));
    keys.bind("]", group, "the next step", () => this.nextStep(1));
    keys.bind(".", group, "select the next span of the lane", () => void this.beside(false));
    keys.bind(",", group, "and the one before", () => void this.beside(true));
    keys.bind("ArrowDown", group, "select in the lane below", () => void this.lanesAway(1));
    keys.bind("ArrowUp", group, "and in the lane above", () => void this.lanesAway(-1));
    keys.bind("c", group, "to the counterpart on the next rank", () => this.counterpart(1));
    keys.bind("C", group, "and on the rank before", () => this.counterpart(-1));
    keys.bind("A", group, "align ranks another way", () => this.cycle());
    keys.bind("h", group, "show or hide the map of ranks and steps", () => store.set({ heat: this.state.heat === "off" ? "work" : "off" }));
    keys.bind("H", group, "another measure of the map", () => {
      const at = this.head.measures.findIndex((m) => m.id === this.state.heat);
      store.set({ heat: this.head.measures[(at + 1) % this.head.measures.length].id });
    });
    keys.bind("u", group, "unfold or fold all rows of the rank", () => this.turn("r" + Math.max(this.state.rank, 0)));
    keys.bind("r", group, "all ranks again", () => store.set({ only: null }));
    keys.bind("/", group, "search names", () => this.search.focus());
    keys.bind("n", group, "the next span that was found", () => void this.nextFound(false));
    keys.bind("N", group, "and the one before", () => void this.nextFound(true));
    keys.bind("Escape", group, "select nothing", () => this.clear());
  }

  private turn(what: string): void {
    this.context.store.set({ open: [...turned(this.state.open, what)].join(",") || null });
  }

  private toolbar(): void {
    const { state } = this, focus = document.activeElement === this.search;
    fill(this.tools, this.search,
      h("span", { role: "group", "aria-label": "Align ranks by (key: A)" }, ...alignments.filter((a) => a.by !== "stretched" || this.head.stretch).map((a) =>
        h("button", { class: "choice", title: a.help, "aria-pressed": String(a.by === state.by), data: { align: a.by }, on: { click: () => this.choose(a.by) } }, a.title))),
      state.by !== "wall" && h("span", { class: "tl-soft" }, state.by === "step" ? `at step ${state.step}` : state.by === "collective" ? "at the nearest to the middle" : "between collectives"),
      state.only.length > 0 && h("span", { class: "tl-only" }, "only " + state.only.map((r) => this.head.ranks[r]).join(" and "),
        h("button", { class: "quiet", title: "All ranks (key: r)", "aria-label": "All ranks", on: { click: () => this.context.store.set({ only: null }) } }, "✕")),
      h("span", { class: "space" }),
      this.head.steps.length > 1 && h("button", { class: "button", "aria-pressed": String(state.heat !== "off"), title: "Ranks × steps (key: h)", on: { click: () => this.context.store.set({ heat: state.heat === "off" ? "work" : "off" }) } }, "map"),
      h("button", { class: "button", title: "The whole capture (key: 0)", on: { click: () => this.look(whole(this.all)) } }, "whole"),
      h("button", { class: "button", "aria-label": "Zoom out", title: "Zoom out (key: s)", on: { click: () => this.zoom(2, this.width / 2) } }, "−"),
      h("button", { class: "button", "aria-label": "Zoom in", title: "Zoom in (key: w)", on: { click: () => this.zoom(0.5, this.width / 2) } }, "+"),
      this.length);
    if (focus) this.search.focus();
  }

  // What is drawn.

  draw(...parts: Part[]): void {
    for (const p of parts) this.dirty.add(p);
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
  }

  /** What the colours of the rows that are shown mean. */
  private colours(): void {
    const used = new Set<number>();
    for (const g of this.plan.groups) for (const p of g.rows) for (const of of this.head.rows[p.row].classes) used.add(of);
    fill(this.classes, ...[...used].sort((a, b) => a - b).map((of) => h("span", { class: "key" }, swatch(of), this.head.classes[of])),
      this.head.stretch && h("span", { class: "key" }, h("i", { class: "tl-swatch tl-waits" }), "waits for other ranks"));
  }

  restyle(): void {
    this.palette = palette();
    this.painter.restyle();
    this.draw("lanes", "heat", "overlay", "gutter");
  }

  private scene(): Scene {
    const top = this.body.scrollTop, height = this.body.clientHeight, { view } = this.state;
    const lines: number[] = [];
    if (this.state.by === "wall") {
      const [from, end] = stepsIn(this.head.steps, view);
      if ((end - from) * 40 < this.width) for (let n = from; n < end; n++) if (this.head.steps[n].end_ns !== 0) lines.push(this.head.steps[n].start_ns);
    }
    return {
      view, width: this.width, height, top, lanes: between(this.plan.lanes, top, top + height), lines,
      moved: this.alignment?.moved_ns ?? [], stretched: this.state.by === "stretched", palette: this.palette,
      found: this.found === null ? null : new Set(this.found.ids),
    };
  }

  private above(): Above {
    return {
      view: this.state.view, width: this.width, palette: this.palette, steps: this.head.steps, wall: this.state.by === "wall" && this.head.steps.length > 0,
      ribbons: this.ribbons, picked: this.state.step,
    };
  }

  private paint(): void {
    this.frame = 0;
    const started = performance.now(), dirty = this.dirty, { stats } = this.painter;
    this.dirty = new Set();
    if (!this.el.isConnected || this.body.clientHeight === 0) return;
    if (dirty.has("lanes")) {
      const scene = this.scene(), { level, needs } = Painter.needs(scene);
      this.painter.paint(scene);
      for (const canvas of [this.painter.canvas, this.overlay.canvas, this.strips]) canvas.style.height = scene.height + "px";
      for (const canvas of [this.painter.canvas, this.overlay.canvas, this.strips, this.ruler.canvas, this.minimap.canvas]) canvas.style.width = scene.width + "px";
      const mini = this.minimap.needs(this.all, this.width);
      this.tiles.load(needs, level, scene.stretched);
      this.tiles.load(mini.needs, mini.level, false);
      this.minimap.canvas.style.height = MINIMAP + "px";
      this.minimap.paint(this.all, scene.view, this.width, this.palette);
      const a = this.above(), height = Ruler.height({ wall: a.wall, ribbons: this.head.stretch });
      this.ruler.canvas.style.height = height + "px";
      this.ruler.paint(a, height);
      const text = lengthOf(scene.view);
      if (this.length.textContent !== text) this.length.textContent = text;
      this.offsets(scene);
      this.rest(scene);
      if (a.wall) this.heat.view(...this.stepsShown());
      this.marks();
    } else if (dirty.has("overlay")) this.marks();
    if (dirty.has("gutter")) {
      drawGutter(this.gutter, this.head, this.plan, this.state.rank, this.alignment, (what) => this.turn(what));
      this.gutter.style.height = Math.max(this.plan.height, this.body.clientHeight) + "px";
      const lines = this.state.by !== "wall" ? [] : this.head.stretch ? ["steps", "waits in collectives"] : ["steps"];
      fill(this.legend, h("div", null, this.state.by === "stretched" ? "stretched time" : "time"), ...lines.map((l) => h("div", null, l)));
    }
    if (dirty.has("heat")) this.heat.paint(this.palette);
    stats.script.push(performance.now() - started);
    if (stats.script.length > 4000) stats.script.splice(0, 2000);
  }

  private stepsShown(): [number, number] {
    const [from, end] = stepsIn(this.head.steps, this.state.view);
    return end > from ? [from, end - 1] : [-1, -1];
  }

  private marks(): void {
    const s = this.selected, scene = this.scene();
    this.painter.stats.overlays++;
    this.overlay.paint({
      ...scene, lanes: new Map(scene.lanes.map((l) => [l.lane, l])), place: (l) => this.shown(l), selected: s,
      counterparts: s === null ? [] : s.counterparts.filter((c) => c.span >= 0),
      flows: s === null ? [] : s.launch !== null ? [[s.launch, s]] : s.launched.slice(0, 30).map((l) => [s, l]),
      range: this.state.range, collective: this.parts?.links ?? null, last: this.parts?.of.last_ns ?? 0,
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

  /** What is loaded once the view has come to rest. */
  private rest(scene: Scene): void {
    const { t0, t1 } = scene.view, ranks = this.plan.groups.filter((g) => g.y + g.height > scene.top && g.y < scene.top + scene.height).map((g) => g.rank);
    const what = JSON.stringify([t0, t1, this.state.by, scene.stretched ? ranks : 0]);
    if (what === this.settled || !this.head.stretch || (this.state.by !== "wall" && !scene.stretched)) return;
    this.settled = what;
    clearTimeout(this.settle);
    this.rested();
    void busy(new Promise<void>((done) => (this.rested = done)));
    this.settle = window.setTimeout(() => {
      this.rested();
      const from = Math.floor(t0), to = Math.ceil(t1);
      if (scene.stretched) {
        const n = 240;
        void json<number[][]>("timeline/moved", { c: this.c, from, to, n, ranks: ranks.join(",") }).then((of) => {
          this.moved = new Map(ranks.map((r, i) => [r, of[i]]));
          this.draw("lanes");
        });
      } else {
        void json<Ribbons>("timeline/ribbons", { c: this.c, from, to, most: 300 }).then((r) => {
          this.ribbons = r.ribbons;
          this.draw("lanes");
        });
      }
    }, 80);
  }

  // What the pointer does.

  private listen(): void {
    this.search.addEventListener("input", () => this.context.store.set({ q: this.search.value }));
    this.search.addEventListener("keydown", (e) => {
      if (e.key !== "Enter") return;
      e.preventDefault();
      void this.nextFound(e.shiftKey);
    });
    this.body.addEventListener("scroll", () => {
      this.draw("lanes");
      if (Math.abs(this.body.scrollTop - this.state.y) > 1) this.write();
    });
    this.body.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    for (const c of [this.ruler.canvas, this.minimap.canvas]) c.addEventListener("wheel", (e) => this.wheel(e, true), { passive: false });
    this.drag(this.overlay.canvas, (e, from) => {
      if (e.shiftKey || e.buttons === 4) return this.pan(-e.movementX / this.width);
      const a = this.time(from), b = this.time(e.offsetX);
      this.state.range = { t0: Math.round(Math.min(a, b)), t1: Math.round(Math.max(a, b)) };
      this.draw("overlay");
    }, (e, moved) => {
      const range = this.state.range;
      if (!moved) void this.click(e.offsetX, e.offsetY);
      else if (range !== null && !e.shiftKey && range.t1 > range.t0) this.context.store.set({ r0: range.t0, r1: range.t1, sel: null }, "push");
    });
    this.drag(this.ruler.canvas, (e) => this.pan(-e.movementX / this.width), (e, moved) => {
      if (!moved) this.clickRuler(e.offsetX, e.offsetY);
    });
    this.ruler.canvas.addEventListener("dblclick", (e) => {
      const step = Ruler.stepAt(this.above(), e.offsetX, e.offsetY);
      if (step >= 0) this.look(aroundStep(this.head, step, step), "push", { step });
    });
    const center = (e: PointerEvent) => {
      const at = this.all.t0 + (e.offsetX / this.width) * (this.all.t1 - this.all.t0), half = (this.state.view.t1 - this.state.view.t0) / 2;
      this.look(panned({ t0: at - half, t1: at + half }, 0, this.all));
    };
    this.drag(this.minimap.canvas, center, (e, moved) => moved || center(e));
    this.overlay.canvas.addEventListener("pointermove", (e) => e.buttons === 0 && this.hover(e.offsetX, e.offsetY));
    this.overlay.canvas.addEventListener("pointerleave", () => this.hover(-1, -1));
    this.ruler.canvas.addEventListener("pointermove", (e) => e.buttons === 0 && this.hoverRuler(e.offsetX, e.offsetY));
    this.ruler.canvas.addEventListener("pointerleave", () => this.hoverRuler(-1, -1));
  }

  private wheel(e: WheelEvent, always = false): void {
    const by = e.deltaMode === 1 ? 16 : 1, dx = e.deltaX * by, dy = e.deltaY * by;
    const x = e.clientX - this.overlay.canvas.getBoundingClientRect().left;
    if (e.ctrlKey || e.metaKey || (always && !e.shiftKey && Math.abs(dy) >= Math.abs(dx))) this.zoom(Math.exp(Math.min(Math.max(dy, -240), 240) / 300), x);
    else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) this.pan((e.shiftKey && dx === 0 ? dy : dx) / this.width);
    else return;
    e.preventDefault();
  }

  /** Calls back while something is dragged, with where it began; and at the end, which may be that of a click. */
  private drag(el: HTMLElement, during: (e: PointerEvent, from: number) => void, end: (e: PointerEvent, moved: boolean) => void): void {
    let from = NaN, moved = false;
    el.addEventListener("pointerdown", (e) => {
      if (e.button > 1) return;
      from = e.offsetX;
      moved = false;
      el.setPointerCapture(e.pointerId);
    });
    el.addEventListener("pointermove", (e) => {
      if (Number.isNaN(from)) return;
      moved ||= Math.abs(e.offsetX - from) > 4;
      if (moved) during(e, from);
    });
    el.addEventListener("pointerup", (e) => {
      if (!Number.isNaN(from)) end(e, moved);
      from = NaN;
    });
    el.addEventListener("pointercancel", () => (from = NaN));
  }

  private async click(x: number, y: number): Promise<void> {
    const hit = this.painter.hit(x, y);
    if (hit === null) return this.clear();
    const rank = "rank" in hit ? hit.rank : hit.lane.rank;
    if ("span" in hit) return this.context.store.set({ rank, sel: hit.span, r0: null, r1: null }, "push");
    const l = await this.ask(hit, this.time(x - 1), this.time(x + 2));
    if (l === null) this.clear();
    else this.context.store.set({ rank, sel: l.span, r0: null, r1: null }, "push");
  }

  private clickRuler(x: number, y: number): void {
    const a = this.above(), step = Ruler.stepAt(a, x, y), ribbon = Ruler.ribbonAt(a, x, y);
    if (step >= 0) {
      const s = this.head.steps[step];
      this.context.store.set({ step, r0: s.start_ns, r1: s.end_ns, sel: null }, "push");
    } else if (ribbon !== null) {
      // The last arrival, and what came before it.
      const wait = Math.max(ribbon.last_ns - ribbon.first_ns, ribbon.end_ns - ribbon.last_ns, 1000);
      this.state.view = framed({ t0: ribbon.last_ns - 1.5 * wait, t1: ribbon.last_ns + 0.8 * wait }, ribbon.late.start_ns, 0, this.all);
      this.go(ribbon.late);
    }
  }

  private hover(x: number, y: number): void {
    const hit = x < 0 ? null : this.painter.hit(x, y);
    this.pointer = { x, y, box: hit !== null && "span" in hit ? { x0: hit.x0, x1: hit.x1, lane: hit.lane } : null };
    if (this.parts !== null && x >= 0) this.parts = null;
    this.marks();
    if (hit === null) return hideTip();
    if ("span" in hit) this.tipSpan(hit, x, y);
    else {
      const { class: of, covered } = this.painter.classAt(hit, x);
      if (of === 0) hideTip();
      else showTip(this.overlay.canvas, x, y, { title: this.head.classes[of], rows: [["busy here", percent(Math.round(covered * 100) / 100)], ["", "a click selects the longest span"]] });
    }
  }

  private tipSpan(hit: Hit, x: number, y: number): void {
    const row = this.head.rows[hit.lane.row], { view } = this.state, ns = ((hit.x1 - hit.x0) / this.width) * (view.t1 - view.t0);
    const rows: [string, string][] = [[this.head.ranks[row.rank], row.name], ["what", this.head.classes[hit.class] ?? ""]];
    if (this.state.by !== "stretched") rows.push(["duration", duration(Math.round(ns))]);
    showTip(this.overlay.canvas, x, y, { title: this.names.get(hit.name), rows });
  }

  private hoverRuler(x: number, y: number): void {
    const a = this.above(), ribbon = x < 0 ? null : Ruler.ribbonAt(a, x, y), step = x < 0 ? -1 : Ruler.stepAt(a, x, y);
    if (ribbon !== null) {
      showTip(this.ruler.canvas, x, y, ribbonTip(ribbon, this.head.ranks[ribbon.late.rank]));
      if (this.parts?.of !== ribbon) {
        this.parts = { of: ribbon, links: [] };
        void json<Link[]>("timeline/parts", { c: this.c, domain: ribbon.domain, index: ribbon.index }).then((links) => {
          if (this.parts?.of === ribbon) this.parts.links = links;
          this.draw("overlay");
        });
      }
    } else {
      this.parts = null;
      const s = this.head.steps[step];
      if (s === undefined) hideTip();
      else showTip(this.ruler.canvas, x, y, { title: `step ${step}, ${s.kind}`, rows: [["name", s.name], ["all ranks", duration(s.end_ns - s.start_ns)]] });
    }
    this.draw("overlay");
  }

  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.settle);
    this.written();
    this.rested();
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
