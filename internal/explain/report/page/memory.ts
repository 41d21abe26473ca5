// The allocator's timeline of one rank and device.

import { bytes, duration, ticks } from "../../../web/format";
import { type Area, hideTip, type Pen, Plot, showTip } from "../../../web/plot";
import type { Data, MemorySeries } from "../../../web/steps";

export class MemoryPlot extends Plot {
  /** Which series is shown. */
  index = 0;
  /** The point that is pointed at, -1: none. */
  at = -1;

  constructor(private readonly series: MemorySeries[]) {
    super("memory-plot", 220, { left: 68 });
    this.canvas.addEventListener("pointermove", (e) => this.point(this.nearest(e.offsetX), e.offsetX, e.offsetY));
    this.canvas.addEventListener("pointerleave", () => this.point(-1));
    this.canvas.addEventListener("blur", () => this.point(-1));
    this.canvas.addEventListener("keydown", (e) => {
      const last = this.series[this.index].at.length - 1, by = e.shiftKey ? 10 : 1;
      if (e.key === "ArrowRight") this.point(Math.min(this.at + by, last));
      else if (e.key === "ArrowLeft") this.point(Math.max(this.at - by, 0));
      else if (e.key === "Home") this.point(0);
      else if (e.key === "End") this.point(last);
      else if (e.key === "Escape") this.point(-1);
      else return;
      e.preventDefault();
    });
  }

  x(area: Area, t: number) {
    const { at } = this.series[this.index], lo = at[0] ?? 0, hi = at[at.length - 1] ?? 1;
    return area.x + ((t - lo) / Math.max(hi - lo, 1)) * area.w;
  }

  nearest(x: number) {
    const { at } = this.series[this.index], area = this.area();
    let lo = 0, hi = at.length - 1; // points are sorted by time
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.x(area, at[mid]) < x) lo = mid + 1;
      else hi = mid;
    }
    return lo > 0 && x - this.x(area, at[lo - 1]) < this.x(area, at[lo]) - x ? lo - 1 : lo;
  }

  point(i: number, px?: number, py?: number) {
    this.at = i;
    this.again();
    const s = this.series[this.index];
    if (i < 0 || i >= s.at.length) return hideTip();
    showTip(this.canvas, px ?? this.x(this.area(), s.at[i]), py ?? 20, {
      title: s.label,
      rows: [["at", duration(s.at[i])], ["allocated", bytes(s.allocated[i])], ["reserved", bytes(s.reserved[i])]],
    });
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, s = this.series[this.index];
    if (s.at.length === 0) return;
    const max = [s.allocated, s.reserved].flat().reduce((a, b) => Math.max(a, b), 1) * 1.05;
    this.yAxis(pen, max, bytes);
    /** A staircase: a value holds until the next. */
    const stairs = (values: number[], fill: boolean) => {
      ctx.beginPath();
      s.at.forEach((t, i) => {
        const x = this.x(area, t), y = area.y + area.h * (1 - values[i] / max);
        if (i === 0) ctx.moveTo(x, y);
        else {
          ctx.lineTo(x, area.y + area.h * (1 - values[i - 1] / max));
          ctx.lineTo(x, y);
        }
      });
      ctx.stroke();
      if (!fill) return;
      ctx.lineTo(area.x + area.w, area.y + area.h);
      ctx.lineTo(area.x, area.y + area.h);
      ctx.globalAlpha = 0.15;
      ctx.fill();
      ctx.globalAlpha = 1;
    };
    ctx.strokeStyle = color("soft");
    ctx.setLineDash([5, 4]);
    stairs(s.reserved, false);
    ctx.setLineDash([]);
    ctx.strokeStyle = ctx.fillStyle = color("compute");
    ctx.lineWidth = 1.5;
    stairs(s.allocated, true);
    ctx.fillStyle = color("soft");
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    const from = s.at[0], to = s.at[s.at.length - 1];
    for (const t of ticks(to - from, Math.max(area.w / 110, 2))) ctx.fillText(duration(t), Math.min(this.x(area, from + t), area.x + area.w - 16), area.y + area.h + 5);
  }

  override mark({ ctx, area, color }: Pen) {
    const { at } = this.series[this.index];
    if (this.at < 0 || this.at >= at.length) return;
    ctx.fillStyle = color("mark");
    ctx.fillRect(this.x(area, at[this.at]), area.y, 1, area.h);
  }
}

export function drawMemory(data: Data) {
  if (!document.getElementById("memory-plot")) return;
  const plot = new MemoryPlot(data.memory), pick = document.getElementById("memory-series") as HTMLSelectElement;
  data.memory.forEach((s, i) => pick.add(new Option(s.label, String(i))));
  pick.addEventListener("change", () => {
    plot.index = Number(pick.value);
    plot.at = -1;
    plot.draw();
  });
}
