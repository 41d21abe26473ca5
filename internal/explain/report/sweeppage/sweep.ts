// The plots of a sweep: a panel for each figure over one parameter, with a line for each combination of the others.

import { digits3, duration, groupDigits, percent } from "../../../web/format";
import { type Area, hideTip, type Pen, Plot, plots, present, showTip } from "../../../web/plot";
import { enhance } from "../page/tables";

type Panel = { id: string; title: string; unit: string; values: (number | null)[][] };
type SweepData = { axis: string; ticks: { at: number; text: string }[]; series: string[]; panels: Panel[] };

export function figureText(v: number, unit: string) {
  if (unit === "ns") return duration(v);
  if (unit === "share") return percent(v);
  return v === 0 ? "0" : unit === "count" ? groupDigits(String(v)) : digits3(v) + "/s";
}

/** The colour of a series. */
const seriesColor = (i: number) => "k" + (i % 5);
/** Beyond five, lines are dashed. */
const seriesDash = (i: number) => [[], [6, 4], [2, 3], [8, 3, 2, 3]][Math.floor(i / 5) % 4];

export class SweepPlot extends Plot {
  /** The value of the parameter that is pointed at, -1: none. */
  private i = -1;

  constructor(private readonly data: SweepData, private readonly panel: Panel) {
    super(panel.id, 220, { left: 64, bottom: 26 });
    this.canvas.addEventListener("pointermove", (e) => {
      const a = this.area();
      let best = 0;
      data.ticks.forEach((t, i) => {
        if (Math.abs(this.x(t.at, a) - e.offsetX) < Math.abs(this.x(data.ticks[best].at, a) - e.offsetX)) best = i;
      });
      this.point(best, e.offsetX, e.offsetY);
    });
    this.canvas.addEventListener("pointerleave", () => this.point(-1));
    this.canvas.addEventListener("blur", () => this.point(-1));
    this.canvas.addEventListener("keydown", (e) => {
      const last = data.ticks.length - 1;
      if (e.key === "ArrowRight") this.point(Math.min(this.i + 1, last));
      else if (e.key === "ArrowLeft") this.point(Math.max(this.i - 1, 0));
      else if (e.key === "Escape") this.point(-1);
      else return;
      e.preventDefault();
    });
  }

  /** Not at the very edges: points have a size. */
  x(at: number, area: Area) {
    return area.x + 14 + (area.w - 28) * at;
  }

  point(i: number, px?: number, py?: number) {
    this.i = i;
    this.draw();
    if (i < 0) return hideTip();
    const { panel, data } = this;
    const rows: [string, string][] = data.series.map((name, s) => {
      const v = panel.values[s][i];
      return [name || panel.title, v === null ? "–" : figureText(v, panel.unit)];
    });
    showTip(this.canvas, px ?? this.x(data.ticks[i].at, this.area()), py ?? 20, { title: `${panel.title}, ${data.axis} ${data.ticks[i].text}`, rows });
  }

  override paint(pen: Pen) {
    const { ctx, area, color } = pen, { panel, data } = this;
    let max = 0;
    for (const line of panel.values) for (const v of line) max = Math.max(max, v ?? 0);
    max = max * 1.08 || 1;
    const y = (v: number) => area.y + area.h * (1 - v / max);
    this.yAxis(pen, max, (v) => figureText(v, panel.unit));
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    let end = -Infinity; // end of the last label
    data.ticks.forEach((t, i) => {
      const x = this.x(t.at, area), half = ctx.measureText(t.text).width / 2;
      ctx.fillStyle = color(i === this.i ? "soft" : "line");
      ctx.fillRect(Math.round(x), area.y, 1, area.h);
      if (x - half < end + 6) return;
      end = x + half;
      ctx.fillStyle = color("soft");
      ctx.fillText(t.text, x, area.y + area.h + 6);
    });
    panel.values.forEach((line, s) => {
      ctx.strokeStyle = ctx.fillStyle = color(seriesColor(s));
      ctx.lineWidth = 2;
      ctx.setLineDash(seriesDash(s));
      ctx.beginPath();
      let broken = true; // an unknown figure leaves a gap
      line.forEach((v, i) => {
        if (v === null) return void (broken = true);
        const x = this.x(data.ticks[i].at, area);
        if (broken) ctx.moveTo(x, y(v));
        else ctx.lineTo(x, y(v));
        broken = false;
      });
      ctx.stroke();
      ctx.setLineDash([]);
      line.forEach((v, i) => {
        if (v === null) return;
        ctx.beginPath();
        ctx.arc(this.x(data.ticks[i].at, area), y(v), i === this.i ? 5 : 3.5, 0, 7);
        ctx.fill();
      });
    });
  }
}

const root = document.documentElement;
const broken = (what: unknown) => {
  root.dataset.error ??= String(what);
};
addEventListener("error", (e) => broken(e.message));
const data: SweepData = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
try {
  for (const keys of document.querySelectorAll(".series")) {
    data.series.forEach((name, s) => {
      const span = document.createElement("span"), i = document.createElement("i");
      span.className = "key";
      i.style.background = `var(--${seriesColor(s)})`;
      if (seriesDash(s).length) i.style.opacity = String(1 - 0.25 * Math.floor(s / 5));
      span.append(i, name);
      keys.append(span);
    });
  }
  data.panels.forEach((p) => new SweepPlot(data, p));
  document.querySelectorAll("main .scroll table").forEach((t) => enhance(t as HTMLTableElement));
} catch (e) {
  broken(e);
}
present(() => plots.forEach((p) => p.draw()));
