// What stands on the time axis of a load beside its plots: the steps that servers recorded, and its requests as bars.

import { duration, groupDigits } from "../../../../web/format";
import type { Area, Pen, StepView, Tip } from "../../../../web/plot";
import { kindColor } from "../../../../web/steps";
import { type BenchData, TimePlot } from "../../../../web/bench";
import type { Place, Requests, Steps } from "./data";

/** The first of ascending numbers that is not below a bound, or their number. */
export function firstFrom(ascending: ArrayLike<number>, bound: number): number {
  let lo = 0, hi = ascending.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (ascending[mid] < bound) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** What a lane is called: its server and data-parallel rank, where there are several. */
export function laneName(l: { server: string; dp_rank: number }): string {
  const rank = l.dp_rank >= 0 ? "DP" + String(l.dp_rank).padStart(2, "0") : "";
  return [l.server, rank].filter((s) => s !== "").join(" ") || "steps";
}

/** How high a lane is, in CSS pixels. */
const laneHeight = 18;

/** The recorded steps: a lane for each data-parallel rank. */
export class LanesPlot extends TimePlot {
  /** The steps that are lit, by lane; null: all are. */
  private lit: Set<number>[] | null = null;
  /** Is told of a step that was clicked. */
  whenChosen: (p: Place) => void = () => {};

  constructor(at: HTMLCanvasElement, data: BenchData, view: StepView, private readonly steps: Steps) {
    super(at, steps.lanes.length * laneHeight + 12, data, view, false);
    this.whenClicked((x, y) => {
      const p = this.stepAt(x, y);
      if (p) this.whenChosen(p);
    });
  }

  /** Lights some steps, and dims the others. */
  light(places: Place[] | null): void {
    this.lit = places && this.steps.lanes.map((_, lane) => new Set(places.filter((p) => p.lane === lane).map((p) => p.step)));
    this.draw();
  }

  override rows() {
    return this.steps.lanes.length;
  }

  override rowAt(y: number) {
    return Math.min(Math.max(Math.floor((y - this.area().y) / laneHeight), 0), this.rows() - 1);
  }

  /** The step at a point. */
  stepAt(x: number, y: number): Place | null {
    const area = this.area(), lane = this.rowAt(y), l = this.steps.lanes[lane];
    if (!l || y < area.y || y > area.y + area.h) return null;
    const at = this.colAt(x) * this.bench.bin_ns, wide = 1.5 * ((this.view.hi - this.view.lo) * this.bench.bin_ns) / area.w;
    const step = firstFrom(l.to, at - wide);
    return step < l.to.length && l.from[step] <= at + wide ? { lane, step } : null;
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, kinds = this.steps.kinds.map((k) => color(kindColor(k)));
    this.shade(pen);
    const { from, to } = this.sight();
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    this.steps.lanes.forEach((l, lane) => {
      const y = area.y + lane * laneHeight;
      ctx.fillStyle = color("soft");
      ctx.fillText(clipped(ctx, laneName(l), area.x - 8), area.x - 6, y + laneHeight / 2);
      ctx.fillStyle = color("line");
      ctx.fillRect(area.x, y + laneHeight - 1, area.w, 1);
      this.inside(pen, () => {
        let edge = -Infinity; // what is drawn; steps narrower than a pixel are not drawn over each other
        for (let i = firstFrom(l.to, from); i < l.from.length && l.from[i] <= to; i++) {
          const lit = this.lit === null || this.lit[lane].has(i);
          const x0 = this.at(l.from[i], area), x1 = Math.max(this.at(l.to[i], area), x0 + 0.5);
          if (x1 < edge + 0.5 && !lit) continue;
          ctx.globalAlpha = lit ? 1 : 0.2;
          ctx.fillStyle = kinds[l.kind[i]];
          ctx.fillRect(x0, y + 3, x1 - x0 - (x1 - x0 > 3 ? 1 : 0), laneHeight - 6);
          edge = Math.max(edge, x1);
        }
        ctx.globalAlpha = 1;
      });
    });
    this.xAxis(pen);
  }

  override point(col: number, row: number, x?: number, y?: number) {
    super.point(col, row, x, y);
    this.canvas.style.cursor = x !== undefined && y !== undefined && this.stepAt(x, y) ? "pointer" : "";
  }

  override tipAt(x: number, y: number): Tip | null {
    const p = this.stepAt(x, y);
    if (!p) return null;
    const l = this.steps.lanes[p.lane];
    return {
      title: this.steps.names[l.name[p.step]],
      rows: [
        ...(this.rows() > 1 ? [["of", laneName(l)] as [string, string]] : []),
        ["step", `${p.step}, ${this.steps.kinds[l.kind[p.step]]}`], ["took", duration(l.to[p.step] - l.from[p.step])],
        ["from", duration(l.from[p.step])], ["requests of this load", groupDigits(String(l.batch[p.step]))],
      ],
    };
  }
}

/** A text that fits, cut at its beginning where it does not: names of servers differ at their ends. */
export function clipped(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  while (text.length > 1 && ctx.measureText("…" + text).width > width) text = text.slice(1);
  return "…" + text;
}

/** How high the bars of requests are together, in CSS pixels: as high as they can be seen well, up to what a window takes. */
export function barsHeight(rows: number): number {
  return Math.min(Math.max(rows * 9, 40), 360);
}

/** Requests as bars: until the first token, until the last, until the reply was over. */
export class BarsPlot extends TimePlot {
  private marked = -1;
  private others = new Set<number>();
  /** Is told of a request that was clicked, by its place in the records. */
  whenChosen: (index: number) => void = () => {};

  constructor(at: HTMLCanvasElement, data: BenchData, view: StepView, private requests: Requests) {
    super(at, barsHeight(requests.rows) + 34, data, view);
    this.whenClicked((x, y) => {
      const k = this.barAt(x, y);
      if (k >= 0) this.whenChosen(this.requests.index[k]);
    });
  }

  /** Other requests in sight. */
  show(requests: Requests): void {
    this.requests = requests;
    this.draw();
  }

  /** Marks a request, and lights some others beside it; the rest is dimmed. -1: none, and all are lit. */
  light(index: number, others: number[]): void {
    this.marked = index;
    this.others = new Set(others);
    this.draw();
  }

  private y(row: number, area: Area): [top: number, height: number] {
    const each = area.h / Math.max(this.requests.rows, 1);
    return [area.y + row * each, Math.max(each - (each > 3 ? 1 : 0), 0.7)];
  }

  /** The bar at a point, -1: none. */
  barAt(x: number, y: number): number {
    const area = this.area(), at = this.colAt(x) * this.bench.bin_ns, r = this.requests;
    const wide = 2 * ((this.view.hi - this.view.lo) * this.bench.bin_ns) / area.w;
    const row = Math.floor(((y - area.y) / area.h) * r.rows), near = Math.max(Math.ceil((2 * r.rows) / area.h) - 1, 0);
    let best = -1;
    for (let k = 0; k < r.index.length; k++) {
      if (Math.abs(r.row[k] - row) > near || r.sent[k] > at + wide || r.done[k] < at - wide) continue;
      if (best < 0 || Math.abs(r.row[k] - row) < Math.abs(r.row[best] - row)) best = k;
    }
    return best;
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, r = this.requests;
    this.shade(pen);
    ctx.fillStyle = color("soft");
    ctx.textAlign = "right";
    ctx.textBaseline = "top";
    ctx.fillText(groupDigits(String(r.rows)), area.x - 6, area.y);
    ctx.fillText("at once", area.x - 6, area.y + 13);
    const parts = { wait: color("k1"), decode: color("k0"), end: color("k4"), failed: color("high") };
    this.inside(pen, () => {
      for (let k = 0; k < r.index.length; k++) {
        const [y, height] = this.y(r.row[k], area), mine = r.index[k] === this.marked;
        ctx.globalAlpha = (this.marked < 0 && this.others.size === 0) || mine || this.others.has(r.index[k]) ? (r.touched[k] && !mine ? 0.75 : 1) : 0.18;
        const bar = (from: number, to: number, paint: string, thin = 1) => {
          const x0 = Math.max(this.at(from, area), area.x - 1), x1 = Math.min(this.at(to, area), area.x + area.w + 1);
          if (x1 < area.x || x0 > area.x + area.w || to <= from) return;
          ctx.fillStyle = paint;
          ctx.fillRect(x0, y + (height * (1 - thin)) / 2, Math.max(x1 - x0, 0.5), height * thin);
        };
        if (r.failed[k]) {
          bar(r.sent[k], r.done[k], parts.failed);
          continue;
        }
        const first = r.first[k] < 0 ? r.done[k] : r.first[k], last = Math.max(r.last[k], first);
        bar(r.sent[k], first, parts.wait, 0.55);
        bar(first, last, parts.decode);
        bar(last, r.done[k], parts.end, 0.3);
      }
      ctx.globalAlpha = 1;
    });
    this.xAxis(pen);
  }

  override mark(pen: Pen) {
    super.mark(pen);
    const { ctx, area, color } = pen, k = this.requests.index.indexOf(this.marked);
    if (k < 0) return;
    const [y, height] = this.y(this.requests.row[k], area);
    this.inside(pen, () => {
      ctx.strokeStyle = color("mark");
      ctx.lineWidth = 1.5;
      const x0 = this.at(this.requests.sent[k], area), x1 = this.at(this.requests.done[k], area);
      ctx.strokeRect(x0 - 1, y - 1, Math.max(x1 - x0 + 2, 3), height + 2);
    });
  }

  override point(col: number, row: number, x?: number, y?: number) {
    super.point(col, row, x, y);
    this.canvas.style.cursor = x !== undefined && y !== undefined && this.barAt(x, y) >= 0 ? "pointer" : "";
  }

  override tipAt(x: number, y: number): Tip | null {
    const k = this.barAt(x, y), r = this.requests;
    if (k < 0) return null;
    const rows: [string, string][] = [["sent at", duration(r.sent[k])]];
    if (r.failed[k]) rows.push(["failed after", duration(r.done[k] - r.sent[k])]);
    else {
      if (r.first[k] >= 0) rows.push(["TTFT", duration(r.first[k] - r.sent[k])]);
      rows.push(["E2E", duration(r.done[k] - r.sent[k])]);
    }
    if (r.touched[k]) rows.push(["affected", "by the captured window"]);
    return { title: "request " + r.index[k], rows };
  }
}
