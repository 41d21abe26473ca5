// The flame graph: a canvas with a row a level, and over it another for what is pointed at, so that pointing repaints
// nothing.

import { duration, percent, signed } from "../../../../web/format";
import { mix, rgb } from "../../../../web/heat";
import { colors, fit, hideTip, showTip } from "../../../../web/plot";
import { h } from "../dom";
import { type Box, boxes, changed, type Flame, path, perStep, perStepOther, type Walk, walk } from "./layout";

const row = 19, most = 60; // pixels a level, levels

/** Black or white, whichever can be read on a colour (WCAG's relative luminance). */
export function ink([r, g, b]: number[]): string {
  const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : Math.pow((v / 255 + 0.055) / 1.055, 2.4)));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z > 0.179 ? "#000000" : "#ffffff";
}

export class FlameGraph {
  readonly el = h("div", { class: "flame" });
  private ground = this.el.appendChild(h("canvas", { tabindex: "0", role: "img" }));
  private over = this.el.appendChild(h("canvas", { class: "over", "aria-hidden": "true" }));
  private flame: Flame | null = null;
  private tree: Walk | null = null;
  private drawn: Box[] = [];
  private focus = 0; // the node that takes all of the width
  private at = -1; // what is pointed at, in drawn
  private lit: (name: string) => boolean = () => false;
  private sizes = new ResizeObserver(() => requestAnimationFrame(() => this.draw()));

  /** onpick is called for a node that is chosen: to zoom to it. */
  constructor(private readonly onpick: (node: number) => void) {
    this.sizes.observe(this.el);
    this.ground.addEventListener("pointermove", (e) => this.point(this.hit(e.offsetX, e.offsetY), e.offsetX, e.offsetY));
    this.ground.addEventListener("pointerleave", () => this.point(-1));
    this.ground.addEventListener("blur", () => this.point(-1));
    this.ground.addEventListener("click", (e) => {
      const i = this.hit(e.offsetX, e.offsetY);
      if (i >= 0) this.onpick(this.drawn[i].node);
    });
    this.ground.addEventListener("keydown", (e) => this.key(e.key) && (e.preventDefault(), e.stopPropagation()));
  }

  /** What is drawn, from a node on. */
  set(flame: Flame, focus: number): void {
    this.flame = flame;
    this.tree = walk(flame);
    this.zoom(focus);
  }

  get walk(): Walk | null {
    return this.tree;
  }

  zoom(focus: number): void {
    this.focus = this.flame && focus < this.flame.parent.length ? focus : 0;
    this.at = -1;
    this.draw();
  }

  /** Lights the nodes of some names. */
  light(lit: (name: string) => boolean): void {
    this.lit = lit;
    this.draw();
  }

  drop(): void {
    this.sizes.disconnect();
    hideTip();
  }

  private hit(x: number, y: number): number {
    const w = this.ground.clientWidth, depth = Math.floor(y / row);
    return this.drawn.findIndex((b) => b.depth === depth && x >= b.x * w && x < (b.x + b.w) * w);
  }

  draw(): void {
    const f = this.flame, t = this.tree, w = this.el.clientWidth, dpr = window.devicePixelRatio || 1;
    if (!f || !t || w === 0) return;
    this.drawn = boxes(f, t, this.focus, 0.7 / w).filter((b) => b.depth < most);
    const height = (this.drawn.reduce((d, b) => Math.max(d, b.depth), 0) + 1) * row;
    for (const c of [this.ground, this.over]) {
      c.style.height = height + "px";
      c.width = Math.round(w * dpr);
      c.height = Math.round(height * dpr);
    }
    this.el.style.height = height + "px";
    this.ground.setAttribute("aria-label", `Flame graph of ${f.names[f.name[this.focus]] || "all work"}: arrows move, Enter zooms in, Escape out`);
    const ctx = this.ground.getContext("2d");
    if (!ctx) return;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    const color = colors(), fills = new Map<string, [string, string]>();
    for (const b of this.drawn) {
      const key = this.colorOf(f, b.node);
      let fill = fills.get(key);
      if (!fill) {
        const c = key.startsWith("=") ? this.difference(color, Number(key.slice(1))) : rgb(color(key));
        fills.set(key, (fill = [`rgb(${c.join()})`, ink(c)]));
      }
      const x = b.x * w, width = b.w * w, y = b.depth * row;
      ctx.fillStyle = fill[0];
      ctx.fillRect(x, y, Math.max(width - (width > 4 ? 1 : 0), 0.5), row - 1);
      const name = f.names[f.name[b.node]] || "all";
      if (this.lit(f.full[f.name[b.node]] || name)) {
        ctx.fillStyle = color("mark");
        ctx.fillRect(x, y + row - 4, Math.max(width - 1, 1), 3);
      }
      if (width < 40) continue;
      ctx.fillStyle = fill[1];
      ctx.fillText(fit(ctx, name, width - 8), x + 4, y + row / 2);
    }
    this.mark();
  }

  /** The name of a node's colour; of a difference "=" and its tenth. */
  private colorOf(f: Flame, n: number): string {
    if (f.other.length > 0) return "=" + Math.round(changed(f, n) * 10) / 10;
    if (f.parent[n] < 0) return "idle";
    const own = f.class[f.name[n]] || f.class[f.name[f.parent[n]]]; // of a grid: that of its kernel
    return own ? own.toLowerCase() : depthOf(f, n) % 2 ? "between" : "idle";
  }

  private difference(color: (name: string) => string, c: number): number[] {
    return c >= 0 ? mix([rgb(color("cold")), rgb(color("warm")), rgb(color("high"))], c) : mix([rgb(color("cold")), rgb(color("under"))], -c);
  }

  private point(i: number, x?: number, y?: number): void {
    this.at = i;
    this.mark();
    const b = this.drawn[i], f = this.flame;
    if (!b || !f) return hideTip();
    showTip(this.ground, x ?? b.x * this.ground.clientWidth + 10, y ?? (b.depth + 0.5) * row, { title: f.full[f.name[b.node]] || f.names[f.name[b.node]] || "all work", rows: this.facts(f, b.node) });
  }

  private facts(f: Flame, n: number): [string, string][] {
    const rows: [string, string][] = [["GPU time per step", duration(perStep(f, n))], ["of all", percent(perStep(f, n) / Math.max(perStep(f, 0), 1e-9))],
      ["kernels per step", String(Number((f.count[n] / Math.max(f.steps, 1)).toPrecision(4)))]];
    if (f.other.length > 0) {
      const was = perStepOther(f, n);
      rows.push(["in the other capture", duration(was)], ["difference", signed(perStep(f, n) - was) + (was > 0 ? `, ${perStep(f, n) >= was ? "+" : ""}${percent(perStep(f, n) / was - 1)}` : "")]);
    }
    return rows;
  }

  private mark(): void {
    const ctx = this.over.getContext("2d"), dpr = window.devicePixelRatio || 1, b = this.drawn[this.at];
    if (!ctx) return;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.clearRect(0, 0, this.over.width, this.over.height);
    if (!b) return;
    ctx.strokeStyle = colors()("mark");
    ctx.lineWidth = 2;
    const w = this.ground.clientWidth;
    ctx.strokeRect(b.x * w + 1, b.depth * row + 1, Math.max(b.w * w - 3, 1), row - 3);
  }

  /** Whether a key meant something. */
  private key(key: string): boolean {
    const f = this.flame;
    if (!f || this.drawn.length === 0) return false;
    const now = this.drawn[this.at] ?? null;
    const near = (depth: number, side: number): number => {
      // The box on a level that is next to where one is, or above or below it.
      const at = now ? now.x + now.w / 2 : 0;
      let best = -1, distance = Infinity;
      this.drawn.forEach((b, i) => {
        const mid = b.x + b.w / 2, d = side === 0 ? Math.max(b.x - at, at - (b.x + b.w), 0) : side * (mid - at);
        if (b.depth === depth && b !== now && d >= 0 && d < distance) (best = i), (distance = d);
      });
      return best;
    };
    switch (key) {
      case "ArrowDown": case "ArrowUp": case "ArrowLeft": case "ArrowRight": {
        const depth = now ? now.depth + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0) : 0;
        const to = near(depth, key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0);
        if (to >= 0) this.point(to);
        return true;
      }
      case "Enter":
        if (!now) return false;
        this.onpick(now.node);
        return true;
      case "Escape": {
        const up = path(f, this.focus).at(-2) ?? 0;
        if (this.focus === 0) return false;
        this.onpick(up);
        return true;
      }
    }
    return false;
  }
}

function depthOf(f: Flame, n: number): number {
  let d = 0;
  for (; f.parent[n] >= 0; n = f.parent[n]) d++;
  return d;
}
