// Heat maps of ranks × steps, which show late ranks.

import { duration, signed } from "./format";
import type { Pen, StepView, Tip } from "./plot";
import { type Data, quantile, StepPlot } from "./steps";

/** A colour as [r, g, b]. */
export function rgb(hex: string): [number, number, number] {
  return [parseInt(hex.slice(1, 3), 16), parseInt(hex.slice(3, 5), 16), parseInt(hex.slice(5, 7), 16)];
}

/** The colour at t of 0…1 between stops. */
export function mix(stops: [number, number, number][], t: number) {
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2), f = at - i;
  return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * f));
}

/**
 * What fills the scale of a map: nearly all cells fit, and so does nearly all of each rank, so that one late rank of many
 * is not cut. The first step is skewed by the start of the profilers and does not count; nor do cells that are no number.
 */
export function usual(values: ArrayLike<number>, rows: number, cols: number): number {
  const all: number[] = [];
  let most = 0;
  for (let r = 0; r < rows; r++) {
    const row: number[] = [];
    for (let c = cols > 2 ? 1 : 0; c < cols; c++) row.push(Math.abs(values[r * cols + c]));
    for (const v of row) all.push(v);
    most = Math.max(most, quantile(row, 0.9));
  }
  return Math.max(most, quantile(all, 0.98));
}

/** The ends of a scale that covers nearly all values, and what lies beyond it: that gets the last colour. Differences go both ways. */
export function ends(values: ArrayLike<number>, limit: number, both: boolean, text: (v: number) => string): [low: string, high: string, cut: string] {
  let most = 0, least = 0;
  for (let i = 0; i < values.length; i++) { // some are no numbers
    if (values[i] > most) most = values[i];
    if (values[i] < least) least = values[i];
  }
  const past = limit * 1.0005, plus = both ? "+" : "", cut = [];
  if (most > past) cut.push("up to " + plus + text(most));
  if (least < -past) cut.push("down to " + text(least));
  return [(least < -past ? "≤ " : "") + (both ? text(-limit) : "0"), (most > past ? "≥ " : "") + plus + text(limit), cut.length > 0 ? "; cut: " + cut.join(", ") : ""];
}

/** Rows of a map at most: of more ranks a row shows, in each step, the one of several that is furthest from the median. */
const mostRows = 64;

/** How many characters of a rank's name are shown: TP00-DP00. */
const longest = 9;

export type Measure = "work" | "host" | "wait";

export class HeatMap extends StepPlot {
  private readonly values: number[];
  /** Ranks of a row. */
  private readonly per: number;
  /** Work and host are differences, wait is not. */
  private readonly both: boolean;
  /** What fills the scale, ns. */
  private readonly limit: number;
  /** The finding that alone is outlined, by its index; -1: all late ranks that the measure shows. */
  only = -1;

  /** A map of a measure; floor is what fills the scale at least, ns, so that noise stays pale. */
  constructor(at: string | HTMLCanvasElement, data: Data, view: StepView, private readonly what: Measure, floor: number, private readonly scale: HTMLElement | null) {
    const per = Math.ceil(data.ranks.length / mostRows), n = Math.ceil(data.ranks.length / per), row = Math.max(Math.min(Math.floor(240 / n), 24), 4);
    super(at, n * row + 34, data, view, Math.max(64, 10 + 7.5 * Math.max(...data.ranks.map((r) => Math.min(r.length, longest)))));
    this.per = per;
    this.values = data.grid[what];
    this.both = what !== "wait";
    this.limit = Math.max(this.usual(), floor, 1);
    this.drawScale();
  }

  usual() {
    return usual(this.values, this.data.ranks.length, this.grid.cols);
  }

  override rows() {
    return Math.ceil(this.data.ranks.length / this.per);
  }

  /** The rank that a cell shows. */
  rankOf(row: number, col: number) {
    let best = row * this.per, most = -1;
    for (let r = best; r < Math.min((row + 1) * this.per, this.data.ranks.length); r++) {
      const k = r * this.grid.cols + col, v = this.grid.parts[0].ns[k] < 0 ? 0 : this.values[k], weight = v > 0 ? 2 * v : -v; // late counts twice as much as early
      if (weight > most) [best, most] = [r, weight];
    }
    return best;
  }

  /** The row of a rank. */
  rowOf(rank: number) {
    return Math.floor(rank / this.per);
  }

  override rowAt(y: number) {
    const a = this.area();
    return Math.min(Math.max(Math.floor(((y - a.y) / a.h) * this.rows()), 0), this.rows() - 1);
  }

  drawScale() {
    const el = this.scale;
    if (!el) return;
    const strip = document.createElement("i");
    strip.style.background = this.both
      ? "linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))"
      : "linear-gradient(to right, var(--cold), var(--warm), var(--hot))";
    const [low, high, cut] = ends(this.values, this.limit, this.both, duration);
    el.replaceChildren(low, strip, high + cut);
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, g = this.grid, v = this.view, n = this.rows();
    const up = [rgb(color("cold")), rgb(color("warm")), rgb(color("hot"))], down = [rgb(color("cold")), rgb(color("under"))];
    const soft = color("panel"), row = area.h / n;
    const from = Math.max(Math.floor(v.lo), 0), to = Math.min(Math.ceil(v.hi), g.cols);
    const wide = area.w / (v.hi - v.lo) >= 5 ? 1 : 0, high = row >= 8 ? 1 : 0;
    for (let r = 0; r < n; r++) {
      for (let c = from; c < to; c++) {
        const k = this.rankOf(r, c) * g.cols + c, x0 = Math.max(this.x(c, area), area.x), x1 = Math.min(this.x(c + 1, area), area.x + area.w);
        if (g.parts[0].ns[k] < 0) {
          ctx.fillStyle = soft;
        } else {
          const t = this.values[k] / this.limit;
          const [red, green, blue] = t < 0 ? mix(down, -t) : mix(up, t);
          ctx.fillStyle = `rgb(${red},${green},${blue})`;
        }
        ctx.fillRect(x0, area.y + r * row, Math.max(x1 - x0 - wide, 0.6), Math.max(row - high, 1));
      }
    }
    this.labels(pen, row);
    this.xAxis(pen);
    this.outline(pen, row);
  }

  /** As many rank names as fit. */
  labels({ ctx, area, color }: Pen, row: number) {
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    const every = Math.ceil(12 / row), late = new Map(this.data.findings.flatMap((f) => (f.kind === "straggler" ? f.ranks : [])).map((r) => [this.rowOf(r), r]));
    for (let r = 0; r < this.rows(); r++) {
      const marked = late.get(r), near = [...late.keys()].some((m) => m !== r && Math.abs(m - r) < every);
      if (marked === undefined && (r % every !== 0 || (every > 1 && near))) continue;
      const name = this.data.ranks[marked ?? r * this.per];
      ctx.fillStyle = color(marked !== undefined ? "text" : "soft");
      const short = name.length > longest ? name.slice(0, longest - 1) + "…" : name;
      ctx.fillText(short, area.x - 6, area.y + (r + 0.5) * row);
    }
  }

  /** What findings name. */
  outline({ ctx, area, color }: Pen, row: number) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.x - 2, area.y - 2, area.w + 4, area.h + 4);
    ctx.clip();
    ctx.strokeStyle = color("mark");
    ctx.lineWidth = 1.5;
    for (const [i, f] of this.data.findings.entries()) {
      if (f.first < 0 || (this.only >= 0 ? i !== this.only : f.kind !== "straggler")) continue;
      if (this.only < 0 && ((this.what === "work" && f.cause === "host") || (this.what === "host" && f.cause !== "host"))) continue;
      const a = this.colOf(f.first), b = this.colOf(f.last);
      if (a < 0) continue;
      const x0 = this.x(a, area), x1 = this.x((b < 0 ? this.grid.cols - 1 : b) + 1, area);
      for (const r of new Set(f.ranks.map((rank) => this.rowOf(rank)))) ctx.strokeRect(x0 - 0.5, area.y + r * row - 0.5, x1 - x0, row);
    }
    ctx.restore();
  }

  override mark({ ctx, area, color }: Pen) {
    const row = area.h / this.rows();
    const c = this.view.col;
    if (c < 0 || c + 1 < this.view.lo || c > this.view.hi) return;
    ctx.strokeStyle = color("mark");
    ctx.globalAlpha = 0.45;
    ctx.strokeRect(this.x(c, area), area.y, Math.max(this.x(c + 1, area) - this.x(c, area), 1), area.h);
    ctx.globalAlpha = 1;
    ctx.lineWidth = 2;
    ctx.strokeRect(this.x(c, area), area.y + this.view.row * row, Math.max(this.x(c + 1, area) - this.x(c, area) - 1, 1), row - 1);
    ctx.lineWidth = 1;
  }

  override tip(c: number, r: number): Tip {
    const g = this.grid, rank = this.rankOf(r, c), k = rank * g.cols + c, others = Math.min(this.per, this.data.ranks.length - r * this.per) - 1;
    const title = `${this.data.ranks[rank]}, ${this.stepName(c)}${others > 0 ? `; less of ${others} more` : ""}`;
    if (g.parts[0].ns[k] < 0) return { title, rows: [["this rank lacks the step", ""]] };
    const compute = g.parts[0].ns[k];
    return {
      title,
      rows: [
        ["own work", duration(compute)], ["beyond the median rank", signed(g.work[k])],
        ["host gap beyond the median", signed(g.host[k])], ["waited", duration(g.wait[k])],
        ...(g.batch[c] >= 0 ? [["batch", String(g.batch[c])] as [string, string]] : []),
        ...(g.tokens[c] >= 0 ? [["tokens", String(g.tokens[c])] as [string, string]] : []),
      ],
    };
  }
}

/** What fills the scale of a measure at least, ns, so that noise stays pale: a tenth of a median rank's work, or of its step. */
export function noise(data: Data, what: Measure): number {
  const { parts } = data.grid, cells = parts[0].ns.length;
  if (what === "work") return quantile(parts[0].ns, 0.5) * 0.1;
  const total = [];
  for (let k = 0; k < cells; k++) total.push(parts.reduce((sum, p) => sum + Math.max(p.ns[k], 0), 0));
  return quantile(total, 0.5) * 0.1;
}

/** All maps of the page, if it has them. */
export function drawMaps(data: Data, view: StepView): void {
  if (!document.getElementById("map-work")) return;
  for (const what of ["work", "host", "wait"] as const) new HeatMap("map-" + what, data, view, what, noise(data, what), document.getElementById("scale-" + what));
}
