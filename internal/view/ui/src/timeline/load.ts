// What the load did while its steps were recorded, above the rows of the ranks: requests under way, tokens a second and the
// server's queue, on the capture's clock; and which requests were under way in a time.

import type { Requests, Run, Steps, Timeline as Bins } from "../bench/data";
import { digits3, groupDigits } from "../../../../web/format";
import { Failed, json } from "../api";
import { fill, h } from "../dom";
import { elsewhere, format, type Params } from "../state";
import type { Palette } from "./palette";
import type { Range } from "./scale";

/** How high a line is, in CSS pixels. */
const LINE = 18;

interface Line {
  title: string;
  color: string;
  /** What it was from one moment to the next, on the capture's clock. */
  at: number[];
  values: number[];
  unit: string;
}

export class Load {
  readonly canvas = h("canvas", { role: "img", "aria-label": "Load: requests in progress, tokens per second, queue" });
  readonly legend = h("div", { class: "legend" });
  readonly el = h("div", { class: "tl-above tl-load", hidden: true }, this.legend, this.canvas);
  private lines: Line[] = [];
  private shift = 0;
  private rep = 0;
  private requests: Requests | null = null;

  constructor(private readonly run: string, private readonly capture: string, private readonly all: Range, arrived: () => void) {
    // Where steps and requests cannot be laid beside each other, Benchmark says why.
    void this.open().catch((e: unknown) => {
      if (!(e instanceof Failed) || e.status === 0) throw e;
    }).then(() => arrived());
  }

  private async open(): Promise<void> {
    const steps = await json<Steps>("load/steps", { run: this.run });
    const own = steps.lanes.find((l) => l.capture === this.capture && l.from.length > 0);
    if (own === undefined) return;
    [this.shift, this.rep] = [own.shift, steps.rep];
    const of = { run: this.run, rep: this.rep }, from = Math.max(Math.floor(this.all.t0 - this.shift), 0), to = Math.ceil(this.all.t1 - this.shift);
    if (to <= from) return;
    const [page, bins, requests] = await Promise.all([json<Run>("load", of), json<Bins>("load/timeline", { ...of, from, to }), json<Requests>("load/requests", { ...of, from, to })]);
    this.requests = requests;
    const edges = bins.running.map((_, i) => bins.from_ns + i * bins.bin_ns + this.shift);
    edges.push((edges[edges.length - 1] ?? this.shift) + bins.bin_ns);
    this.lines = [
      { title: "requests in progress", color: "strong", at: edges, values: bins.running, unit: "" },
      { title: "tokens per second", color: "share", at: edges, values: bins.tokens.map((n) => (n / bins.bin_ns) * 1e9), unit: "/s" },
    ];
    for (const [what, title, unit] of [["queued", "in the server's queue", ""], ["usage", "of the KV cache in use", " %"]] as const) {
      const samples = page.server.filter((s) => s[what] >= 0);
      if (samples.length === 0) continue;
      const at = samples.map((s) => s.at + this.shift);
      this.lines.push({ title, color: "medium", at: [...at, at[at.length - 1] + 1e9], values: samples.map((s) => (unit === "" ? 1 : 100) * s[what]), unit });
    }
  }

  /** Requests that were under way in a time of the capture, by their places in the records, the first that was sent first. */
  during(range: Range): number[] {
    const r = this.requests;
    if (r === null) return [];
    const from = range.t0 - this.shift, to = range.t1 - this.shift;
    return r.index.map((_, i) => i).filter((i) => r.sent[i] < to && Math.max(r.done[i], r.sent[i]) > from).sort((a, b) => r.sent[a] - r.sent[b]).map((i) => r.index[i]);
  }

  /** Where the benchmark shows a time, or a request. */
  link(now: Params, range: Range, request?: number): string {
    const b0 = Math.max(Math.round(range.t0 - this.shift), 0);
    return format(elsewhere(now, { tab: "bench", run: this.run, rep: this.rep, b0, b1: Math.max(Math.round(range.t1 - this.shift), b0 + 1), req: request ?? null }));
  }

  /** Draws it for a view of the wall clock; null: ranks lie otherwise, and one time is not that of all. */
  paint(view: Range | null, width: number, palette: Palette, now: Params): void {
    this.el.hidden = view === null || this.lines.length === 0;
    if (this.el.hidden || view === null) return;
    const height = this.lines.length * LINE, ratio = window.devicePixelRatio || 1, ctx = this.canvas.getContext("2d", { alpha: false })!;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = palette.name("bg");
    ctx.fillRect(0, 0, width, height);
    const perNs = width / (view.t1 - view.t0), n = this.during(view).length;
    const titles = this.lines.map((l, row) => {
      const most = Math.max(...l.values, 0), bottom = (row + 1) * LINE - 1;
      ctx.fillStyle = palette.name(l.color);
      l.values.forEach((v, i) => {
        const x0 = Math.max((l.at[i] - view.t0) * perNs, 0), x1 = Math.min((l.at[i + 1] - view.t0) * perNs, width), high = (v / Math.max(most, 1e-9)) * (LINE - 3);
        if (x1 > x0 && high > 0) ctx.fillRect(x0, bottom - high, Math.max(x1 - x0, 0.5), high);
      });
      ctx.fillStyle = palette.name("line");
      ctx.fillRect(0, bottom, width, 1);
      return h("div", null, `${l.title}, up to ${Number.isInteger(most) || most >= 1000 ? groupDigits(String(Math.round(most))) : digits3(most)}${l.unit}`);
    });
    titles[0].append(" · ", h("a", { href: this.link(now, view), title: "These requests in Benchmark, over the visible time" }, String(n)));
    fill(this.legend, ...titles);
  }
}
