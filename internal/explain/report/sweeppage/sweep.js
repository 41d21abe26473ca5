// @ts-check
"use strict";
// The plots of a sweep: a panel for each figure, over one parameter, a line for
// each combination of the others.

/**
 * @typedef {{id: string, title: string, unit: string, values: (number | null)[][]}} Panel
 * @typedef {{axis: string, ticks: {at: number, text: string}[], series: string[], panels: Panel[]}} SweepData
 */

/** @param {number} v @param {string} unit */
function figureText(v, unit) {
  if (unit === "ns") return duration(v);
  if (unit === "share") return percent(v);
  return v === 0 ? "0" : unit === "count" ? groupDigits(String(v)) : digits3(v) + "/s";
}

/** @param {number} i of a series */
const seriesColor = (i) => "k" + (i % 5);
/** Beyond five, lines are dashed. @param {number} i */
const seriesDash = (i) => [[], [6, 4], [2, 3], [8, 3, 2, 3]][Math.floor(i / 5) % 4];

class SweepPlot extends Plot {
  /** @param {SweepData} data @param {Panel} panel */
  constructor(data, panel) {
    super(panel.id, 220, { left: 64, bottom: 26 });
    this.data = data;
    this.panel = panel;
    this.i = -1;
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

  /** Not at the very edges: points have a size. @param {number} at @param {Area} area */
  x(at, area) {
    return area.x + 14 + (area.w - 28) * at;
  }

  /** @param {number} i @param {number} [px] @param {number} [py] */
  point(i, px, py) {
    this.i = i;
    this.draw();
    if (i < 0) return hideTip();
    const { panel, data } = this;
    /** @type {[string, string][]} */
    const rows = data.series.map((name, s) => {
      const v = panel.values[s][i];
      return [name || panel.title, v === null ? "–" : figureText(v, panel.unit)];
    });
    showTip(this.canvas, px ?? this.x(data.ticks[i].at, this.area()), py ?? 20, { title: `${panel.title}, ${data.axis} ${data.ticks[i].text}`, rows });
  }

  /** @param {Pen} pen */
  paint(pen) {
    const { ctx, area, color } = pen, { panel, data } = this;
    let max = 0;
    for (const line of panel.values) for (const v of line) max = Math.max(max, v ?? 0);
    max = max * 1.08 || 1;
    const y = (/** @type {number} */ v) => area.y + area.h * (1 - v / max);
    this.yAxis(pen, max, (v) => figureText(v, panel.unit));
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    let end = -Infinity; // of the last label
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
      let broken = true; // a figure that is not known leaves a gap
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

(() => {
  const root = document.documentElement;
  /** @param {unknown} what */
  const broken = (what) => {
    root.dataset.error ??= String(what);
  };
  addEventListener("error", (e) => broken(e.message));
  /** @type {SweepData} */
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
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
    document.querySelectorAll("main .scroll table").forEach((t) => enhance(/** @type {HTMLTableElement} */ (t)));
  } catch (e) {
    broken(e);
  }
  present(() => plots.forEach((p) => p.draw()));
})();
