// The plots of a benchmark: latencies, tokens and requests over one time axis
// that they share, and the distributions of latencies.

import { duration, groupDigits, ticks } from "../page/format";
import { type Area, hideTip, type Pen, Plot, plots, present, showTip, StepView, type Tip } from "../page/plot";
import { type Data, StepPlot } from "../page/steps";
import { enhance } from "../page/tables";

type Stretch = { from: number; to: number };
type Spread = { name: string; title: string; n: number; shares: number[]; values: number[]; limit: number };

/** What the plots of a benchmark draw; see benchData in benchhtml.go. Times are ns since the load began. */
type BenchData = {
  bin_ns: number; tokens: number[]; busiest: number[]; running: number[]; most: number[]; decode: number[]; ended: number[]; failed: number[];
  steady: Stretch[]; profiled: Stretch[]; at: number[]; at_once: boolean; ttft: number[]; e2e: number[]; limits: Record<string, number>;
  embedding: boolean; spreads: Spread[];
};

export class TimePlot extends StepPlot {
  constructor(id: string, height: number, protected readonly bench: BenchData, view: StepView) {
    // A bin of time is what a step is to the plots over steps.
    super(id, height, { kinds: [] as string[], grid: { cols: bench.running.length } } as Data, view, 64);
  }

  at(ns: number, area: Area) {
    return this.x(ns / this.bench.bin_ns, area);
  }

  /** When a latency of a request is drawn: as it was sent, or where all were sent at once, at its end. */
  when(i: number, of: number[]) {
    return this.bench.at[i] + (this.bench.at_once ? Math.max(of[i], 0) : 0);
  }

  /** The steady window and what profilers touched, behind everything. */
  shade({ ctx, area, color }: Pen) {
    for (const [list, name, alpha] of ([[this.bench.steady, "info", 0.1], [this.bench.profiled, "k3", 0.22]] as [Stretch[], string, number][])) {
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
    const bin = this.bench.bin_ns, lo = this.view.lo * bin, hi = this.view.hi * bin;
    const all = ticks(hi - lo, Math.max(area.w / 110, 2)), step = all.length > 1 ? all[1] : hi - lo || 1;
    ctx.fillStyle = color("soft");
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    for (let t = Math.ceil(lo / step) * step; t <= hi; t += step) {
      ctx.fillText(t === 0 ? "0" : duration(Math.round(t)), Math.min(this.at(t, area), area.x + area.w - 14), area.y + area.h + 5);
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

  /** A staircase over bins. */
  stairs({ ctx, area, color }: Pen, values: number[], max: number, name: string, fill: boolean) {
    const y = (v: number) => area.y + area.h * (1 - v / max);
    ctx.beginPath();
    values.forEach((v, c) => {
      ctx.lineTo(this.x(c, area), y(v));
      ctx.lineTo(this.x(c + 1, area), y(v));
    });
    ctx.strokeStyle = ctx.fillStyle = color(name);
    ctx.lineWidth = 1.5;
    ctx.stroke();
    if (!fill) return;
    ctx.lineTo(this.x(values.length, area), area.y + area.h);
    ctx.lineTo(this.x(0, area), area.y + area.h);
    ctx.globalAlpha = 0.18;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** The largest value in sight. */
  top(values: number[]) {
    let max = 0;
    for (let c = Math.max(Math.floor(this.view.lo), 0); c < Math.min(Math.ceil(this.view.hi), values.length); c++) max = Math.max(max, values[c]);
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

export class LatencyPlot extends TimePlot {
  log = true;

  constructor(data: BenchData, view: StepView) {
    super("latency", 300, data, view);
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, d = this.bench;
    this.shade(pen);
    const shown = (of: number[]) => indices(of, (_, i) => this.when(i, of) >= this.view.lo * d.bin_ns && this.when(i, of) <= this.view.hi * d.bin_ns);
    let lo = Infinity, hi = 0;
    for (const of of [d.ttft, d.e2e]) for (const i of shown(of)) if (of[i] > 0) (lo = Math.min(lo, of[i])), (hi = Math.max(hi, of[i]));
    if (hi === 0) (lo = 1e6), (hi = 1e9);
    (hi *= 1.1), (lo *= 0.9);
    if (this.log && hi / lo < 10) lo = hi / 10;
    const y = (v: number) => area.y + area.h * (this.log ? 1 - Math.log(v / lo) / Math.log(hi / lo) : 1 - v / hi);
    if (this.log) {
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      for (const v of logTicks(lo, hi)) {
        ctx.fillStyle = color("line");
        ctx.fillRect(area.x, Math.round(y(v)), area.w, 1);
        ctx.fillStyle = color("soft");
        ctx.fillText(duration(v), area.x - 6, y(v));
      }
    } else this.yAxis(pen, hi, duration);
    this.inside(pen, () => {
      for (const [name, of] of ([["ttft", d.ttft], ["e2e", d.e2e]] as [string, number[]][])) {
        ctx.strokeStyle = ctx.fillStyle = color(name === "ttft" ? "k0" : "k1");
        const limit = d.limits[name];
        if (limit && (!this.log || limit > lo)) {
          ctx.setLineDash([6, 4]);
          ctx.beginPath();
          ctx.moveTo(area.x, y(limit));
          ctx.lineTo(area.x + area.w, y(limit));
          ctx.stroke();
          ctx.setLineDash([]);
        }
        ctx.globalAlpha = 0.75;
        for (const i of shown(of)) {
          if (!(of[i] > 0)) continue;
          ctx.beginPath();
          ctx.arc(this.at(this.when(i, of), area), y(of[i]), 2, 0, 7);
          ctx.fill();
        }
        ctx.globalAlpha = 1;
      }
      ctx.fillStyle = color("high"); // failed: at the foot, with neither latency
      for (const i of shown(d.e2e)) if (d.ttft[i] < 0 && d.e2e[i] < 0) ctx.fillRect(this.at(d.at[i], area) - 1, area.y + area.h - 10, 2, 10);
    });
    this.xAxis(pen);
  }
}

/** Seconds that begin within one bin are several in a long run: then there is a mean, too. */
export function several(d: BenchData) {
  return d.bin_ns >= 1e9;
}

export class TokensPlot extends TimePlot {
  override paint(pen: Pen) {
    const d = this.bench, max = this.top(d.busiest);
    this.shade(pen);
    this.yAxis(pen, max, count);
    this.inside(pen, () => {
      this.stairs(pen, d.busiest, max, "compute", !several(d));
      if (several(d)) this.stairs(pen, d.tokens.map((n) => n / (d.bin_ns / 1e9)), max, "k1", true);
    });
    this.xAxis(pen);
  }
}

export class RunningPlot extends TimePlot {
  override paint(pen: Pen) {
    const { ctx, area, color } = pen, d = this.bench, max = this.top(d.most);
    this.shade(pen);
    this.yAxis(pen, max, (v) => groupDigits(String(v)));
    this.inside(pen, () => {
      this.stairs(pen, d.most, max, "host", true);
      if (!d.embedding) this.stairs(pen, d.decode, max, "k0", false);
      ctx.fillStyle = color("high");
      d.failed.forEach((n, c) => {
        if (n) ctx.fillRect(this.x(c, area), area.y + area.h - 10, Math.max(this.x(c + 1, area) - this.x(c, area), 2), 10);
      });
    });
    this.xAxis(pen);
  }
}

export class SpreadPlot extends Plot {
  /** The value that is pointed at, -1: none. */
  private i = -1;
  private readonly nines: number;

  constructor(private readonly spread: Spread) {
    super("spread-" + spread.name, 220, { left: 64, bottom: 26 });
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
    const s = this.spread;
    showTip(this.canvas, px ?? this.x(s.shares[i], this.area()), py ?? 20, {
      title: s.title,
      rows: [["percentile", s.shares[i] === 1 ? "longest" : "p" + Number((s.shares[i] * 100).toPrecision(6))], ["value", duration(s.values[i])]],
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
      if (left < end + 4) continue; // no room beside the label before it
      ctx.fillStyle = color("soft");
      ctx.textAlign = "left";
      ctx.fillText(text, left, area.y + area.h + 6);
      end = left + width;
    }
    if (s.limit > 0 && s.limit < max) {
      ctx.strokeStyle = color("high");
      ctx.setLineDash([6, 4]);
      ctx.beginPath();
      ctx.moveTo(area.x, y(s.limit));
      ctx.lineTo(area.x + area.w, y(s.limit));
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.beginPath();
    s.values.forEach((v, i) => ctx.lineTo(this.x(s.shares[i], area), y(v)));
    ctx.strokeStyle = color("k0");
    ctx.lineWidth = 2;
    ctx.stroke();
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
    return this.spread.values[this.spread.values.length - 1] * 1.06 || 1;
  }
}

/** What the colours of a plot mean. */
export function legend(id: string, keys: [string, string][]) {
  const p = document.getElementById(id);
  for (const [name, text] of keys) {
    const span = document.createElement("span"), i = document.createElement("i");
    span.className = "key";
    i.style.background = `var(--${name})`;
    span.append(i, text);
    p?.append(span);
  }
}

const root = document.documentElement;
const broken = (what: unknown) => {
  root.dataset.error ??= String(what);
};
addEventListener("error", (e) => broken(e.message));
const data: BenchData = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
const view = new StepView(data.running.length);
try {
  const latency = new LatencyPlot(data, view);
  const log = document.getElementById("latency-log") as HTMLInputElement;
  log.addEventListener("change", () => {
    latency.log = log.checked;
    latency.draw();
  });
  if (!data.embedding) new TokensPlot("tokens", 170, data, view);
  new RunningPlot("running", 170, data, view);
  const both: [string, string][] = [["high", "failed"]];
  if (data.steady.length) both.push(["info", "steady window (shaded)"]);
  if (data.profiled.length) both.push(["k3", "captured window (shaded)"]);
  legend("latency-keys", [...(data.embedding ? [] : ([["k0", "TTFT"]] as [string, string][])), ["k1", "E2E"], ...both]);
  if (several(data)) legend("tokens-keys", [["compute", "busiest second"], ["k1", "mean"]]);
  legend("running-keys", [["host", "under way, the most at one moment"], ...(data.embedding ? [] : ([["k0", "in decode, mean"]] as [string, string][])), ...both]);
  data.spreads.forEach((s) => new SpreadPlot(s));
  document.querySelectorAll("main .scroll table").forEach((t) => enhance(t as HTMLTableElement));
} catch (e) {
  broken(e);
}
present(() => plots.forEach((p) => p.draw()));
