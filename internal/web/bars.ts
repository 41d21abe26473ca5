// Stacked bars of each step's time, and the lengths of steps.

import { duration, percent } from "./format";
import { legendKey, type Pen, type StepView, type Tip } from "./plot";
import { partLabel } from "./stack";
import { type Data, kindColor, quantile, StepPlot } from "./steps";

export class StepBars extends StepPlot {
  /** The rank shown, -1: the mean over ranks. */
  private rank = -1;
  /** As shares of the step. */
  share = false;
  private values: number[][] = [];

  constructor(data: Data, view: StepView, at: string | HTMLCanvasElement = "bars") {
    super(at, 240, data, view);
    this.pick(-1);
  }

  /** Takes the columns of one rank, or their means over ranks. */
  pick(rank: number) {
    const g = this.grid, n = this.data.ranks.length;
    this.rank = rank;
    this.values = g.parts.map(({ ns }) => {
      if (rank >= 0) return ns.slice(rank * g.cols, (rank + 1) * g.cols);
      const out = new Array(g.cols).fill(-1);
      for (let c = 0; c < g.cols; c++) {
        let sum = 0, seen = 0;
        for (let r = 0; r < n; r++) {
          const v = ns[r * g.cols + c];
          if (v >= 0) (sum += v), seen++;
        }
        if (seen) out[c] = sum / seen;
      }
      return out;
    });
  }

  total(c: number) {
    return this.values.reduce((sum, v) => sum + Math.max(v[c], 0), 0);
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, v = this.view;
    const from = Math.max(Math.floor(v.lo), 0), to = Math.min(Math.ceil(v.hi), this.grid.cols);
    const totals = [];
    for (let c = from; c < to; c++) totals.push(this.total(c));
    // An extreme step is cut and marked, so that it does not flatten all others.
    const most = Math.max(...totals, 1), usual = quantile(totals, 0.9);
    const max = this.share ? 1 : most > 3 * usual && usual > 0 ? usual * 1.3 : most * 1.05;
    this.yAxis(pen, max, this.share ? percent : duration);
    sayCut("bars", !this.share && most > max ? most : 0);
    const colors = this.grid.parts.map((p) => color(p.name)), gap = area.w / (v.hi - v.lo) >= 5 ? 1 : 0;
    for (let c = from; c < to; c++) {
      const x0 = Math.max(this.x(c, area), area.x), x1 = Math.min(this.x(c + 1, area), area.x + area.w), sum = totals[c - from];
      let at = 0;
      for (let i = 0; i < this.values.length; i++) {
        const part = Math.max(this.values[i][c], 0) / (this.share ? sum || 1 : 1), next = Math.min(at + part, max);
        if (next > at) {
          ctx.fillStyle = colors[i];
          ctx.fillRect(x0, area.y + area.h * (1 - next / max), Math.max(x1 - x0 - gap, 0.6), (area.h * (next - at)) / max);
        }
        at = next;
      }
      if (!this.share && sum > max) {
        const mid = (x0 + x1 - gap) / 2;
        ctx.fillStyle = color("mark");
        ctx.beginPath();
        ctx.moveTo(mid - 4, area.y + 7);
        ctx.lineTo(mid + 4, area.y + 7);
        ctx.lineTo(mid, area.y + 1);
        ctx.fill();
      }
    }
    this.xAxis(pen);
  }

  override tip(c: number): Tip {
    const who = this.rank < 0 ? "mean over ranks" : this.data.ranks[this.rank], sum = this.total(c);
    const rows: [string, string][] = [["total", duration(Math.round(sum))]];
    this.grid.parts.forEach((p, i) => {
      const v = Math.max(this.values[i][c], 0);
      if (v > 0) rows.push([partLabel(p.name), `${duration(Math.round(v))} · ${percent(v / (sum || 1))}`]);
    });
    return { title: `${this.stepName(c)}, ${who}`, rows };
  }
}

/** Says that a plot's scale ends below its largest value.   0: it does not */
export function sayCut(id: string, most: number) {
  const el = document.getElementById("cut-" + id), text = most ? `▼ cut: up to ${duration(Math.round(most))}` : "";
  if (el && el.textContent !== text) el.textContent = text;
}

export class StepLengths extends StepPlot {
  log = false;
  /** Where each point stands, in columns. */
  private readonly cols: number[];

  constructor(data: Data, view: StepView, at: string | HTMLCanvasElement = "lengths") {
    super(at, 220, data, view);
    const g = data.grid, l = data.lengths;
    this.cols = l.step.map((s) => {
      const c = this.colOf(s);
      return c < 0 ? -1 : c + (s - g.first[c] + 0.5) / (g.last[c] - g.first[c] + 1);
    });
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, l = this.data.lengths, v = this.view;
    const seen = l.ns.filter((_, i) => this.cols[i] >= v.lo && this.cols[i] <= v.hi);
    const most = seen.reduce((a, b) => Math.max(a, b), 1), usual = quantile(seen, 0.9);
    const cut = !this.log && most > 5 * usual && usual > 0, max = cut ? usual * 1.5 : most * 1.1;
    sayCut("lengths", cut ? most : 0);
    const least = seen.reduce((a, b) => Math.min(a, Math.max(b, 1)), most) / 1.3, decades = Math.log(max / least);
    const y = (ns: number): number => area.y + area.h * (1 - (this.log ? Math.log(Math.max(ns, 1) / least) / decades : Math.min(ns, max) / max));
    if (this.log) this.logAxis(pen, least, max, y);
    else this.yAxis(pen, max, duration);
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.x, 0, area.w, area.y + area.h);
    ctx.clip();
    const size = seen.length > 1500 ? 1.6 : seen.length > 300 ? 2.4 : 3.2;
    const colors = this.data.kinds.map((k) => color(kindColor(k))), mark = color("mark");
    for (let i = 0; i < l.ns.length; i++) {
      if (this.cols[i] < v.lo || this.cols[i] > v.hi) continue;
      const px = this.x(this.cols[i], area), py = y(l.ns[i]);
      ctx.fillStyle = colors[l.kind[i]];
      ctx.beginPath();
      if (cut && l.ns[i] > max) {
        ctx.moveTo(px - 4, py + 7);
        ctx.lineTo(px + 4, py + 7);
        ctx.lineTo(px, py);
      } else {
        ctx.arc(px, py, size, 0, 7);
      }
      ctx.fill();
      if (l.slow[i]) {
        ctx.strokeStyle = mark;
        ctx.beginPath();
        ctx.arc(px, py, size + 2.5, 0, 7);
        ctx.stroke();
      }
    }
    ctx.restore();
    this.xAxis(pen);
  }

  logAxis({ ctx, area, color }: Pen, least: number, max: number, y: (ns: number) => number) {
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (let p = Math.floor(Math.log10(least)); p <= Math.log10(max); p++) {
      for (const unit of max / least > 300 ? [1] : [1, 2, 5]) {
        const v = unit * Math.pow(10, p);
        if (v < least || v > max) continue;
        ctx.fillStyle = color("line");
        ctx.fillRect(area.x, Math.round(y(v)), area.w, 1);
        ctx.fillStyle = color("soft");
        ctx.fillText(duration(v), area.x - 6, y(v));
      }
    }
  }

  override tip(c: number): Tip {
    const l = this.data.lengths;
    const rows: [string, string][] = [];
    for (let i = 0; i < l.ns.length && rows.length < 8; i++) {
      if (Math.floor(this.cols[i]) !== c) continue;
      rows.push([`step ${l.step[i]}, ${this.data.kinds[l.kind[i]]}`, duration(l.ns[i]) + (l.slow[i] ? " · slow" : "")]);
    }
    return { title: this.stepName(c), rows };
  }
}

/** Both plots, with their controls. */
export function drawSteps(data: Data, view: StepView) {
  if (document.getElementById("bars")) {
    const bars = new StepBars(data, view), pick = document.getElementById("bars-rank") as HTMLSelectElement;
    if (data.ranks.length > 1) pick.add(new Option("mean over ranks", "-1"));
    data.ranks.forEach((name, i) => pick.add(new Option(name, String(i))));
    bars.pick(Number(pick.value));
    pick.addEventListener("change", () => {
      bars.pick(Number(pick.value));
      bars.draw();
    });
    const share = document.getElementById("bars-share") as HTMLInputElement;
    share.addEventListener("change", () => {
      bars.share = share.checked;
      bars.draw();
    });
    const keys = data.grid.parts.filter((p) => p.ns.some((v) => v > 0)).map((p) => legendKey("--" + p.name, partLabel(p.name)));
    document.getElementById("bars-keys")?.replaceChildren(...keys);
  }
  if (document.getElementById("lengths")) {
    const lengths = new StepLengths(data, view), log = document.getElementById("lengths-log") as HTMLInputElement;
    // On a linear scale decode would be a line at 0 next to prefill.
    lengths.log = log.checked = quantile(data.lengths.ns, 1) > 8 * quantile(data.lengths.ns, 0.5);
    log.addEventListener("change", () => {
      lengths.log = log.checked;
      lengths.draw();
    });
  }
  for (const el of document.querySelectorAll(".kinds")) {
    if (data.kinds.length < 2) continue;
    const keys = data.kinds.map((k) => legendKey("--" + kindColor(k), k));
    if (data.grid.kind.includes(-1)) keys.push(legendKey("--k4", "several kinds in one column"));
    el.replaceChildren(...keys);
  }
}
