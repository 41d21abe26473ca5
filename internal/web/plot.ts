// The base of all plots: a canvas with sharp pixels, colours from the style sheet and a tooltip; and a view over steps
// shared by plots, so that zooming or pointing in one of them affects all.

import { ticks } from "./format";

/** Where a plot draws, in CSS pixels of its canvas. */
export type Area = { x: number; y: number; w: number; h: number };

/** What a tip says. */
export type Tip = { title: string; rows: [string, string][] };

/** What plots draw with; colours go by the names of the style sheet's variables. */
export type Pen = { ctx: CanvasRenderingContext2D; area: Area; color: (name: string) => string };

/** Whether the page is dark. */
export function dark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

/** The colours of the style sheet by name, as they are now: #rrggbb. */
export function colors(): (name: string) => string {
  const style = getComputedStyle(document.documentElement), at = dark() ? 2 : 1;
  return (name) => /light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(style.getPropertyValue("--" + name))?.[at] ?? "#888888";
}

/** All plots, to draw again when the theme changes. */
export const plots: Plot[] = [];

/** Draws a page, and again when its colours change. Paper is white, and has all that can be opened. */
export function present(redraw: () => void): void {
  const root = document.documentElement;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    root.dataset.print = "1"; // as wide as paper, so that plots fit it
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

export class Plot {
  readonly canvas: HTMLCanvasElement;
  protected readonly left: number;
  private readonly bottom: number;
  /** The width that it was drawn for. */
  private width = 0;
  /** What was painted, without what is pointed at. */
  private ground: HTMLCanvasElement | null = null;
  private readonly sizes: ResizeObserver;

  /** A plot on a canvas, or on that of an id, of a height in CSS pixels, with room for labels. */
  constructor(at: string | HTMLCanvasElement, private readonly height: number, room: { left?: number; bottom?: number } = {}) {
    this.canvas = typeof at === "string" ? (document.getElementById(at) as HTMLCanvasElement) : at;
    this.left = room.left ?? 58;
    this.bottom = room.bottom ?? 22;
    this.canvas.style.height = height + "px";
    plots.push(this);
    // In the next frame: in print the height follows the width, and changing an observed size is an error.
    this.sizes = new ResizeObserver(() => requestAnimationFrame(() => this.canvas.clientWidth === this.width || this.draw()));
    this.sizes.observe(this.canvas);
  }

  /** Lets it go, with its canvas. */
  drop(): void {
    this.sizes.disconnect();
    plots.splice(plots.indexOf(this), 1);
  }

  area(): Area {
    return { x: this.left, y: 6, w: Math.max(this.canvas.clientWidth - this.left - 8, 10), h: this.height - this.bottom - 6 };
  }

  /** Draws all of it. */
  draw(): void {
    const width = this.canvas.clientWidth, dpr = window.devicePixelRatio || 1;
    if (width === 0) return;
    this.width = width;
    this.canvas.width = Math.round(width * dpr);
    this.canvas.height = Math.round(this.height * dpr);
    const pen = this.pen();
    if (!pen) return;
    this.paint(pen);
    this.ground ??= document.createElement("canvas");
    this.ground.width = this.canvas.width;
    this.ground.height = this.canvas.height;
    this.ground.getContext("2d")?.drawImage(this.canvas, 0, 0);
    this.mark(pen);
    this.canvas.dataset.drawn = "1";
  }

  /** Draws what is pointed at, on what was painted before. */
  again(): void {
    const pen = this.pen();
    if (!pen || !this.ground || this.width !== this.canvas.clientWidth) return this.draw();
    pen.ctx.setTransform(1, 0, 0, 1, 0, 0);
    pen.ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.ctx.drawImage(this.ground, 0, 0);
    this.mark({ ...pen, ctx: this.sharp(pen.ctx) });
  }

  private sharp(ctx: CanvasRenderingContext2D): CanvasRenderingContext2D {
    const dpr = window.devicePixelRatio || 1;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    return ctx;
  }

  private pen(): Pen | null {
    const ctx = this.canvas.getContext("2d");
    if (!ctx) return null;
    this.sharp(ctx).font = "11px system-ui, sans-serif";
    return { ctx, area: this.area(), color: colors() };
  }

  /** Draws what stays. */
  paint(_pen: Pen): void {}

  /** Draws what is pointed at. */
  mark(_pen: Pen): void {}

  /** Horizontal lines with labels for values from 0 to max. */
  yAxis({ ctx, area, color }: Pen, max: number, text: (v: number) => string) {
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    const wanted = Math.max(area.h / 45, 2);
    let all = ticks(max, wanted);
    for (let n = wanted + 1; all.length < 3 && n < wanted + 6; n++) all = ticks(max, n); // one number is no scale
    for (const v of all) {
      const y = area.y + area.h * (1 - v / max);
      ctx.fillStyle = color("line");
      ctx.fillRect(area.x, Math.round(y), area.w, 1);
      ctx.fillStyle = color("soft");
      ctx.fillText(text(v), area.x - 6, y);
    }
  }
}

/** The page's tip, which all plots share. */
function tipBox(): HTMLElement {
  const there = document.getElementById("tip");
  if (there) return there;
  const made = document.createElement("div");
  made.id = "tip";
  made.setAttribute("role", "status");
  return document.body.appendChild(made);
}

/** Shows a tip beside a point of a canvas, inside the window. */
export function showTip(by: HTMLElement, x: number, y: number, tip: Tip): void {
  const at = tipBox();
  const dl = document.createElement("dl");
  for (const [name, value] of tip.rows) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    dl.append(dt, dd);
  }
  const head = document.createElement("strong");
  head.textContent = tip.title;
  at.replaceChildren(head, dl);
  at.hidden = false;
  const box = by.getBoundingClientRect(), size = at.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  let left = box.left + x + 14;
  if (left + size.width > width - 8) left = Math.max(box.left + x - 14 - size.width, 4);
  let top = box.top + y + 14;
  if (top + size.height > window.innerHeight - 4) top = Math.max(box.top + y - 14 - size.height, 4);
  at.style.left = left + window.scrollX + "px";
  at.style.top = top + window.scrollY + "px";
}

export function hideTip(): void {
  tipBox().hidden = true;
}

/** The window on the columns of the grid that all step plots show. */
export class StepView {
  lo = 0;
  hi: number;
  /** The column pointed at, -1: none. */
  col = -1;
  /** The rank pointed at, in plots that have rows for them. */
  row = 0;
  readonly plots: Plot[] = [];
  /** Is told when the window has moved, once its plots are drawn. */
  whenMoved: () => void = () => {};
  private pending = 0;
  private moved = false;

  /** A view over columns, of which at least so many are seen. */
  constructor(readonly cols: number, private readonly least = 4) {
    this.hi = Math.max(cols, 1);
  }

  /** Has its plots drawn again: all of them if the window has moved, else what is pointed at. */
  private changed(moved: boolean): void {
    this.moved ||= moved;
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      const all = this.moved;
      this.pending = 0;
      this.moved = false;
      for (const p of this.plots) all ? p.draw() : p.again();
      if (all) this.whenMoved();
    });
  }

  zoom(lo: number, hi: number) {
    const width = Math.min(Math.max(hi - lo, this.least), this.cols);
    const mid = (lo + hi) / 2;
    this.lo = Math.min(Math.max(mid - width / 2, 0), this.cols - width);
    this.hi = this.lo + width;
    this.changed(true);
  }

  /** Points at a column and scrolls it into the window. */
  point(col: number) {
    this.col = col < 0 ? -1 : Math.min(col, this.cols - 1);
    const width = this.hi - this.lo;
    if (this.col >= 0 && (this.col < this.lo || this.col + 1 > this.hi)) this.zoom(this.col + 0.5 - width / 2, this.col + 0.5 + width / 2);
    this.changed(false);
  }
}

/** One entry of a legend. */
export function legendKey(variable: string, text: string) {
  const el = document.createElement("span"), swatch = document.createElement("i");
  el.className = "key";
  swatch.style.background = `var(${variable})`;
  el.append(swatch, text);
  return el;
}

/** As much of a text as there is room for. */
export function fit(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  let lo = 0, hi = text.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (ctx.measureText(text.slice(0, mid) + "…").width <= width) lo = mid;
    else hi = mid - 1;
  }
  return lo > 1 ? text.slice(0, lo) + "…" : "";
}
