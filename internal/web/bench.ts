// The plots of a benchmark, for the page of a run and the viewer: latencies, tokens and requests over a common time axis,
// and the distributions of latencies.

import { duration, groupDigits, moment, ticks } from "./format";
import { type Area, hideTip, type Pen, Plot, showTip, type StepView, type Tip } from "./plot";
import { type Data, StepPlot } from "./steps";

export type Stretch = { from: number; to: number };
export type Spread = { name: string; title: string; note: string; n: number; shares: number[]; values: number[]; limit: number };

/** A run, or a stretch of it, in bins; see bench.Timeline. */
export type Timeline = {
  from_ns: number; bin_ns: number; tokens: number[]; busiest: number[]; running: number[]; most: number[]; decode: number[]; ended: number[]; failed: number[];
};

/** What the plots of a benchmark draw; see benchData in explain/report/benchhtml.go. Times are ns since the load began. */
export type BenchData = Timeline & {
  steady: Stretch[]; profiled: Stretch[]; index: number[]; at: number[]; at_once: boolean; ttft: number[]; e2e: number[]; touched: number[];
  limits: Record<string, number>; embedding: boolean; spreads: Spread[];
};

export class TimePlot extends StepPlot {
  /** The stretch in sight in finer bins than the whole run has. */
  fine: Timeline | null = null;

  /** A plot of a height, with its axis below or, where another stands right below it, without. */
  constructor(at: string | HTMLCanvasElement, height: number, protected readonly bench: BenchData, view: StepView, private readonly axis = true) {
    // A bin of time corresponds to a step of the plots over steps.
    super(at, height, { kinds: [] as string[], grid: { cols: bench.running.length } } as Data, view, 64, axis ? 28 : 6);
  }

  at(ns: number, area: Area) {
    return this.x(ns / this.bench.bin_ns, area);
  }

  /** The stretch in sight. */
  sight(): Stretch {
    return { from: this.view.lo * this.bench.bin_ns, to: this.view.hi * this.bench.bin_ns };
  }

  /** Calls back for a point that is clicked; the end of a drag, which zooms, is no click. */
  whenClicked(run: (x: number, y: number) => void) {
    let from = NaN;
    this.canvas.addEventListener("pointerdown", (e) => (from = e.offsetX));
    this.canvas.addEventListener("click", (e) => {
      if (Math.abs(e.offsetX - from) <= 8) run(e.offsetX, e.offsetY);
    });
  }

  /** When a latency of a request is drawn: as it was sent, or where all were sent at once, at its end. */
  when(i: number, of: number[]) {
    return this.bench.at[i] + (this.bench.at_once ? Math.max(of[i], 0) : 0);
  }

  /** The steady window and what profilers touched, behind everything. */
  shade({ ctx, area, color }: Pen) {
    for (const [list, name, alpha] of ([[this.bench.steady, "info", 0.1], [this.bench.profiled, "k3", 0.15]] as [Stretch[], string, number][])) {
      ctx.fillStyle = color(name);
      ctx.globalAlpha = alpha;
      for (const s of list) {
        const x0 = Math.max(this.at(s.from, area), area.x), x1 = Math.min(this.at(s.to, area), area.x + area.w);
        if (x1 > x0) ctx.fillRect(x0, area.y, x1 - x0, area.h);
      }
      ctx.globalAlpha = 1;
    }
  }

  override xAxis({ ctx, area, color }: Pen) {
    if (!this.axis) return;
    const bin = this.bench.bin_ns, lo = this.view.lo * bin, hi = this.view.hi * bin;
    const all = ticks(hi - lo, Math.max(area.w / 110, 2)), step = all.length > 1 ? all[1] : hi - lo || 1;
    ctx.fillStyle = color("soft");
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    for (let t = Math.ceil(lo / step) * step; t <= hi; t += step) {
      ctx.fillText(moment(Math.round(t), step), Math.min(this.at(t, area), area.x + area.w - 14), area.y + area.h + 5);
    }
  }

  /** Draws only inside the area. */
  inside({ ctx, area }: Pen, draw: () => void) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.x, area.y, area.w, area.h);
    ctx.clip();
    draw();
    ctx.restore();
  }

  /** The bins that are drawn: finer ones, where the window is narrow and there are some. */
  protected bins(): Timeline {
    return this.fine ?? this.bench;
  }

  /** A staircase over bins. */
  stairs({ ctx, area, color }: Pen, values: number[], max: number, name: string, fill: boolean) {
    const t = this.bins();
    const y = (v: number) => area.y + area.h * (1 - v / max);
    const x = (c: number) => this.at(t.from_ns + c * t.bin_ns, area);
    ctx.beginPath();
    values.forEach((v, c) => {
      ctx.lineTo(x(c), y(v));
      ctx.lineTo(x(c + 1), y(v));
    });
    ctx.strokeStyle = ctx.fillStyle = color(name);
    ctx.lineWidth = 1.5;
    ctx.stroke();
    if (!fill) return;
    ctx.lineTo(x(values.length), area.y + area.h);
    ctx.lineTo(x(0), area.y + area.h);
    ctx.globalAlpha = 0.18;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** The largest value in sight. */
  top(values: number[]) {
    const t = this.bins(), bin = (at: number) => (at * this.bench.bin_ns - t.from_ns) / t.bin_ns;
    let max = 0;
    for (let c = Math.max(Math.floor(bin(this.view.lo)), 0); c < Math.min(Math.ceil(bin(this.view.hi)), values.length); c++) max = Math.max(max, values[c]);
    return max * 1.06 || 1;
  }

  override tip(c: number): Tip | null {
    const d = this.bench;
    if (c < 0 || c >= d.running.length) return null;
    const rows: [string, string][] = [];
    const here = (t: number) => t >= c * d.bin_ns && t < (c + 1) * d.bin_ns;
    const sent = indices(d.at, here);
    if (sent.length) rows.push(["requests sent", String(sent.length)]);
    for (const [name, of] of ([["TTFT", d.ttft], ["E2E", d.e2e]] as [string, number[]][])) {
      const longest = of.reduce((max, v, i) => (v > max && here(this.when(i, of)) ? v : max), -1);
      if (longest >= 0) rows.push(["longest " + name, duration(longest)]);
    }
    if (!d.embedding) rows.push([several(d) ? "output tokens in the busiest second" : "output tokens in the last second", count(d.busiest[c])]);
    if (!d.embedding && several(d)) rows.push(["output tokens/s, mean", count(d.tokens[c] / (d.bin_ns / 1e9))]);
    rows.push(["under way at most", groupDigits(String(d.most[c]))], ["under way, mean", d.running[c].toFixed(1)]);
    if (!d.embedding) rows.push(["in decode, mean", d.decode[c].toFixed(1)]);
    rows.push(["ended", String(d.ended[c])]);
    if (d.failed[c]) rows.push(["failed", String(d.failed[c])]);
    return { title: `${c ? duration(c * d.bin_ns) : "0"} – ${duration((c + 1) * d.bin_ns)}`, rows };
  }
}

export function indices<T>(list: T[], yes: (v: T, i: number) => boolean) {
  const out: number[] = [];
  list.forEach((v, i) => yes(v, i) && out.push(i));
  return out;
}

export function count(v: number) {
  return v === 0 ? "0" : v >= 99.95 ? groupDigits(String(Math.round(v))) : v.toFixed(1);
}

/** Ticks at 1, 2 and 5 times powers of ten. */
export function logTicks(lo: number, hi: number) {
  const out = [];
  for (let p = Math.pow(10, Math.floor(Math.log10(lo))); p <= hi; p *= 10) for (const u of [1, 2, 5]) if (u * p >= lo && u * p <= hi) out.push(u * p);
  return out.length > 7 ? out.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-6 || Math.abs((Math.log10(v) % 1) - 1) < 1e-6) : out;
}

/** Latencies of a request, and the bit of touched that says that a window touched them; see benchTouch in
 * explain/report/benchhtml.go. */
const latencies: ["ttft" | "e2e", string, number][] = [["ttft", "k1", 1], ["e2e", "k0", 2]];

export class LatencyPlot extends TimePlot {
  log = true;
  /** The request that is marked: its place in the data, -1: none. */
  chosen = -1;

  /** The scale of latencies: where it begins and ends. */
  private range(): [number, number] {
    let lo = Infinity, hi = 0;
    for (const [name] of latencies) for (const i of this.shown(name)) if (this.bench[name][i] > 0) (lo = Math.min(lo, this.bench[name][i])), (hi = Math.max(hi, this.bench[name][i]));
    if (hi === 0) (lo = 1e6), (hi = 1e9);
    (hi *= 1.1), (lo *= 0.9);
    if (this.log && hi / lo < 10) lo = hi / 10;
    return [lo, hi];
  }

  /** Where a latency is drawn. */
  private y(v: number, [lo, hi]: [number, number], area: Area) {
    return area.y + area.h * (this.log ? 1 - Math.log(v / lo) / Math.log(hi / lo) : 1 - v / hi);
  }

  /** The requests in sight. */
  private shown(name: "ttft" | "e2e") {
    const of = this.bench[name], { from, to } = this.sight();
    return indices(of, (_, i) => this.when(i, of) >= from && this.when(i, of) <= to);
  }

  /** The request whose dot is nearest to a point and not far from it, -1: none. */
  near(px: number, py: number): number {
    const area = this.area(), scale = this.range();
    let best = -1, least = 8 * 8;
    for (const [name] of latencies) {
      const of = this.bench[name];
      for (const i of this.shown(name)) {
        const y = of[i] > 0 ? this.y(of[i], scale, area) : name === "e2e" && this.failed(i) ? area.y + area.h - 5 : NaN;
        const d = (this.at(this.when(i, of), area) - px) ** 2 + (y - py) ** 2;
        if (d <= least) (least = d), (best = i);
      }
    }
    return best;
  }

  private failed(i: number) {
    return this.bench.ttft[i] < 0 && this.bench.e2e[i] < 0;
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, d = this.bench, scale = this.range(), [lo, hi] = scale;
    this.shade(pen);
    if (this.log) {
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      for (const v of logTicks(lo, hi)) {
        ctx.fillStyle = color("line");
        ctx.fillRect(area.x, Math.round(this.y(v, scale, area)), area.w, 1);
        ctx.fillStyle = color("soft");
        ctx.fillText(duration(v), area.x - 6, this.y(v, scale, area));
      }
    } else this.yAxis(pen, hi, duration);
    this.inside(pen, () => {
      for (const [name, paint, bit] of latencies) {
        const limit = d.limits[name];
        if (limit && (!this.log || limit > lo)) dashed(pen, this.y(limit, scale, area), paint);
        ctx.globalAlpha = 0.75;
        for (const i of this.shown(name)) {
          if (!(d[name][i] > 0)) continue;
          ctx.fillStyle = color(d.touched[i] & bit ? "k4" : paint);
          ctx.beginPath();
          ctx.arc(this.at(this.when(i, d[name]), area), this.y(d[name][i], scale, area), 2, 0, 7);
          ctx.fill();
        }
        ctx.globalAlpha = 1;
      }
      ctx.fillStyle = color("high"); // failed requests are at the bottom, without latencies
      for (const i of this.shown("e2e")) if (this.failed(i)) ctx.fillRect(this.at(d.at[i], area) - 1, area.y + area.h - 10, 2, 10);
    });
    this.xAxis(pen);
  }

  override mark(pen: Pen) {
    super.mark(pen);
    const { ctx, area, color } = pen, i = this.chosen, d = this.bench, scale = this.range();
    if (i < 0) return;
    this.inside(pen, () => {
      ctx.strokeStyle = color("mark");
      ctx.lineWidth = 2;
      for (const [name] of latencies) {
        if (!(d[name][i] > 0)) continue;
        ctx.beginPath();
        ctx.arc(this.at(this.when(i, d[name]), area), this.y(d[name][i], scale, area), 5, 0, 7);
        ctx.stroke();
      }
    });
  }
}

/** A line for an objective. */
function dashed({ ctx, area, color }: Pen, y: number, name: string) {
  ctx.strokeStyle = color(name);
  ctx.lineWidth = 1.5;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(area.x, y);
  ctx.lineTo(area.x + area.w, y);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Seconds that begin within one bin are several in a long run: then there is a mean, too. */
export function several(d: Timeline) {
  return d.bin_ns >= 1e9;
}

export class TokensPlot extends TimePlot {
  override paint(pen: Pen) {
    const t = this.bins(), fine = this.fine !== null, max = this.top(fine ? t.tokens : t.busiest);
    this.shade(pen);
    this.yAxis(pen, max, count);
    this.inside(pen, () => {
      if (fine) return this.stairs(pen, t.tokens, max, "compute", true);
      this.stairs(pen, t.busiest, max, "compute", !several(t));
      if (several(t)) this.stairs(pen, t.tokens.map((n) => n / (t.bin_ns / 1e9)), max, "k1", true);
    });
    this.xAxis(pen);
  }

  /** What it shows, in words. */
  title() {
    const bin = duration(this.bins().bin_ns);
    return this.fine ? `Output tokens in each ${bin}` : several(this.bench) ? `Output tokens in the seconds of each ${bin}` : "Output tokens in the last second";
  }
}

export class RunningPlot extends TimePlot {
  /** How many requests the server had in its queue, as it said from time to time. */
  queue: { at: number; queued: number }[] = [];

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, d = this.bench, t = this.bins(), { from, to } = this.sight();
    const queue = this.queue.filter((q) => q.at >= from && q.at <= to);
    const max = Math.max(this.top(t.most), ...queue.map((q) => q.queued * 1.06));
    this.shade(pen);
    this.yAxis(pen, max, (v) => groupDigits(String(v)));
    this.inside(pen, () => {
      this.stairs(pen, t.most, max, "host", true);
      if (!d.embedding) this.stairs(pen, t.decode, max, "k0", false);
      if (this.queue.length > 0) this.queued(pen, max);
      ctx.fillStyle = color("high");
      t.failed.forEach((n, c) => {
        const x = this.at(t.from_ns + c * t.bin_ns, area);
        if (n) ctx.fillRect(x, area.y + area.h - 10, Math.max(this.at(t.from_ns + (c + 1) * t.bin_ns, area) - x, 2), 10);
      });
    });
    this.xAxis(pen);
  }

  private queued({ ctx, area, color }: Pen, max: number) {
    ctx.beginPath();
    for (const q of this.queue) ctx.lineTo(this.at(q.at, area), area.y + area.h * (1 - q.queued / max));
    ctx.strokeStyle = color("k3");
    ctx.lineWidth = 1.5;
    ctx.stroke();
  }
}

export class SpreadPlot extends Plot {
  /** The same latency of the run that this one is compared with. */
  other: Spread | null = null;
  /** The value that is pointed at, -1: none. */
  private i = -1;
  private readonly nines: number;

  constructor(at: string | HTMLCanvasElement, height: number, private readonly spread: Spread) {
    super(at, height, { left: 64, bottom: 26 });
    this.nines = Math.max(Math.log10(spread.n), 0.31);
    this.canvas.addEventListener("pointermove", (e) => {
      const a = this.area(), share = 1 - Math.pow(10, (-(e.offsetX - a.x) / a.w) * this.nines);
      let best = 0;
      spread.shares.forEach((p, i) => p <= share && (best = i));
      this.point(best, e.offsetX, e.offsetY);
    });
    this.canvas.addEventListener("pointerleave", () => this.point(-1));
    this.canvas.addEventListener("blur", () => this.point(-1));
    this.canvas.addEventListener("keydown", (e) => {
      const last = spread.shares.length - 1, by = e.shiftKey ? 10 : 1;
      if (e.key === "ArrowRight") this.point(Math.min(this.i + by, last));
      else if (e.key === "ArrowLeft") this.point(Math.max(this.i - by, 0));
      else if (e.key === "Home") this.point(0);
      else if (e.key === "End") this.point(last);
      else if (e.key === "Escape") this.point(-1);
      else return;
      e.preventDefault();
    });
  }

  x(share: number, area: Area) {
    return area.x + area.w * Math.min(-Math.log10(Math.max(1 - share, 1e-12)) / this.nines, 1);
  }

  point(i: number, px?: number, py?: number) {
    this.i = i;
    this.again();
    if (i < 0) return hideTip();
    const s = this.spread, share = s.shares[i], other = this.other;
    const rows: [string, string][] = [["percentile", share === 1 ? "longest" : "p" + Number((share * 100).toPrecision(6))], ["value", duration(s.values[i])]];
    if (other) rows.push(["before", duration(valueAt(other, share))]);
    showTip(this.canvas, px ?? this.x(s.shares[i], this.area()), py ?? 20, {
      title: s.title,
      rows,
    });
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, s = this.spread;
    const max = this.top();
    const y = (v: number) => area.y + area.h * (1 - v / max);
    this.yAxis(pen, max, duration);
    ctx.textBaseline = "top";
    let end = -Infinity;
    for (const [p, text] of ([[0, "min"], [0.5, "p50"], [0.9, "p90"], [0.99, "p99"], [0.999, "p99.9"], [0.9999, "p99.99"], [0.99999, "p99.999"]] as [number, string][])) {
      if (-Math.log10(1 - p) > this.nines) break;
      const x = this.x(p, area), width = ctx.measureText(text).width, left = Math.min(x - width / 2, area.x + area.w + 8 - width);
      ctx.fillStyle = color("line");
      ctx.fillRect(Math.round(x), area.y, 1, area.h);
      if (left < end + 4) continue; // no room next to the previous label
      ctx.fillStyle = color("soft");
      ctx.textAlign = "left";
      ctx.fillText(text, left, area.y + area.h + 6);
      end = left + width;
    }
    if (s.limit > 0 && s.limit < max) dashed(pen, y(s.limit), "high");
    for (const [of, name] of ([[this.other, "k4"], [s, "k0"]] as [Spread | null, string][])) {
      if (!of) continue;
      ctx.beginPath();
      of.values.forEach((v, i) => ctx.lineTo(this.x(of.shares[i], area), y(v)));
      ctx.strokeStyle = color(name);
      ctx.lineWidth = 2;
      ctx.stroke();
    }
  }

  override mark({ ctx, area, color }: Pen) {
    if (this.i < 0) return;
    const s = this.spread, max = this.top();
    ctx.fillStyle = color("mark");
    ctx.beginPath();
    ctx.arc(this.x(s.shares[this.i], area), area.y + area.h * (1 - s.values[this.i] / max), 3.5, 0, 7);
    ctx.fill();
  }

  /** Where the scale ends. */
  private top(): number {
    return Math.max(this.spread.values.at(-1) ?? 0, this.other?.values.at(-1) ?? 0) * 1.06 || 1;
  }
}

/** The value of a share of a distribution. */
export function valueAt(s: Spread, share: number): number {
  const i = s.shares.findIndex((p) => p >= share);
  return s.values[i < 0 ? s.values.length - 1 : i];
}
