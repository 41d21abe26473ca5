// The whole capture in a strip, and where in it the view is.

import { rowsOf } from "./layout";
import type { Palette } from "./palette";
import { levelOf, type Range, tilesOf } from "./scale";
import type { Need, Tiles } from "./tiles";
import { COLUMNS, type Head, type Tile } from "./wire";

/** Ranks that have a line in it: more are too thin to be seen. */
const MOST = 16;
export const MINIMAP = 40;

export class Minimap {
  private readonly ctx: CanvasRenderingContext2D;
  private readonly ground = document.createElement("canvas");
  private drawn = "";
  private readonly lanes: number[] = [];

  constructor(readonly canvas: HTMLCanvasElement, private readonly tiles: Tiles, head: Head) {
    this.ctx = canvas.getContext("2d", { alpha: false })!;
    // Of each rank what it computes, else what it has.
    const of = rowsOf(head).map((rows) => rows.map((i) => head.rows[i])).map((rows) => rows.find((r) => r.role === "compute") ?? rows[0]);
    const every = Math.max(Math.ceil(of.length / MOST), 1);
    of.forEach((row, i) => {
      if (row !== undefined && i % every === 0) this.lanes.push(row.lane);
    });
  }

  needs(all: Range, width: number): { level: number; needs: Need[] } {
    const level = levelOf(all, width), [from, to] = tilesOf(all, level);
    return { level, needs: this.lanes.map((lane) => ({ lane, from, to })) };
  }

  /** Draws it; the ground again only if more tiles are there, or colours or the width have changed. */
  paint(all: Range, view: Range, width: number, palette: Palette): void {
    const { ctx, canvas } = this, ratio = window.devicePixelRatio || 1;
    const { level, needs } = this.needs(all, width), get = this.tiles.of(level, false);
    const there = needs.flatMap((n) => Array.from({ length: n.to - n.from + 1 }, (_, i) => get(n.lane, n.from + i))).filter((t) => t !== undefined).length;
    const what = `${there} ${width} ${ratio} ${palette.name("bg")} ${all.t0}`;
    if (what !== this.drawn) {
      this.drawn = what;
      canvas.width = this.ground.width = Math.round(width * ratio);
      canvas.height = this.ground.height = Math.round(MINIMAP * ratio);
      this.strips(all, palette, level, needs, get);
    }
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.drawImage(this.ground, 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x0 = ((view.t0 - all.t0) / (all.t1 - all.t0)) * width, x1 = ((view.t1 - all.t0) / (all.t1 - all.t0)) * width;
    ctx.fillStyle = palette.name("bg");
    ctx.globalAlpha = 0.6;
    ctx.fillRect(0, 0, Math.max(x0, 0), MINIMAP);
    ctx.fillRect(Math.min(x1, width), 0, width, MINIMAP);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.name("strong");
    ctx.lineWidth = 1.5;
    ctx.strokeRect(Math.max(x0, 0) + 0.75, 0.75, Math.max(Math.min(x1, width) - Math.max(x0, 0) - 1.5, 2), MINIMAP - 1.5);
  }

  private strips(all: Range, palette: Palette, level: number, needs: Need[], get: (lane: number, index: number) => Tile | undefined): void {
    const ctx = this.ground.getContext("2d", { alpha: false })!, w = this.ground.width, h = this.ground.height;
    const image = ctx.createImageData(w, h), pixels = new Uint32Array(image.data.buffer);
    const bg = Uint8Array.from([1, 3, 5].map((i) => parseInt(palette.name("panel").slice(i, i + 2), 16)));
    const row = h / Math.max(needs.length, 1), perPixel = (all.t1 - all.t0) / w, column = 2 ** level;
    for (let i = 0; i < needs.length; i++) {
      for (let x = 0; x < w; x++) {
        const c = Math.floor((all.t0 + (x + 0.5) * perPixel) / column), index = Math.floor(c / COLUMNS);
        const strip = get(needs[i].lane, index)?.strip ?? null, at = c - index * COLUMNS;
        let [r, g, b] = bg;
        if (strip !== null && strip.class[at] !== 0) {
          const share = (30 + strip.covered[at] * (225 / 255)) / 255, waited = Math.min(strip.waited[at] / Math.max(strip.covered[at], 1), 1);
          const [sr, sg, sb] = palette.strip[strip.class[at]], [wr, wg, wb] = palette.wait;
          r += (sr + (wr - sr) * waited - r) * share;
          g += (sg + (wg - sg) * waited - g) * share;
          b += (sb + (wb - sb) * waited - b) * share;
        }
        const color = (255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
        const from = Math.round(i * row), to = Math.max(Math.round((i + 1) * row) - (row >= 4 ? 1 : 0), from + 1);
        for (let y = from; y < to; y++) pixels[y * w + x] = color;
      }
      if (row >= 4) { // a line between ranks
        const y = Math.min(Math.round((i + 1) * row) - 1, h - 1), line = (255 << 24) | (bg[2] << 16) | (bg[1] << 8) | bg[0];
        for (let x = 0; x < w; x++) pixels[y * w + x] = line;
      }
    }
    ctx.putImageData(image, 0, 0);
  }
}
