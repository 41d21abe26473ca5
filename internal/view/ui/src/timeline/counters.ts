// Counters above the rows: memory, requests, the KV cache, clocks and power. Each is a row on the time axis of the spans.

import { bytes, digits3, duration, groupDigits, percent } from "../../../../web/format";
import { hideTip, showTip } from "../../../../web/plot";
import { fill, h } from "../dom";
import type { Palette } from "./palette";
import type { Range } from "./scale";

/** How high a counter is, in CSS pixels. */
const HIGH = 30;

interface Series {
  name: string;
  rank: number;
  at: number[];
  low: number[];
  high: number[];
  last: number[];
}

interface Counter {
  id: string;
  title: string;
  unit: string;
  series: Series[];
  all: number;
  peak: number;
  peak_ns: number;
  peak_of: string;
  peak_rank: number;
}

/** The counters of a time, see internal/view/timeline/counters.go. */
export interface Answer {
  from_ns: number;
  to_ns: number;
  columns: number;
  counters: Counter[];
}

/** What the counters ask of the timeline. */
export interface CounterEvents {
  load(view: Range, columns: number, rank: number): Promise<Answer>;
  peak(at: number, rank: number): void;
}

/** A value in words. */
export function worded(v: number, unit: string): string {
  if (unit === "B") return bytes(v);
  if (unit === "share") return percent(v);
  return (Number.isInteger(v) || v >= 1000 ? groupDigits(String(Math.round(v))) : digits3(v)) + (unit === "" ? "" : " " + unit);
}

/** The value of a series in a column: what was last there, or before. null: nothing was yet. */
export function valueAt(s: Series, column: number): number | null {
  let lo = 0, hi = s.at.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (s.at[mid] <= column) lo = mid + 1;
    else hi = mid;
  }
  return lo === 0 ? null : s.at[lo - 1] === column ? s.high[lo - 1] : s.last[lo - 1];
}

/** Where the axis of a counter begins: at 0, or a little below the lowest value if all values are high. */
export function floorOf(c: Counter): number {
  const least = c.series.reduce((least, s) => s.low.reduce((a, b) => Math.min(a, b), least), c.peak);
  return least > 0.6 * c.peak && least < c.peak ? least - 0.25 * (c.peak - least) : 0;
}

export class CounterRows {
  readonly canvas = h("canvas", { role: "img", "aria-label": "Counters" });
  readonly legend = h("div", { class: "legend" });
  readonly el = h("div", { class: "tl-above tl-counters", hidden: true }, this.legend, this.canvas);
  private answer: Answer | null = null;
  private drawn: { view: Range; width: number } | null = null;
  private named = "";

  constructor(private readonly count: number, private readonly events: CounterEvents) {
    this.canvas.addEventListener("pointermove", (e) => this.hover(e.offsetX, e.offsetY));
    this.canvas.addEventListener("pointerleave", () => hideTip());
  }

  /** Loads the counters of a view. */
  async rest(view: Range, width: number, rank: number): Promise<void> {
    if (this.count > 0) this.answer = await this.events.load(view, Math.max(Math.min(Math.round(width), 1000), 100), rank);
  }

  /** Draws the counters; null: they are not to be seen, or ranks lie otherwise, and one time is not that of all. */
  paint(view: Range | null, width: number, palette: Palette, rank: number): void {
    this.el.hidden = view === null || this.answer === null || this.count === 0;
    if (this.el.hidden || view === null || this.answer === null) return;
    const { answer, canvas } = this, { counters } = answer, height = counters.length * HIGH, ratio = window.devicePixelRatio || 1, ctx = canvas.getContext("2d", { alpha: false })!;
    this.drawn = { view, width };
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = palette.name("bg");
    ctx.fillRect(0, 0, width, height);
    const perNs = width / (view.t1 - view.t0), perColumn = (answer.to_ns - answer.from_ns) / answer.columns;
    const x = (column: number) => (answer.from_ns + column * perColumn - view.t0) * perNs;
    counters.forEach((c, row) => {
      const bottom = (row + 1) * HIGH - 2, from = floorOf(c), most = Math.max(c.peak - from, 1e-9), y = (v: number) => bottom - ((v - from) / most) * (HIGH - 6);
      for (const s of [...c.series].sort((a, b) => Number(a.rank === rank) - Number(b.rank === rank))) {
        const own = s.rank === rank && rank >= 0, single = c.series.length === 1;
        ctx.fillStyle = ctx.strokeStyle = palette.name(own || single ? "strong" : "medium");
        ctx.lineWidth = own || single ? 1.5 : 1;
        ctx.globalAlpha = own || single ? 1 : 0.65;
        ctx.beginPath();
        s.at.forEach((column, i) => {
          const x0 = Math.max(x(column), -5), x1 = Math.min(x(i + 1 < s.at.length ? s.at[i + 1] : answer.columns), width + 5);
          if (x1 < x0) return;
          ctx.moveTo(x0, y(s.low[i]));
          ctx.lineTo(x0, y(s.high[i]));
          ctx.moveTo(x0, y(s.last[i]));
          ctx.lineTo(x1, y(s.last[i]));
          if (single) {
            ctx.globalAlpha = 0.2;
            ctx.fillRect(x0, y(s.last[i]), x1 - x0, bottom - y(s.last[i]));
            ctx.globalAlpha = 1;
          }
        });
        ctx.stroke();
      }
      ctx.globalAlpha = 1;
      const at = (c.peak_ns - view.t0) * perNs;
      if (at >= 0 && at <= width) {
        ctx.fillStyle = palette.name("high");
        ctx.fillRect(at - 2, y(c.peak) - 2, 4, 4);
      }
      ctx.fillStyle = palette.name("line");
      ctx.fillRect(0, bottom + 1, width, 1);
    });
    this.names(counters);
  }

  /** The names beside the counters, each with its peak, which leads to the moment. */
  private names(counters: readonly Counter[]): void {
    const named = JSON.stringify(counters.map((c) => [c.title, c.peak, c.peak_of, floorOf(c)]));
    if (named === this.named) return;
    this.named = named;
    fill(this.legend, ...counters.map((c) => {
      const of = c.all > 1 || c.peak_rank >= 0 ? ", " + c.peak_of : "";
      return h("div", { class: "tl-counter" }, h("span", { title: c.title }, c.title, floorOf(c) > 0 && h("span", { class: "tl-soft" }, " from " + worded(floorOf(c), c.unit))),
        h("button", { class: "tl-link", title: `The peak: ${worded(c.peak, c.unit)}${of}. Shows this moment.`, on: { click: () => this.events.peak(c.peak_ns, c.peak_rank) } }, `peak ${worded(c.peak, c.unit)}${of}`));
    }));
  }

  private hover(px: number, py: number): void {
    const { answer, drawn } = this, c = answer?.counters[Math.floor(py / HIGH)];
    if (answer === null || drawn === null || c === undefined) return hideTip();
    const t = drawn.view.t0 + (px / drawn.width) * (drawn.view.t1 - drawn.view.t0);
    const column = Math.floor(((t - answer.from_ns) / (answer.to_ns - answer.from_ns)) * answer.columns);
    const rows = c.series.map((s): [string, string] => [s.name, ((v) => (v === null ? "–" : worded(v, c.unit)))(valueAt(s, column))]);
    showTip(this.canvas, px, py, { title: c.title, rows: [["at", duration(Math.round(t))], ...rows] });
  }
}
