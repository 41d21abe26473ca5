// @ts-check
"use strict";
// The ground of all plots: a canvas with sharp pixels, colours from the style
// sheet, a tooltip; and one view over steps that plots share, so that zooming
// or pointing in one of them shows in all.

/** @typedef {{x: number, y: number, w: number, h: number}} Area */
/** @typedef {{title: string, rows: [string, string][]}} Tip */
/** @typedef {{ctx: CanvasRenderingContext2D, area: Area, color: (name: string) => string}} Pen */

/** All plots, to draw again when the theme changes. @type {Plot[]} */
const plots = [];

/** Draws a page, and again when its colours change. Paper is white, and has all that can be opened. @param {() => void} redraw */
function present(redraw) {
  const root = document.documentElement;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    root.dataset.print = "1"; // as wide as paper, so that plots are drawn for it
    document.querySelectorAll("details").forEach((d) => (d.open = true));
    redraw();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.theme;
    delete root.dataset.print;
    redraw();
  });
  redraw();
  root.dataset.ready = "1";
}

class Plot {
  /**
   * @param {string} id of the canvas
   * @param {number} height in CSS pixels
   * @param {{left?: number, bottom?: number}} [room] for labels
   */
  constructor(id, height, room = {}) {
    this.canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(id));
    this.height = height;
    this.left = room.left ?? 58;
    this.bottom = room.bottom ?? 22;
    this.canvas.style.height = height + "px";
    plots.push(this);
    /** The width that it was drawn for. */
    this.width = 0;
    // In the next frame: on paper the height follows the width, and a size that changes while it is observed is an error.
    new ResizeObserver(() => requestAnimationFrame(() => this.canvas.clientWidth === this.width || this.draw())).observe(this.canvas);
  }

  /** @returns {Area} */
  area() {
    return { x: this.left, y: 6, w: Math.max(this.canvas.clientWidth - this.left - 8, 10), h: this.height - this.bottom - 6 };
  }

  draw() {
    const width = this.canvas.clientWidth, dpr = window.devicePixelRatio || 1;
    if (width === 0) return;
    this.width = width;
    this.canvas.width = Math.round(width * dpr);
    this.canvas.height = Math.round(this.height * dpr);
    const ctx = this.canvas.getContext("2d");
    if (!ctx) return;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.font = "11px system-ui, sans-serif";
    const style = getComputedStyle(document.documentElement);
    /** @param {string} name */
    const color = (name) => style.getPropertyValue("--" + name).trim() || "#888";
    this.paint({ ctx, area: this.area(), color });
    this.canvas.dataset.drawn = "1";
  }

  /** @param {Pen} _pen */
  paint(_pen) {}

  /** Horizontal lines with labels for values from 0 to max. @param {Pen} pen @param {number} max @param {(v: number) => string} text */
  yAxis({ ctx, area, color }, max, text) {
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const v of ticks(max, Math.max(area.h / 45, 2))) {
      const y = area.y + area.h * (1 - v / max);
      ctx.fillStyle = color("line");
      ctx.fillRect(area.x, Math.round(y), area.w, 1);
      ctx.fillStyle = color("soft");
      ctx.fillText(text(v), area.x - 6, y);
    }
  }
}

const tipBox = /** @type {HTMLElement} */ (document.getElementById("tip"));

/** Shows a tip beside a point of a canvas, inside the window. @param {HTMLElement} by @param {number} x @param {number} y @param {Tip} tip */
function showTip(by, x, y, tip) {
  const dl = document.createElement("dl");
  for (const [name, value] of tip.rows) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    dl.append(dt, dd);
  }
  const head = document.createElement("strong");
  head.textContent = tip.title;
  tipBox.replaceChildren(head, dl);
  tipBox.hidden = false;
  const box = by.getBoundingClientRect(), size = tipBox.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  let left = box.left + x + 14;
  if (left + size.width > width - 8) left = Math.max(box.left + x - 14 - size.width, 4);
  let top = box.top + y + 14;
  if (top + size.height > window.innerHeight - 4) top = Math.max(box.top + y - 14 - size.height, 4);
  tipBox.style.left = left + window.scrollX + "px";
  tipBox.style.top = top + window.scrollY + "px";
}

function hideTip() {
  tipBox.hidden = true;
}

/** The window on the columns of the grid that all step plots show. */
class StepView {
  /** @param {number} cols */
  constructor(cols) {
    this.cols = cols;
    this.lo = 0;
    this.hi = Math.max(cols, 1);
    /** The column pointed at, -1: none. */
    this.col = -1;
    /** The rank pointed at, in plots that have rows for them. */
    this.row = 0;
    /** @type {Plot[]} */
    this.plots = [];
    this.pending = 0;
  }

  changed() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      for (const p of this.plots) p.draw();
    });
  }

  /** @param {number} lo @param {number} hi */
  zoom(lo, hi) {
    const width = Math.min(Math.max(hi - lo, 4), this.cols);
    const mid = (lo + hi) / 2;
    this.lo = Math.min(Math.max(mid - width / 2, 0), this.cols - width);
    this.hi = this.lo + width;
    this.changed();
  }

  /** Points at a column and scrolls it into the window. @param {number} col */
  point(col) {
    this.col = col < 0 ? -1 : Math.min(col, this.cols - 1);
    const width = this.hi - this.lo;
    if (this.col >= 0 && (this.col < this.lo || this.col + 1 > this.hi)) this.zoom(this.col + 0.5 - width / 2, this.col + 0.5 + width / 2);
    this.changed();
  }
}
