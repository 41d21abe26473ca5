// Plots with steps on the horizontal axis: their base class, stacked bars of each step's time, and the lengths of steps.

import { ticks } from "./format";
import type { Light } from "./light";
import { type Area, hideTip, type Pen, Plot, showTip, type StepView, type Tip } from "./plot";

/** Columns over steps; see grid in explain/report/pagedata.go. */
export type Grid = {
  bucket: number; cols: number; first: number[]; last: number[]; kind: number[]; slow: number[]; batch: number[]; tokens: number[];
  parts: { name: string; ns: number[] }[]; wait: number[]; work: number[]; host: number[];
};
export type Lengths = { every: number; step: number[]; at: number[]; ns: number[]; kind: number[]; slow: number[] };
export type MemorySeries = { label: string; at: number[]; allocated: number[]; reserved: number[] };
export type Finding = { kind: string; severity: string; cause: string; ranks: number[]; first: number; last: number };

/** What the plots of a capture draw; see pageData in explain/report/pagedata.go. */
export type Data = { ranks: string[]; kinds: string[]; findings: Finding[]; grid: Grid; lengths: Lengths; memory: MemorySeries[]; light?: Light };

/** The colour of a step kind: the known ones have theirs. */
export function kindColor(kind: string) {
  const i = ["decode", "prefill", "mixed", "other", "idle"].indexOf(kind);
  return "k" + (i < 0 ? 3 : i);
}

/** The p-quantile of positive values, 0 for none. */
export function quantile(values: number[], p: number) {
  const sorted = values.filter((v) => v > 0).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(p * (sorted.length - 1))] : 0;
}

export class StepPlot extends Plot {
  protected readonly grid: Grid;

  constructor(at: string | HTMLCanvasElement, height: number, protected readonly data: Data, protected readonly view: StepView, left?: number, bottom = 28) {
    super(at, height, { left, bottom });
    this.grid = data.grid;
    view.plots.push(this);
    this.listen();
  }

  /** a column, fractions allowed */
  x(col: number, area: Area) {
    return area.x + ((col - this.view.lo) / (this.view.hi - this.view.lo)) * area.w;
  }

  colAt(x: number) {
    const a = this.area();
    return this.view.lo + ((x - a.x) / a.w) * (this.view.hi - this.view.lo);
  }

  /** The column that holds a step, -1: none. */
  colOf(step: number) {
    const { first, last } = this.grid;
    let lo = 0, hi = first.length - 1;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (first[mid] <= step) lo = mid;
      else hi = mid - 1;
    }
    return first.length && first[lo] <= step && step <= last[lo] ? lo : -1;
  }

  /** "step 7", or "steps 8–11". */
  stepName(c: number) {
    const g = this.grid;
    const kind = g.kind[c] < 0 ? "several kinds" : this.data.kinds[g.kind[c]];
    return (g.first[c] === g.last[c] ? "step " + g.first[c] : `steps ${g.first[c]}–${g.last[c]}`) + ", " + kind;
  }

  /** Step numbers, and a strip that shows the kinds. */
  xAxis({ ctx, area, color }: Pen) {
    const g = this.grid, v = this.view, y = area.y + area.h;
    const from = Math.max(Math.floor(v.lo), 0), to = Math.min(Math.ceil(v.hi), g.cols);
    if (this.data.kinds.length > 1) {
      for (let c = from; c < to; c++) {
        const x0 = Math.max(this.x(c, area), area.x), x1 = Math.min(this.x(c + 1, area), area.x + area.w);
        ctx.fillStyle = color(g.kind[c] < 0 ? "k4" : kindColor(this.data.kinds[g.kind[c]]));
        ctx.fillRect(x0, y + 3, Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 0.5), 4);
      }
    }
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    ctx.fillStyle = color("soft");
    const span = (to - from) * g.bucket, all = ticks(span, Math.max(area.w / 70, 2));
    const stride = Math.max(Math.round(all.length > 1 ? all[1] : 1), 1);
    let edge = -Infinity;
    for (let c = from; c < to; c++) {
      const tick = Math.ceil(g.first[c] / stride) * stride;
      const x = this.x(c + (g.bucket === 1 ? 0.5 : (tick - g.first[c]) / g.bucket), area);
      if (tick > g.last[c] || x - edge < 30 || x < area.x || x > area.x + area.w) continue;
      ctx.fillText(String(tick), x, y + 10);
      edge = x;
    }
  }

  /** A line through the column that is pointed at. */
  override mark({ ctx, area, color }: Pen) {
    const c = this.view.col;
    if (c < this.view.lo - 1 || c > this.view.hi) return;
    const x0 = Math.max(this.x(c, area), area.x), x1 = Math.min(this.x(c + 1, area), area.x + area.w);
    if (c < 0 || x1 <= x0) return;
    ctx.strokeStyle = color("mark");
    ctx.globalAlpha = 0.7;
    ctx.strokeRect(x0 + 0.5, area.y + 0.5, Math.max(x1 - x0 - 1, 1), area.h - 1);
    ctx.globalAlpha = 1;
  }

  /** What a column says. */
  tip(_col: number, _row: number): Tip | null {
    return null;
  }

  /** What stands at a point says, rather than its column. */
  tipAt(_x: number, _y: number): Tip | null {
    return null;
  }

  /** The row under y; plots without rows have one. */
  rowAt(_y: number) {
    return 0;
  }

  rows() {
    return 1;
  }

  /** Points and speaks. */
  point(col: number, row: number, x?: number, y?: number) {
    if (this.rows() > 1) this.view.row = row;
    this.view.point(col);
    const tip = (x !== undefined && y !== undefined && this.tipAt(x, y)) || this.tip(this.view.col, row), area = this.area();
    if (!tip) return hideTip();
    showTip(this.canvas, x ?? this.x(this.view.col + 0.5, area), y ?? area.y + (area.h * (row + 0.5)) / this.rows(), tip);
  }

  /** Called for a column and row that are chosen: by a click, or by Enter. */
  onpick: ((col: number, row: number) => void) | null = null;

  listen() {
    const el = this.canvas, view = this.view;
    /** Where a drag began, NaN: none. */
    let from = NaN;
    el.addEventListener("pointerdown", (e) => {
      from = e.offsetX;
    });
    el.addEventListener("pointermove", (e) => {
      const col = Math.floor(this.colAt(e.offsetX));
      if (col < 0 || col >= this.grid.cols || e.offsetX < this.left) return this.leave();
      this.point(col, this.rowAt(e.offsetY), e.offsetX, e.offsetY);
    });
    el.addEventListener("pointerup", (e) => {
      if (Math.abs(e.offsetX - from) > 8) {
        const a = this.colAt(from), b = this.colAt(e.offsetX);
        view.zoom(Math.min(a, b), Math.max(a, b));
      } else if (view.col >= 0) {
        this.onpick?.(view.col, this.rowAt(e.offsetY));
      }
      from = NaN;
    });
    el.addEventListener("pointerleave", () => this.leave());
    el.addEventListener("blur", () => this.leave());
    el.addEventListener("dblclick", () => view.zoom(0, view.cols));
    el.addEventListener("keydown", (e) => {
      if (this.key(e.key, e.shiftKey)) e.preventDefault();
    });
  }

  leave() {
    hideTip();
    this.view.point(-1);
  }

  /** whether the key meant something */
  key(key: string, shift: boolean): boolean {
    const v = this.view, col = v.col < 0 ? Math.floor(v.lo) : v.col, mid = v.col < 0 ? (v.lo + v.hi) / 2 : v.col + 0.5;
    const half = (v.hi - v.lo) / 2, by = shift ? 10 : 1, row = this.rows() > 1 ? v.row : 0;
    switch (key) {
      case "ArrowLeft": this.point(Math.max(col - by, 0), row); return true;
      case "ArrowRight": this.point(Math.min(v.col < 0 ? col : col + by, v.cols - 1), row); return true;
      case "ArrowUp": case "ArrowDown":
        if (this.rows() < 2) return false;
        this.point(col, Math.min(Math.max(v.row + (key === "ArrowUp" ? -by : by), 0), this.rows() - 1));
        return true;
      case "Home": this.point(0, row); return true;
      case "End": this.point(v.cols - 1, row); return true;
      case "+": case "=": v.zoom(mid - half / 2, mid + half / 2); return true;
      case "-": v.zoom(mid - half * 2, mid + half * 2); return true;
      case "Enter":
        if (!this.onpick || v.col < 0) return false;
        this.onpick(v.col, row);
        return true;
      case "Escape": this.leave(); v.zoom(0, v.cols); return true;
    }
    return false;
  }
}
