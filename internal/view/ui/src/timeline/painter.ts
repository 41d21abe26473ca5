// Draws lanes: strips as bitmaps of one pixel's height, and on them the spans that are wide enough, colour by colour.
// What moves with the pointer is drawn elsewhere (overlay.ts), so that pointing at things repaints nothing here.

import type { Band } from "./ghosts";
import type { Lane } from "./layout";
import { PALE, type Palette, SHADES } from "./palette";
import { levelOf, type Range, tilesOf } from "./scale";
import type { Names, Need, Tiles } from "./tiles";
import { BEGINS_BEFORE, COLUMNS, MATCHED, type Tile, unit } from "./wire";

/** At most so many of each a frame. */
export const MOST_IMAGES = 896, MOST_RECTS = 5000, MOST_LABELS = 600;
/** From how many pixels on a span has its name in it. */
export const LABEL_FROM = 40;
/** And from how high a lane is. */
const LABEL_HEIGHT = 12;

/** What is drawn. */
export interface Scene {
  view: Range;
  width: number;
  height: number;
  /** By how much it is scrolled down. */
  top: number;
  lanes: readonly Lane[];
  /** What is added to the times of each rank. */
  moved: readonly number[];
  stretched: boolean;
  palette: Palette;
  /** Names that a search found; null: nothing is searched. */
  found: ReadonlySet<number> | null;
  /** Where steps begin, where they are to be seen. */
  lines: readonly number[];
  /** Where they would end. */
  bands: readonly Band[];
}

/** What frames took, for tests and measurements. */
export interface Stats {
  paints: number;
  overlays: number;
  drawImage: number;
  fillRect: number;
  fillText: number;
  tiles: number;
  missing: number;
  viewBytes: number;
  mostImages: number;
  mostRects: number;
  script: number[]; // ms of the last frames
}

/** Bitmaps of strips, a row of one canvas each. */
class Atlas {
  private static readonly rows = 1024;
  readonly canvas = document.createElement("canvas");
  private readonly ctx: CanvasRenderingContext2D;
  private readonly image: ImageData;
  private readonly pixels: Uint32Array;
  /** Rows that were drawn, but are not on the canvas yet. */
  private fresh: [from: number, end: number] | null = null;
  private owner: (Tile | null)[] = [];
  private used: number[] = [];
  private rowOf = new Map<Tile, number>();
  private next = 0;

  constructor() {
    this.canvas.width = COLUMNS;
    this.canvas.height = Atlas.rows;
    this.ctx = this.canvas.getContext("2d", { willReadFrequently: true })!;
    this.image = this.ctx.createImageData(COLUMNS, Atlas.rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.clear();
  }

  /** Forgets all: the colours have changed. */
  clear(): void {
    this.owner = new Array<Tile | null>(Atlas.rows).fill(null);
    this.used = new Array<number>(Atlas.rows).fill(-1);
    this.rowOf.clear();
  }

  /** The row of a tile, drawn if it was not there, and on the canvas after the next flush. frame is which frame uses it. */
  row(tile: Tile, palette: Palette, frame: number): number {
    let at = this.rowOf.get(tile) ?? -1;
    if (at < 0) {
      while (this.used[this.next] === frame) this.next = (this.next + 1) % Atlas.rows;
      at = this.next;
      this.next = (this.next + 1) % Atlas.rows;
      const before = this.owner[at];
      if (before !== null) this.rowOf.delete(before);
      this.owner[at] = tile;
      this.rowOf.set(tile, at);
      this.draw(tile, at, palette);
    }
    this.used[at] = frame;
    return at;
  }

  /** Puts what was drawn on the canvas, all at once: each time costs a ms. */
  flush(): void {
    if (this.fresh === null) return;
    const [from, end] = this.fresh;
    this.fresh = null;
    this.ctx.putImageData(this.image, 0, 0, 0, from, COLUMNS, end - from);
  }

  private draw(tile: Tile, row: number, palette: Palette): void {
    const { strip } = tile, pixels = this.pixels.subarray(row * COLUMNS, (row + 1) * COLUMNS);
    if (strip === null) return;
    this.fresh = this.fresh === null ? [row, row + 1] : [Math.min(this.fresh[0], row), Math.max(this.fresh[1], row + 1)];
    const [wr, wg, wb] = palette.wait;
    for (let c = 0; c < COLUMNS; c++) {
      const covered = strip.covered[c], of = strip.class[c];
      if (of === 0) {
        pixels[c] = 0;
        continue;
      }
      // What is there at all is seen: a thousandth of a column has a tenth of the colour.
      const alpha = 28 + Math.round(covered * (227 / 255)), waited = strip.waited[c] === 0 ? 0 : Math.min(strip.waited[c] / Math.max(covered, 1), 1);
      const [r, g, b] = palette.strip[of] ?? palette.strip[9];
      pixels[c] = (alpha << 24) | (Math.round(b + (wb - b) * waited) << 16) | (Math.round(g + (wg - g) * waited) << 8) | Math.round(r + (wr - r) * waited);
    }
  }
}

/** Spans that are drawn one by one, as columns; those of a lane lie together, from left to right. */
class Pieces {
  static readonly most = 1 << 16;
  readonly x0 = new Float32Array(Pieces.most);
  readonly x1 = new Float32Array(Pieces.most);
  /** Where waiting ends, in pixels; x0: there is none. */
  readonly wait = new Float32Array(Pieces.most);
  readonly lane = new Uint16Array(Pieces.most);
  readonly color = new Uint8Array(Pieces.most);
  readonly class = new Uint8Array(Pieces.most);
  readonly span = new Uint32Array(Pieces.most);
  readonly name = new Uint32Array(Pieces.most);
  n = 0;
}

/** A hit of the pointer. */
export interface Hit {
  lane: Lane;
  span: number;
  name: number;
  class: number;
  x0: number;
  x1: number;
}

export class Painter {
  readonly stats: Stats = {
    paints: 0, overlays: 0, drawImage: 0, fillRect: 0, fillText: 0, tiles: 0, missing: 0, viewBytes: 0, mostImages: 0, mostRects: 0, script: [],
  };
  private readonly ctx: CanvasRenderingContext2D;
  private readonly atlas = new Atlas();
  private readonly pieces = new Pieces();
  /** Where the pieces of the scene's lanes begin. */
  private first: number[] = [];
  private scene: Scene | null = null;
  private frame = 0;
  private readonly widths = new Map<string, number>();
  private hatch: CanvasPattern | null = null;
  private hatched: Palette | null = null;

  constructor(readonly canvas: HTMLCanvasElement, private readonly tiles: Tiles, private readonly names: Names) {
    this.ctx = canvas.getContext("2d", { alpha: false })!;
  }

  /** The colours have changed. */
  restyle(): void {
    this.atlas.clear();
  }

  /** The tiles that a scene wants. */
  static needs(s: Scene): { level: number; needs: Need[] } {
    const level = levelOf(s.view, s.width);
    return {
      level,
      needs: s.lanes.map((l) => {
        const by = s.moved[l.rank] ?? 0, [from, to] = tilesOf({ t0: s.view.t0 - by, t1: s.view.t1 - by }, level);
        return { lane: l.lane, from, to };
      }),
    };
  }

  /** Draws a scene with the tiles that there are: coarser ones for those that are missing. */
  paint(s: Scene): void {
    const { ctx, stats } = this, ratio = window.devicePixelRatio || 1;
    const width = Math.round(s.width * ratio), height = Math.round(s.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.scene = s;
    this.frame++;
    stats.paints++;
    stats.drawImage = stats.fillRect = stats.fillText = stats.tiles = stats.missing = stats.viewBytes = 0;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.imageSmoothingEnabled = false;
    this.ground(s);
    this.strips(s);
    this.spans(s);
    this.bands(s);
    stats.mostImages = Math.max(stats.mostImages, stats.drawImage);
    stats.mostRects = Math.max(stats.mostRects, stats.fillRect);
  }

  private rect(x: number, y: number, w: number, h: number): void {
    this.stats.fillRect++;
    this.ctx.fillRect(x, y, w, h);
  }

  private ground(s: Scene): void {
    const { ctx } = this, { name } = s.palette;
    ctx.fillStyle = name("bg");
    this.rect(0, 0, s.width, s.height);
    ctx.fillStyle = name("panel");
    for (const l of s.lanes) this.rect(0, l.y - s.top, s.width, l.height);
    if (s.lines.length === 0) return;
    ctx.fillStyle = name("line");
    const perNs = s.width / (s.view.t1 - s.view.t0);
    for (const at of s.lines) this.rect(Math.round((at - s.view.t0) * perNs), 0, 1, s.height);
  }

  /** A line where a step would end, and a veil from there to where it did. */
  private bands(s: Scene): void {
    if (s.bands.length === 0) return;
    const { ctx } = this, perNs = s.width / (s.view.t1 - s.view.t0);
    ctx.fillStyle = s.palette.name("share");
    for (const b of s.bands) {
      const would = Math.round((b.would - s.view.t0) * perNs), end = Math.round((b.end - s.view.t0) * perNs), y = b.top - s.top, h = b.bottom - b.top;
      ctx.globalAlpha = 0.3;
      this.rect(Math.min(would, end), y, Math.abs(end - would), h);
      ctx.globalAlpha = 1;
      this.rect(would - 1, y, 2, h);
    }
  }

  private strips(s: Scene): void {
    const { ctx, stats, pieces } = this, { level, needs } = Painter.needs(s);
    const perNs = s.width / (s.view.t1 - s.view.t0), length = COLUMNS * 2 ** level;
    const get = this.tiles.of(level, s.stretched);
    const coarser = this.tiles.levelsOf(s.stretched).filter((l) => l > level).sort((a, b) => a - b).map((l) => ({ level: l, get: this.tiles.of(l, s.stretched) }));
    pieces.n = 0;
    this.first.length = 0;
    // First all bitmaps, then all pictures of them: a canvas that changes between two pictures of it is copied each time.
    const images: { row: number; from: number; columns: number; x: number; w: number; y: number; h: number }[] = [];
    for (let i = 0; i < needs.length; i++) {
      const { lane, from, to } = needs[i], place = s.lanes[i], by = s.moved[place.rank] ?? 0;
      this.first.push(pieces.n);
      let stood: Tile | null = null; // in for others
      for (let index = from; index <= to && images.length < MOST_IMAGES; index++) {
        const x = (index * length + by - s.view.t0) * perNs, w = length * perNs, y = place.y - s.top, h = place.height;
        let tile = get(lane, index), at = 0, columns = COLUMNS as number;
        if (tile === undefined) { // the part of a coarser one that there is
          stats.missing++;
          for (const c of coarser) {
            const times = 2 ** (c.level - level), parent = Math.floor(index / times);
            tile = c.get(lane, parent);
            if (tile === undefined) continue;
            columns = COLUMNS / times;
            at = (index - parent * times) * columns;
            if (tile !== stood) this.gather(tile, i, (parent * length * times + by - s.view.t0) * perNs, perNs * unit(c.level), perNs * 2 ** c.level, c.level, s);
            stood = tile;
            break;
          }
        } else {
          stats.tiles++;
          stats.viewBytes += tile.bytes;
          this.gather(tile, i, x, perNs * unit(level), perNs * 2 ** level, level, s);
        }
        // In place of a finer one the strip of a tile that has all as pieces is left out: these are exact, its columns are not.
        if (tile !== undefined && tile.strip !== null && !(tile === stood && tile.whole)) images.push({ row: this.atlas.row(tile, s.palette, this.frame), from: at, columns, x, w, y, h });
      }
    }
    this.first.push(pieces.n);
    this.atlas.flush();
    ctx.globalAlpha = s.found === null ? 1 : 0.35;
    for (const i of images) ctx.drawImage(this.atlas.canvas, i.from, i.row, i.columns, 1, i.x, i.y, i.w, i.h);
    stats.drawImage = images.length;
    ctx.globalAlpha = 1;
  }

  /** Takes the pieces of a tile that lies at x. What goes on from the tile before is one piece with it. */
  private gather(tile: Tile, lane: number, x: number, perUnit: number, perColumn: number, level: number, s: Scene): void {
    const p = this.pieces, columns = unit(level) / 2 ** level;
    for (let k = 0; k < tile.pieces && p.n < Pieces.most; k++) {
      const x0 = x + tile.start[k] * perUnit, x1 = x0 + tile.width[k] * perUnit;
      let wait = x0;
      if ((tile.flags[k] & MATCHED) !== 0 && tile.strip !== null) {
        const from = Math.floor(tile.start[k] * columns), to = Math.min(Math.ceil((tile.start[k] + tile.width[k]) * columns), COLUMNS);
        // The first column may be shared with the span before.
        let c = from + Number(from < to && tile.strip.waited[from] > 0);
        while (c > from && c < to && tile.strip.waited[c] >= 128) c++;
        if (c > from) wait = Math.min(x + c * perColumn, x1);
      }
      const before = p.n - 1;
      if ((tile.flags[k] & BEGINS_BEFORE) !== 0 && before >= this.first[lane] && p.span[before] === tile.span[k]) {
        if (wait > x0) p.wait[before] = wait;
        p.x1[before] = x1;
        continue;
      }
      const name = tile.name[k], of = tile.class[k];
      p.x0[p.n] = x0;
      p.x1[p.n] = x1;
      p.wait[p.n] = wait;
      p.lane[p.n] = lane;
      p.class[p.n] = of;
      p.color[p.n] = of * SHADES + (s.found !== null && !s.found.has(name) ? PALE : (name * 7) % 3);
      p.span[p.n] = tile.span[k];
      p.name[p.n] = name;
      p.n++;
    }
  }

  /** How wide pieces are at least for no more than most to be drawn. */
  private threshold(most: number, least: number): number {
    const p = this.pieces, { width } = this.scene!;
    if (p.n <= most) return least;
    const bins = new Uint32Array(256);
    let count = 0;
    for (let i = 0; i < p.n; i++) {
      if (p.x1[i] <= 0 || p.x0[i] >= width) continue;
      bins[Math.min(Math.floor(p.x1[i] - p.x0[i]), 255)]++;
    }
    for (let w = 255; w >= 0; w--) {
      count += bins[w];
      if (count > most) return Math.max(w + 1, least);
    }
    return least;
  }

  private spans(s: Scene): void {
    const { ctx, pieces: p } = this;
    const most = MOST_RECTS - 2 * s.bands.length, left = most - this.stats.fillRect;
    // Half of the rest for waiting, if all are collectives.
    const least = this.threshold(Math.floor(left * 0.8), 0);
    const order: number[][] = [];
    const waits: number[] = [];
    for (let i = 0; i < p.n; i++) {
      if (p.x1[i] - p.x0[i] < least || p.x1[i] <= 0 || p.x0[i] >= s.width) continue;
      (order[p.color[i]] ??= []).push(i);
      if (p.wait[i] > p.x0[i]) waits.push(i);
    }
    order.forEach((list, color) => {
      ctx.fillStyle = s.palette.fill[color];
      for (const i of list) {
        const l = s.lanes[p.lane[i]], x0 = Math.max(Math.round(p.x0[i]), -2), x1 = Math.min(Math.round(p.x1[i]), s.width + 2);
        // A pixel of the strip stays between neighbours.
        this.rect(x0, l.y - s.top, Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 1), l.height);
      }
    });
    if (waits.length > 0) {
      ctx.fillStyle = this.hatching(s.palette);
      for (const i of waits.slice(0, Math.max(most - this.stats.fillRect, 0))) {
        const l = s.lanes[p.lane[i]], x0 = Math.max(Math.round(p.x0[i]), -2), x1 = Math.min(Math.round(p.wait[i]), s.width + 2);
        if (s.found === null || s.found.has(p.name[i])) this.rect(x0, l.y - s.top, Math.max(x1 - x0, 1), l.height);
      }
    }
    this.labels(s, least);
  }

  private labels(s: Scene, least: number): void {
    const { ctx, pieces: p } = this;
    const from = Math.max(this.threshold(MOST_LABELS, LABEL_FROM), LABEL_FROM, least);
    ctx.font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    let style = "";
    for (let i = 0; i < p.n; i++) {
      if (s.lanes[p.lane[i]].height < LABEL_HEIGHT || p.x1[i] - p.x0[i] < from || this.stats.fillText >= MOST_LABELS) continue;
      // In the larger part of a collective: waiting or transfer.
      let x0 = p.x0[i], x1 = p.x1[i], color = s.palette.text[p.color[i]];
      if (p.wait[i] > x0) {
        if (p.wait[i] - Math.max(x0, 0) > Math.min(x1, s.width) - p.wait[i]) {
          x1 = p.wait[i];
          color = s.palette.waitText;
        } else x0 = p.wait[i];
      }
      x0 = Math.max(x0, 0);
      x1 = Math.min(x1, s.width);
      const room = x1 - x0 - 7;
      if (room < LABEL_FROM - 10) continue;
      const text = this.fit(this.names.get(p.name[i]), room);
      if (text === "") continue;
      if (color !== style) ctx.fillStyle = style = color;
      const l = s.lanes[p.lane[i]];
      this.stats.fillText++;
      ctx.fillText(text, x0 + 4, l.y - s.top + l.height / 2 + 0.5);
    }
  }

  /** As much of a text as there is room for. */
  private fit(text: string, room: number): string {
    if (text === "") return "";
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      width = this.ctx.measureText(text).width;
      this.widths.set(text, width);
    }
    if (width <= room) return text;
    const n = Math.floor((text.length * (room - 9)) / width);
    return n < 2 ? "" : text.slice(0, n) + "…";
  }

  /** The pattern of waiting. */
  private hatching(palette: Palette): CanvasPattern | string {
    if (this.hatched !== palette) {
      const tile = document.createElement("canvas"), ctx = tile.getContext("2d")!;
      tile.width = tile.height = 6;
      ctx.fillStyle = palette.waitFill[0];
      ctx.fillRect(0, 0, 6, 6);
      ctx.strokeStyle = palette.waitFill[1];
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const x of [-6, 0, 6]) {
        ctx.moveTo(x, 6);
        ctx.lineTo(x + 6, 0);
      }
      ctx.stroke();
      this.hatch = this.ctx.createPattern(tile, "repeat");
      this.hatched = palette;
    }
    return this.hatch ?? palette.waitFill[0];
  }

  /** What is under a point, of what was drawn last: a span; or a lane without one that is wide enough to be drawn. */
  hit(x: number, y: number): Hit | Lane | null {
    const s = this.scene;
    if (s === null) return null;
    for (let i = 0; i < s.lanes.length; i++) {
      const l = s.lanes[i];
      if (y < l.y - s.top || y >= l.y - s.top + l.height + 1) continue;
      const p = this.pieces;
      let lo = this.first[i], hi = this.first[i + 1];
      while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (p.x1[mid] <= x) lo = mid + 1;
        else hi = mid;
      }
      if (lo < this.first[i + 1] && p.x0[lo] <= x) return { lane: l, span: p.span[lo], name: p.name[lo], class: p.class[lo], x0: p.x0[lo], x1: p.x1[lo] };
      return l;
    }
    return null;
  }

  /** The class that a strip shows at a point, 0 for none. */
  classAt(lane: Lane, x: number): { class: number; covered: number } {
    const s = this.scene!, level = levelOf(s.view, s.width);
    const t = s.view.t0 + (x / s.width) * (s.view.t1 - s.view.t0) - (s.moved[lane.rank] ?? 0), length = COLUMNS * 2 ** level;
    const tile = this.tiles.of(level, s.stretched)(lane.lane, Math.floor(t / length));
    if (tile?.strip == null) return { class: 0, covered: 0 };
    const c = Math.floor((t - tile.index * length) / 2 ** level);
    return { class: tile.strip.class[c], covered: tile.strip.covered[c] / 255 };
  }
}
