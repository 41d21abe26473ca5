// What moves with the pointer or marks a choice, on a canvas of its own above the lanes.

import { duration } from "../../../../web/format";
import type { Lane } from "./layout";
import type { Palette } from "./palette";
import type { Range } from "./scale";
import type { Link } from "./wire";

/** What is marked, in times that are shown. */
export interface Marks {
  view: Range;
  width: number;
  height: number;
  top: number;
  /** By lane, of those that are shown. */
  lanes: ReadonlyMap<number, Lane>;
  palette: Palette;
  /** Where a span is shown. */
  place: (l: Link) => { start: number; end: number };
  selected: Link | null;
  /** What belongs to what is selected: its counterparts in the order of ranks, and what it launched or was launched by. */
  counterparts: readonly Link[];
  flows: readonly (readonly [Link, Link])[];
  /** The last of the counterparts to arrive, for which the others wait. */
  awaited: Link | null;
  range: Range | null;
  /** The rows that the range is of; null: all. */
  rows: ReadonlySet<number> | null;
  /** The collective that is pointed at: its kernels. */
  collective: readonly Link[] | null;
  last: number; // when its last rank came
}

/** Where the pointer is; x below 0: nowhere. */
export interface Pointer {
  x: number;
  y: number;
  /** The span that is pointed at. */
  box: { x0: number; x1: number; lane: Lane } | null;
}

export class Overlay {
  private readonly ctx: CanvasRenderingContext2D;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.ctx = canvas.getContext("2d")!;
  }

  paint(m: Marks, pointer: Pointer): void {
    const { ctx } = this, ratio = window.devicePixelRatio || 1;
    const width = Math.round(m.width * ratio), height = Math.round(m.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    } else {
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      ctx.clearRect(0, 0, width, height);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const mark = m.palette.name("mark"), strong = m.palette.name("strong");
    if (m.range !== null) this.shade(m, m.range, strong);
    if (m.collective !== null) this.collective(m, m.collective);
    this.flows(m, mark);
    this.counterparts(m, strong);
    if (m.selected !== null) this.outline(m, m.selected, mark, 2);
    if (pointer.box !== null) {
      const { x0, x1, lane } = pointer.box;
      ctx.strokeStyle = mark;
      ctx.lineWidth = 1;
      const left = Math.max(Math.round(x0), -2) + 0.5, right = Math.min(Math.round(x1), m.width + 2) - 0.5;
      ctx.strokeRect(left, lane.y - m.top + 0.5, Math.max(right - left, 1), lane.height - 1);
    }
    if (pointer.x >= 0) {
      ctx.fillStyle = mark;
      ctx.globalAlpha = 0.35;
      ctx.fillRect(Math.round(pointer.x), 0, 1, m.height);
      ctx.globalAlpha = 1;
    }
  }

  private x(m: Marks, t: number): number {
    return ((t - m.view.t0) / (m.view.t1 - m.view.t0)) * m.width;
  }

  private shade(m: Marks, r: Range, color: string): void {
    const { ctx } = this, x0 = Math.max(this.x(m, r.t0), -1), x1 = Math.min(this.x(m, r.t1), m.width + 1);
    if (x1 <= 0 || x0 >= m.width) return;
    ctx.fillStyle = color;
    ctx.globalAlpha = 0.12;
    if (m.rows === null) ctx.fillRect(x0, 0, x1 - x0, m.height);
    else for (const l of m.lanes.values()) if (m.rows.has(l.row)) ctx.fillRect(x0, l.y - m.top, x1 - x0, l.height + 1);
    ctx.globalAlpha = 0.9;
    ctx.fillRect(Math.round(x0), 0, 1, m.height);
    ctx.fillRect(Math.round(x1) - 1, 0, 1, m.height);
    ctx.globalAlpha = 1;
  }

  /** The box of a span that is shown, in pixels. */
  private box(m: Marks, l: Link): { x0: number; x1: number; y: number; h: number } | null {
    const lane = m.lanes.get(l.lane);
    if (lane === undefined || l.span < 0) return null;
    const { start, end } = m.place(l);
    return { x0: this.x(m, start), x1: this.x(m, end), y: lane.y - m.top, h: lane.height };
  }

  private outline(m: Marks, l: Link, color: string, width: number): void {
    const b = this.box(m, l);
    if (b === null || b.x1 < -4 || b.x0 > m.width + 4) return;
    const { ctx } = this, x0 = Math.max(b.x0, -4), x1 = Math.min(Math.max(b.x1, b.x0 + 2), m.width + 4);
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.strokeRect(x0 - width / 2, b.y - width / 2, x1 - x0 + width, b.h + width);
  }

  /** A line through the beginnings of a span and its counterparts: how far it leans is who is late. */
  private counterparts(m: Marks, color: string): void {
    if (m.selected === null || m.counterparts.length === 0) return;
    const { ctx } = this, points: { x: number; y: number; h: number }[] = [];
    for (const l of [...m.counterparts, m.selected].sort((a, b) => (m.lanes.get(a.lane)?.y ?? 0) - (m.lanes.get(b.lane)?.y ?? 0))) {
      const b = this.box(m, l);
      if (b !== null) points.push({ x: b.x0, y: b.y, h: b.h });
    }
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    points.forEach((p, i) => {
      if (i === 0) ctx.moveTo(p.x, p.y + p.h);
      else {
        ctx.lineTo(p.x, p.y);
        ctx.moveTo(p.x, p.y + p.h);
      }
    });
    ctx.stroke();
    ctx.setLineDash([]);
    for (const l of m.counterparts) this.outline(m, l, color, 1.5);
  }

  /** Arrows from ops to launches, and to what these started; and from the last rank to those that wait for it. */
  private flows(m: Marks, color: string): void {
    for (const [from, to] of m.flows) {
      const a = this.box(m, from), b = this.box(m, to);
      if (a === null || b === null) continue;
      // A launch lies inside its op, below it.
      if (b.x0 >= a.x0 && b.x1 <= a.x1 && a.y !== b.y) this.arrow(b.x0, a.y + a.h, b.x0, b.y, color);
      else this.arrow(a.x1, a.y + a.h / 2, b.x0, b.y + b.h / 2, color);
    }
    if (m.awaited === null || m.selected === null) return;
    const from = this.box(m, m.awaited), wait = m.palette.name("wait");
    if (from === null) return;
    for (const l of [...m.counterparts, m.selected]) {
      const to = l.rank === m.awaited.rank ? null : this.box(m, l);
      if (to !== null) this.arrow(from.x0, to.y < from.y ? from.y : from.y + from.h, from.x0, to.y < from.y ? to.y + to.h : to.y, wait);
    }
  }

  private arrow(x0: number, y0: number, x1: number, y1: number, color: string): void {
    const { ctx } = this, down = x0 === x1, d = y1 > y0 ? -6 : 6;
    const bend = Math.max(Math.min(Math.abs(x1 - x0) / 2, 60), 12);
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = 1.25;
    ctx.globalAlpha = 0.8;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    if (down) ctx.lineTo(x1, y1);
    else ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - (down ? 3.5 : 6), y1 + (down ? d : -3.5));
    ctx.lineTo(x1 + (down ? 3.5 : -6), y1 + (down ? d : 3.5));
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** A collective across the ranks: hatched until the last one came, then the transfer. */
  private collective(m: Marks, parts: readonly Link[]): void {
    const { ctx } = this, wait = m.palette.name("wait"), transfer = m.palette.name("communication");
    const boxes = parts.map((l) => this.box(m, l)).filter((b) => b !== null).sort((a, b) => a.y - b.y);
    if (boxes.length === 0) return;
    const last = this.x(m, m.last);
    ctx.lineWidth = 1;
    for (let i = 0; i + 1 < boxes.length; i++) {
      const a = boxes[i], b = boxes[i + 1];
      ctx.globalAlpha = 0.22;
      ctx.fillStyle = wait;
      ctx.beginPath();
      ctx.moveTo(Math.min(a.x0, last), a.y + a.h);
      ctx.lineTo(last, a.y + a.h);
      ctx.lineTo(last, b.y);
      ctx.lineTo(Math.min(b.x0, last), b.y);
      ctx.fill();
      ctx.fillStyle = transfer;
      ctx.beginPath();
      ctx.moveTo(last, a.y + a.h);
      ctx.lineTo(Math.max(a.x1, last), a.y + a.h);
      ctx.lineTo(Math.max(b.x1, last), b.y);
      ctx.lineTo(last, b.y);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = wait;
    ctx.fillRect(Math.round(last), boxes[0].y, 1, boxes[boxes.length - 1].y + boxes[boxes.length - 1].h - boxes[0].y);
  }
}

/** How much of a view a range is, in words. */
export function lengthOf(r: Range): string {
  return duration(Math.round(r.t1 - r.t0));
}
