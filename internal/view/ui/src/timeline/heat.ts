// The map of ranks and steps above the lanes: a late rank is a dark row, a slow step a dark column. A click opens what
// happened there, a drag sets the time that is shown.

import { duration, groupDigits, signed } from "../../../../web/format";
import { ends, mix, rgb, usual } from "../../../../web/heat";
import { fit, hideTip, showTip } from "../../../../web/plot";
import { fill, h } from "../dom";
import { gutterOf } from "./gutter";
import type { Item } from "./groups";
import type { Palette } from "./palette";
import type { Head, Marked, Measure } from "./wire";

/** What the map asks of the view that it is part of. */
export interface HeatEvents {
  load(measure: string): Promise<ArrayBuffer>;
  choose(measure: string): void;
  pick(rank: number, step: number): void;
  open(group: number): void;
  brush(first: number, last: number): void;
}

/** Cells of a measure: rank after rank, by step, and the median rank's of each step. */
export interface Cells {
  measure: Measure;
  values: Float64Array;
  median: Float64Array;
  /** What is coloured: how far from the median, or the value itself. NaN: the rank lacks the step. */
  shown: Float64Array;
  /** What fills the scale. */
  limit: number;
}

/** The cells of an answer. */
export function cellsOf(answer: ArrayBuffer, measure: Measure, ranks: number, steps: number): Cells {
  const all = new Float64Array(answer), values = all.subarray(0, ranks * steps), median = all.subarray(ranks * steps, (ranks + 1) * steps);
  const shown = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) shown[i] = measure.beyond ? values[i] - median[i % steps] : values[i];
  return { measure, values, median, shown, limit: Math.max(usual(shown, ranks, steps), measure.floor, 1) };
}

/** How much a value says: what is beyond the median counts twice what is below it. */
const weight = (v: number) => (v > 0 ? 2 * v : -v);

/** A map with fewer cells: of each block of lines, which are lists of ranks, and of steps the value that says most. */
export function reduced(shown: Float64Array, lines: readonly (readonly number[])[], steps: number, rows: number, cols: number): Float64Array {
  const out = new Float64Array(rows * cols).fill(NaN);
  for (let l = 0; l < lines.length; l++) {
    const y = Math.floor((l * rows) / lines.length);
    for (const r of lines[l]) {
      for (let s = 0; s < steps; s++) {
        const v = shown[r * steps + s], at = y * cols + Math.floor((s * cols) / steps);
        if (!Number.isNaN(v) && !(weight(out[at]) >= weight(v))) out[at] = v;
      }
    }
  }
  return out;
}

/** The rank with the median value of a step, -1: no rank has it. */
export function medianRank(values: Float64Array, ranks: number, steps: number, step: number): number {
  const have: [value: number, rank: number][] = [];
  for (let r = 0; r < ranks; r++) if (!Number.isNaN(values[r * steps + step])) have.push([values[r * steps + step], r]);
  have.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return have.length > 0 ? have[(have.length - 1) >> 1][1] : -1;
}

const AXIS = 16;

/** Whose row it is: of a rank, or of a group with the rank that says most in each cell. */
interface Line {
  name: string;
  ranks: readonly number[];
  group: number; // -1: a rank
  open: boolean;
  late: boolean; // a finding is about one of its ranks
}

export class Heat {
  readonly el: HTMLElement;
  readonly canvas = h("canvas", { tabindex: "0", role: "img" });
  private readonly box = h("div", { class: "tl-cell", hidden: true });
  private readonly brushed = h("div", { class: "tl-brush", hidden: true });
  /** Outlines of a finding: one of each rank. */
  private readonly outlines = h("div", { class: "tl-marked" });
  /** The finding that is outlined. */
  marked: Marked | null = null;
  private readonly scale = h("span", { class: "scale" });
  private readonly choices = h("span", { role: "group", "aria-label": "Measure of the map" });
  private readonly ranks: number;
  private readonly steps: number;
  private asked = "";
  cells: Cells | null = null;
  /** What is pointed at by keys or pointer. */
  private at: { line: number; step: number } | null = null;
  private lines: Line[] = [];
  private readonly late: ReadonlySet<number>;
  /** The map without what is on it, and what it was drawn of. */
  private readonly small = document.createElement("canvas");
  private drawn: readonly unknown[] = [];
  private shownSteps: [number, number] = [-1, -1];

  constructor(private readonly head: Head, private readonly events: HeatEvents, private readonly redraw: () => void) {
    this.ranks = head.ranks.length;
    this.steps = head.steps.length;
    this.late = new Set(head.blamed.flatMap((b) => b.ranks));
    this.el = h("div", { class: "tl-heat" },
      h("div", { class: "tl-heat-head" }, h("span", { class: "tl-title" }, "Ranks × steps"), this.choices, h("span", { class: "space" }), this.scale),
      h("div", { class: "tl-map" }, this.canvas, this.outlines, this.brushed, this.box));
    this.listen();
  }

  /** Shows these rows. */
  list(items: readonly Item[]): void {
    this.at = null;
    this.lines = items.map((i) => ("group" in i
      ? { name: `${i.open ? "▾" : "▸"} ${i.name}`, ranks: i.ranks, group: i.group, open: i.open, late: i.ranks.some((r) => this.late.has(r)) }
      : { name: this.head.ranks[i.rank], ranks: [i.rank], group: -1, open: false, late: this.late.has(i.rank) }));
    this.point(null);
  }

  get measure(): string {
    return this.asked;
  }

  /** Shows a measure; "": the map is not shown. */
  async show(measure: string): Promise<void> {
    const of = this.head.measures.find((m) => m.id === measure);
    this.el.hidden = of === undefined || this.steps === 0;
    fill(this.choices, ...this.head.measures.map((m) =>
      h("button", { class: "choice", "aria-pressed": String(m.id === measure), on: { click: () => this.events.choose(m.id) } }, m.title)));
    if (this.el.hidden || of === undefined || measure === this.asked) return;
    this.asked = measure;
    const answer = await this.events.load(measure);
    if (this.asked !== measure) return;
    this.cells = cellsOf(answer, of, this.ranks, this.steps);
    this.redraw();
  }

  /** Marks the steps that are in view. */
  view(first: number, last: number): void {
    this.shownSteps = [first, last];
    this.place(this.brushed, first < 0 || (first === 0 && last === this.steps - 1) ? null : { line: 0, lines: this.lines.length, step: first, steps: last - first + 1 });
  }

  private height(): number {
    const n = Math.max(this.lines.length, 1);
    return Math.min(Math.max(n * Math.min(Math.max(Math.floor(120 / n), 3), 18), 36), 256);
  }

  private area(): { x: number; w: number; h: number } {
    const x = gutterOf(this.canvas.clientWidth);
    return { x, w: Math.max(this.canvas.clientWidth - x - 8, 10), h: this.height() };
  }

  private place(el: HTMLElement, at: { line: number; lines: number; step: number; steps: number } | null): void {
    el.hidden = at === null;
    if (at === null) return;
    const a = this.area();
    el.style.left = a.x + (at.step / this.steps) * a.w - 1 + "px";
    el.style.width = Math.max((at.steps / this.steps) * a.w, 2) + 1 + "px";
    el.style.top = (at.line / this.lines.length) * a.h - 1 + "px";
    el.style.height = Math.max((at.lines / this.lines.length) * a.h, 2) + 1 + "px";
  }

  paint(palette: Palette): void {
    if (this.el.hidden) return;
    const height = this.height();
    this.canvas.style.height = height + AXIS + "px";
    const width = this.canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (width === 0) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round((height + AXIS) * ratio);
    const ctx = this.canvas.getContext("2d", { alpha: false })!;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = palette.name("bg");
    ctx.fillRect(0, 0, width, height + AXIS);
    ctx.font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    this.labels(ctx, palette);
    if (this.cells !== null) this.map(ctx, palette, this.cells);
    this.view(...this.shownSteps);
    this.mark();
  }

  /** Outlines the finding: lines that lie beside each other share a box. */
  private mark(): void {
    const f = this.marked, boxes: HTMLElement[] = [];
    if (f !== null) {
      const ranks = new Set(f.ranks), lines = this.lines.flatMap((l, i) => (!(l.group >= 0 && l.open) && l.ranks.some((r) => ranks.has(r)) ? [i] : []));
      for (let i = 0, from = 0; i < lines.length; i++) {
        if (lines[i + 1] === lines[i] + 1) continue;
        const box = h("div", { class: "tl-found" });
        this.place(box, { line: lines[from], lines: i - from + 1, step: f.first, steps: Math.min(f.last, this.steps - 1) - f.first + 1 });
        boxes.push(box);
        from = i + 1;
      }
    }
    fill(this.outlines, ...boxes);
  }

  private labels(ctx: CanvasRenderingContext2D, palette: Palette): void {
    const a = this.area(), n = this.lines.length, row = a.h / n, free = new Uint8Array(Math.ceil(a.h) + 24);
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    const put = (l: Line, i: number) => {
      const y = Math.min(Math.max((i + 0.5) * row, 6), a.h - 6), from = Math.max(Math.round(y) - 6, 0);
      if (free.subarray(from, from + 12).some((taken) => taken > 0)) return;
      free.fill(1, from, from + 12);
      ctx.fillStyle = palette.name(l.late ? "high" : "soft");
      ctx.fillText(fit(ctx, l.name, a.x - 12), a.x - 8, y);
    };
    // Those that findings name first, then as many as have room.
    this.lines.forEach((l, i) => l.late && put(l, i));
    const every = Math.max(Math.ceil(12 / row), 1);
    for (let i = 0; i < n; i += every) put(this.lines[i], i);
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    const apart = Math.max(Math.ceil((this.steps * 44) / a.w), 1), unit = 10 ** Math.floor(Math.log10(apart));
    const stride = [1, 2, 5, 10].map((u) => u * unit).find((u) => u >= apart) ?? apart;
    for (let s = 0; s < this.steps; s += stride) ctx.fillText(String(s), a.x + ((s + 0.5) / this.steps) * a.w, a.h + 4);
  }

  private map(ctx: CanvasRenderingContext2D, palette: Palette, cells: Cells): void {
    const a = this.area(), rows = Math.min(this.lines.length, a.h), cols = Math.min(this.steps, Math.floor(a.w));
    const of = [cells, this.lines, palette, rows, cols];
    if (of.some((x, i) => x !== this.drawn[i])) this.pixels(palette, cells, rows, cols);
    this.drawn = of;
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.small, a.x, 0, a.w, a.h);
    ctx.fillStyle = palette.name("bg");
    if (a.w / cols >= 6) for (let c = 1; c < cols; c++) ctx.fillRect(a.x + Math.round((c / cols) * a.w) - 1, 0, 1, a.h);
    if (a.h / rows >= 8) for (let r = 1; r < rows; r++) ctx.fillRect(a.x, Math.round((r / rows) * a.h) - 1, a.w, 1);
    // A line beside the ranks of an open group.
    ctx.fillStyle = palette.name("strong");
    this.lines.forEach((l, i) => l.open && ctx.fillRect(a.x - 5, (i / this.lines.length) * a.h + 1, 2, ((l.ranks.length + 1) / this.lines.length) * a.h - 2));
    this.say(cells);
  }

  /** Draws the cells, a pixel for each. */
  private pixels(palette: Palette, cells: Cells, rows: number, cols: number): void {
    const shown = reduced(cells.shown, this.lines.map((l) => l.ranks), this.steps, rows, cols), { small } = this;
    small.width = cols;
    small.height = rows;
    const ctx = small.getContext("2d")!;
    const color = (name: string) => rgb(palette.name(name));
    const up = [color("cold"), color("warm"), color("hot")], down = [color("cold"), color("under")];
    const image = ctx.createImageData(cols, rows);
    const lacking = color("panel");
    for (let i = 0; i < shown.length; i++) {
      const t = shown[i] / cells.limit, [r, g, b] = Number.isNaN(t) ? lacking : t < 0 ? mix(down, -t) : mix(up, t);
      image.data.set([r, g, b, 255], 4 * i);
    }
    ctx.putImageData(image, 0, 0);
  }

  /** The scale, and what a screen reader says. */
  private say(cells: Cells): void {
    const strip = h("i", null);
    strip.style.background = cells.measure.beyond
      ? "linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))"
      : "linear-gradient(to right, var(--cold), var(--warm), var(--hot))";
    const [low, high, cut] = ends(cells.shown, cells.limit, cells.measure.beyond, (v) => this.text(v, cells.measure));
    fill(this.scale, h("span", null, low), strip, " " + high + (cells.measure.beyond ? " beyond the median rank" : "") + cut);
    this.canvas.setAttribute("aria-label", `Heat map of ${cells.measure.title}, ${this.ranks} ranks by ${this.steps} steps: arrows move, Enter opens the step`);
  }

  private text(v: number, m: Measure): string {
    return m.unit === "ns" ? duration(Math.round(v)) : groupDigits(String(Math.round(v)));
  }

  private cellAt(x: number, y: number): { line: number; step: number } | null {
    const a = this.area(), step = Math.floor(((x - a.x) / a.w) * this.steps), line = Math.floor((y / a.h) * this.lines.length);
    return step >= 0 && step < this.steps && line >= 0 && line < this.lines.length ? { line, step } : null;
  }

  /** The rank of a cell: of a group, the one whose value is seen. */
  private rankAt(l: Line, step: number): number {
    const value = (r: number) => this.cells?.shown[r * this.steps + step] ?? NaN;
    return l.ranks.reduce((a, b) => (!(weight(value(a)) >= weight(value(b))) && !Number.isNaN(value(b)) ? b : a), l.ranks[0]);
  }

  private pick(at: { line: number; step: number }): void {
    const l = this.lines[at.line];
    if (l.group >= 0) this.events.open(l.group);
    else this.events.pick(l.ranks[0], at.step);
  }

  private point(at: { line: number; step: number } | null): void {
    this.at = at;
    this.place(this.box, at && { line: at.line, lines: 1, step: at.step, steps: 1 });
    const cells = this.cells;
    if (at === null || cells === null) return hideTip();
    const line = this.lines[at.line], rank = this.rankAt(line, at.step), name = this.head.ranks[rank];
    const v = cells.values[rank * this.steps + at.step], m = cells.measure, s = this.head.steps[at.step], a = this.area();
    showTip(this.canvas, a.x + ((at.step + 0.5) / this.steps) * a.w, ((at.line + 0.5) / this.lines.length) * a.h, {
      title: `${line.group < 0 ? name : `${line.name.slice(2)}: ${name} of ${line.ranks.length} ranks`}, step ${at.step}, ${s.kind}`,
      rows: Number.isNaN(v) ? [["this rank lacks the step", ""]] : [
        [m.title, this.text(v, m)], ["median rank", this.text(cells.median[at.step], m)],
        ["beyond it", m.unit === "ns" ? signed(Math.round(v - cells.median[at.step])) : this.text(v - cells.median[at.step], m)],
      ],
    });
  }

  private listen(): void {
    const el = this.canvas;
    let from: number | null = null;
    /** The cell of the first rank at x, or the one at the end that x is beyond. */
    const within = (x: number) => {
      const a = this.area();
      return this.cellAt(Math.min(Math.max(x, a.x), a.x + a.w - 1), 0);
    };
    el.addEventListener("pointerdown", (e) => {
      from = e.offsetX;
      el.setPointerCapture(e.pointerId);
    });
    el.addEventListener("pointermove", (e) => {
      const at = this.cellAt(e.offsetX, e.offsetY);
      this.point(at);
      if (from === null || Math.abs(e.offsetX - from) < 6) return;
      const a = within(from), b = within(e.offsetX);
      if (a !== null && b !== null) this.place(this.brushed, { line: 0, lines: this.lines.length, step: Math.min(a.step, b.step), steps: Math.abs(a.step - b.step) + 1 });
    });
    el.addEventListener("pointerup", (e) => {
      const a = from === null ? null : within(from), b = within(e.offsetX);
      if (from !== null && Math.abs(e.offsetX - from) >= 6 && a !== null && b !== null) this.events.brush(Math.min(a.step, b.step), Math.max(a.step, b.step));
      else {
        const at = this.cellAt(e.offsetX, e.offsetY);
        if (at !== null) this.pick(at);
      }
      from = null;
    });
    el.addEventListener("pointercancel", () => { // the browser scrolls
      from = null;
      this.point(null);
      this.view(...this.shownSteps);
    });
    el.addEventListener("pointerleave", () => this.point(null));
    el.addEventListener("blur", () => this.point(null));
    el.addEventListener("keydown", (e) => {
      const at = this.at ?? { line: 0, step: Math.max(this.shownSteps[0], 0) };
      const moved: { [key: string]: { line: number; step: number } } = {
        ArrowLeft: { ...at, step: Math.max(at.step - 1, 0) }, ArrowRight: { ...at, step: this.at === null ? at.step : Math.min(at.step + 1, this.steps - 1) },
        ArrowUp: { ...at, line: Math.max(at.line - 1, 0) }, ArrowDown: { ...at, line: this.at === null ? at.line : Math.min(at.line + 1, this.lines.length - 1) },
      };
      if (moved[e.key] !== undefined) this.point(moved[e.key]);
      else if (e.key === "Enter" && this.at !== null) this.pick(this.at);
      else if (e.key === "Escape") el.blur();
      else return;
      e.preventDefault();
    });
  }
}
