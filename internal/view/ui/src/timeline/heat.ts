// The map of ranks and steps above the lanes: a late rank is a dark row, a slow step a dark column. A click opens what
// happened there, a drag sets the time that is shown.

import { duration, groupDigits, signed } from "../../../../explain/report/page/format";
import { ends, mix, rgb, usual } from "../../../../explain/report/page/heat";
import { hideTip, showTip } from "../../../../explain/report/page/plot";
import { fill, h } from "../dom";
import { gutterOf } from "./gutter";
import type { Palette } from "./palette";
import type { Head, Marked, Measure } from "./wire";

/** What the map asks of the view that it is part of. */
export interface HeatEvents {
  load(measure: string): Promise<ArrayBuffer>;
  choose(measure: string): void;
  pick(rank: number, step: number): void;
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

/** A map with fewer cells: of each block the value that is furthest from 0. */
export function reduced(shown: Float64Array, ranks: number, steps: number, rows: number, cols: number): Float64Array {
  const out = new Float64Array(rows * cols).fill(NaN);
  for (let r = 0; r < ranks; r++) {
    const y = Math.floor((r * rows) / ranks);
    for (let s = 0; s < steps; s++) {
      const v = shown[r * steps + s], at = y * cols + Math.floor((s * cols) / steps);
      if (!Number.isNaN(v) && !(Math.abs(out[at]) >= Math.abs(v))) out[at] = v;
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
  private at: { rank: number; step: number } | null = null;
  private shownSteps: [number, number] = [-1, -1];

  constructor(private readonly head: Head, private readonly events: HeatEvents, private readonly redraw: () => void) {
    this.ranks = head.ranks.length;
    this.steps = head.steps.length;
    this.el = h("div", { class: "tl-heat" },
      h("div", { class: "tl-heat-head" }, h("span", { class: "tl-title" }, "Ranks × steps"), this.choices, h("span", { class: "space" }), this.scale),
      h("div", { class: "tl-map" }, this.canvas, this.outlines, this.brushed, this.box));
    this.listen();
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
    this.place(this.brushed, first < 0 || (first === 0 && last === this.steps - 1) ? null : { rank: 0, ranks: this.ranks, step: first, steps: last - first + 1 });
  }

  private height(): number {
    return Math.min(Math.max(this.ranks * Math.min(Math.max(Math.floor(120 / this.ranks), 3), 18), 36), 256);
  }

  private area(): { x: number; w: number; h: number } {
    const x = gutterOf(this.canvas.clientWidth);
    return { x, w: Math.max(this.canvas.clientWidth - x - 8, 10), h: this.height() };
  }

  private place(el: HTMLElement, at: { rank: number; ranks: number; step: number; steps: number } | null): void {
    el.hidden = at === null;
    if (at === null) return;
    const a = this.area();
    el.style.left = a.x + (at.step / this.steps) * a.w - 1 + "px";
    el.style.width = Math.max((at.steps / this.steps) * a.w, 2) + 1 + "px";
    el.style.top = (at.rank / this.ranks) * a.h - 1 + "px";
    el.style.height = Math.max((at.ranks / this.ranks) * a.h, 2) + 1 + "px";
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

  /** Outlines the finding: ranks that lie beside each other share a box. */
  private mark(): void {
    const f = this.marked, boxes: HTMLElement[] = [];
    if (f !== null) {
      const ranks = f.ranks.slice().sort((a, b) => a - b);
      for (let i = 0, from = 0; i < ranks.length; i++) {
        if (ranks[i + 1] === ranks[i] + 1) continue;
        const box = h("div", { class: "tl-found" });
        this.place(box, { rank: ranks[from], ranks: i - from + 1, step: f.first, steps: Math.min(f.last, this.steps - 1) - f.first + 1 });
        boxes.push(box);
        from = i + 1;
      }
    }
    fill(this.outlines, ...boxes);
  }

  private labels(ctx: CanvasRenderingContext2D, palette: Palette): void {
    const a = this.area(), row = a.h / this.ranks, every = Math.ceil(12 / row);
    ctx.fillStyle = palette.name("soft");
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (let r = 0; r < this.ranks; r += every) ctx.fillText(this.head.ranks[r], a.x - 8, (r + every / 2) * row, a.x - 20);
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    const apart = Math.max(Math.ceil((this.steps * 44) / a.w), 1), unit = 10 ** Math.floor(Math.log10(apart));
    const stride = [1, 2, 5, 10].map((u) => u * unit).find((u) => u >= apart) ?? apart;
    for (let s = 0; s < this.steps; s += stride) ctx.fillText(String(s), a.x + ((s + 0.5) / this.steps) * a.w, a.h + 4);
  }

  private map(ctx: CanvasRenderingContext2D, palette: Palette, cells: Cells): void {
    const a = this.area(), rows = Math.min(this.ranks, a.h), cols = Math.min(this.steps, Math.floor(a.w));
    const shown = reduced(cells.shown, this.ranks, this.steps, rows, cols);
    const color = (name: string) => rgb(palette.name(name));
    const up = [color("cold"), color("warm"), color("hot")], down = [color("cold"), color("under")];
    const image = ctx.createImageData(cols, rows);
    const lacking = color("panel");
    for (let i = 0; i < shown.length; i++) {
      const t = shown[i] / cells.limit, [r, g, b] = Number.isNaN(t) ? lacking : t < 0 ? mix(down, -t) : mix(up, t);
      image.data.set([r, g, b, 255], 4 * i);
    }
    const small = document.createElement("canvas");
    small.width = cols;
    small.height = rows;
    small.getContext("2d")!.putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(small, a.x, 0, a.w, a.h);
    ctx.fillStyle = palette.name("bg");
    if (a.w / cols >= 6) for (let c = 1; c < cols; c++) ctx.fillRect(a.x + Math.round((c / cols) * a.w) - 1, 0, 1, a.h);
    if (a.h / rows >= 8) for (let r = 1; r < rows; r++) ctx.fillRect(a.x, Math.round((r / rows) * a.h) - 1, a.w, 1);
    const strip = h("i", null);
    strip.style.background = cells.measure.beyond
      ? "linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))"
      : "linear-gradient(to right, var(--cold), var(--warm), var(--hot))";
    const [low, high, cut] = ends(cells.shown, cells.limit, cells.measure.beyond, (v) => this.text(v, cells.measure));
    fill(this.scale, low + " ", strip, " " + high + (cells.measure.beyond ? " beyond the median rank" : "") + cut);
    this.canvas.setAttribute("aria-label", `Heat map of ${cells.measure.title}, ${this.ranks} ranks by ${this.steps} steps: arrows move, Enter opens the step`);
  }

  private text(v: number, m: Measure): string {
    return m.unit === "ns" ? duration(Math.round(v)) : groupDigits(String(Math.round(v)));
  }

  private cellAt(x: number, y: number): { rank: number; step: number } | null {
    const a = this.area(), step = Math.floor(((x - a.x) / a.w) * this.steps), rank = Math.floor((y / a.h) * this.ranks);
    return step >= 0 && step < this.steps && rank >= 0 && rank < this.ranks ? { rank, step } : null;
  }

  private point(at: { rank: number; step: number } | null): void {
    this.at = at;
    this.place(this.box, at && { rank: at.rank, ranks: 1, step: at.step, steps: 1 });
    const cells = this.cells;
    if (at === null || cells === null) return hideTip();
    const v = cells.values[at.rank * this.steps + at.step], m = cells.measure, s = this.head.steps[at.step], a = this.area();
    showTip(this.canvas, a.x + ((at.step + 0.5) / this.steps) * a.w, ((at.rank + 0.5) / this.ranks) * a.h, {
      title: `${this.head.ranks[at.rank]}, step ${at.step}, ${s.kind}`,
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
      if (a !== null && b !== null) this.place(this.brushed, { rank: 0, ranks: this.ranks, step: Math.min(a.step, b.step), steps: Math.abs(a.step - b.step) + 1 });
    });
    el.addEventListener("pointerup", (e) => {
      const a = from === null ? null : within(from), b = within(e.offsetX);
      if (from !== null && Math.abs(e.offsetX - from) >= 6 && a !== null && b !== null) this.events.brush(Math.min(a.step, b.step), Math.max(a.step, b.step));
      else {
        const at = this.cellAt(e.offsetX, e.offsetY);
        if (at !== null) this.events.pick(at.rank, at.step);
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
      const at = this.at ?? { rank: 0, step: Math.max(this.shownSteps[0], 0) };
      const moved: { [key: string]: { rank: number; step: number } } = {
        ArrowLeft: { ...at, step: Math.max(at.step - 1, 0) }, ArrowRight: { ...at, step: this.at === null ? at.step : Math.min(at.step + 1, this.steps - 1) },
        ArrowUp: { ...at, rank: Math.max(at.rank - 1, 0) }, ArrowDown: { ...at, rank: this.at === null ? at.rank : Math.min(at.rank + 1, this.ranks - 1) },
      };
      if (moved[e.key] !== undefined) this.point(moved[e.key]);
      else if (e.key === "Enter" && this.at !== null) this.events.pick(this.at.rank, this.at.step);
      else if (e.key === "Escape") el.blur();
      else return;
      e.preventDefault();
    });
  }
}
