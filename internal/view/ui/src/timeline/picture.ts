// What the timeline shows, and how it is drawn.

import { hideTip } from "../../../../web/plot";
import { busy } from "../api";
import { fill, h } from "../dom";
import type { Context } from "../view";
import { extent, read, type State } from "./address";
import type { CounterRows } from "./counters";
import { arrows, lastArrival } from "./flows";
import { bandsOf, inSight } from "./ghosts";
import { drawMoved, type Gutter, gutterOf } from "./gutter";
import type { Heat } from "./heat";
import { between, layout, type Layout, type Open, shownRows, shownText } from "./layout";
import type { Load } from "./load";
import { Minimap, MINIMAP } from "./minimap";
import type { Ghosts } from "./otherwise";
import { lengthOf, Overlay, type Pointer } from "./overlay";
import { Painter, type Scene } from "./painter";
import { palette, type Palette } from "./palette";
import { type Panel, swatch } from "./panel";
import { type Above, laneHeight, lanesOf, Ruler, stepsIn, type StepLane } from "./ruler";
import type { Range } from "./scale";
import { Source } from "./source";
import type { Alignment, Found, Head, Link, Ribbon, Selected } from "./wire";

/** So many ghosts are drawn over the rows at most, and none of less than so many pixels. */
const MOST_BANDS = 200, LEAST_BAND = 2;

const nowhere: [number, number] = [-1, -1];

/** What changed, and so is drawn in the next frame. */
type Part = "lanes" | "heat" | "overlay" | "gutter";

/** What of it leads to another view is made by Timeline. */
export abstract class Picture {
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
  protected frame = 0;
  private settle = 0;
  protected settled = "";
  private readonly waits = new Map<string, () => void>();

  readonly painter: Painter;
  readonly overlay = new Overlay(h("canvas", { class: "overlay" }));
  readonly ruler = new Ruler(h("canvas", { role: "img", "aria-label": "Time, steps and collectives" }));
  readonly minimap: Minimap;
  abstract readonly heat: Heat;
  /** Where steps would end. */
  abstract readonly ghosts: Ghosts;
  /** The load that ran meanwhile; null: none is known. */
  abstract readonly load: Load | null;
  abstract readonly counters: CounterRows;
  abstract readonly panel: Panel;
  protected abstract readonly gutter: Gutter;
  readonly body = h("div", { class: "tl-body", tabindex: "0", role: "region", "aria-label": "Rows of all ranks" });
  readonly search = h("input", { type: "search", placeholder: "Search names  /", "aria-label": "Search names of spans" });
  protected readonly strips = h("canvas", { class: "tl-strips" });
  protected readonly spacer = h("div", { class: "tl-spacer" });
  protected readonly length = h("span", { class: "length", title: "Visible time" });
  protected readonly legend = h("div", { class: "legend" });
  protected readonly classes = h("p", { class: "tl-classes", "aria-label": "Colours" });

  constructor(readonly context: Context, readonly head: Head) {
    this.all = extent(head);
    this.state = read(this.store.params, head);
    this.source = new Source(head, this.store.params.c, () => this.draw("lanes"));
    const { tiles, names } = this.source;
    this.painter = new Painter(h("canvas", { class: "lanes", role: "img", "aria-label": "Spans of all rows" }), tiles, names);
    this.minimap = new Minimap(h("canvas", { role: "img", "aria-label": "The whole capture" }), tiles, head);
  }

  get store(): Context["store"] {
    return this.context.store;
  }

  get width(): number {
    return Math.max(this.body.clientWidth - gutterOf(this.body.clientWidth), 50);
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

  /** The rows as they would be with something else open, or other ranks. */
  lay(open: Open, only: readonly number[]): Layout {
    return layout(this.head, open, only, this.state.how);
  }

  /** Makes room for rows. */
  stretchTo(height: number): void {
    this.spacer.style.height = height + "px";
  }

  /** The rows that are shown, as the server reads them. */
  rows(): string {
    return shownText(this.head, this.plan);
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
  protected colours(): void {
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
    clearTimeout(this.settle);
    for (const what of [...this.waits.keys()]) this.done(what);
    cancelAnimationFrame(this.frame);
    hideTip();
  }
}
