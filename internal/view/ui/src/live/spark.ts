// Lines over the last minutes: small ones without axes, many of which are drawn to one scale, and a plot of all together.

import { duration } from "../../../../web/format";
import { colors, type Pen, Plot } from "../../../../web/plot";
import { h } from "../dom";
import type { Line } from "./data";

/** The right edge of what is shown, and how long that is, ms. */
export type Sight = { now: number; span: number };

/** Points of a line in a box, in strokes: a stroke ends where nothing is known. Now is at the right, and top above. */
export function strokes(line: Line, top: number, { now, span }: Sight, width: number, height: number): [number, number][][] {
  const out: [number, number][][] = [];
  let stroke: [number, number][] = [];
  line.values.forEach((v, i) => {
    if (v === null || line.at[i] < now - span) {
      if (stroke.length) out.push(stroke);
      stroke = [];
      return;
    }
    stroke.push([width * (1 - (now - line.at[i]) / span), height * (1 - Math.min(v / (top || 1), 1))]);
  });
  if (stroke.length) out.push(stroke);
  return out;
}

/** Draws a line, and what is below it. */
function trace(ctx: CanvasRenderingContext2D, all: [number, number][][], color: string, x0: number, y0: number, foot: number) {
  ctx.strokeStyle = ctx.fillStyle = color;
  for (const stroke of all) {
    ctx.beginPath();
    for (const [x, y] of stroke) ctx.lineTo(x0 + x, y0 + y);
    if (stroke.length === 1) ctx.lineTo(x0 + stroke[0][0] + 1, y0 + stroke[0][1]);
    ctx.stroke();
    ctx.lineTo(x0 + stroke[stroke.length - 1][0], foot);
    ctx.lineTo(x0 + stroke[0][0], foot);
    ctx.globalAlpha = 0.15;
    ctx.fill();
    ctx.globalAlpha = 1;
  }
}

const height = 26;

export class Spark {
  readonly canvas = h("canvas", { "aria-hidden": "true" });

  constructor(private readonly color: string) {}

  draw(line: Line, top: number, sight: Sight): void {
    const dpr = window.devicePixelRatio || 1, ctx = this.canvas.getContext("2d"), width = this.canvas.clientWidth;
    if (!ctx || width === 0) return;
    this.canvas.width = Math.round(width * dpr);
    this.canvas.height = Math.round(height * dpr);
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    const color = colors();
    ctx.fillStyle = color("line");
    ctx.fillRect(0, height - 1, width, 1);
    ctx.lineWidth = 1.25;
    trace(ctx, strokes(line, top, sight, width, height - 3), color(this.color), 0, 1.5, height);
  }
}

/** All ranks together over time. */
export class Together extends Plot {
  private lines: { line: Line; color: string }[] = [];
  protected sight: Sight = { now: 0, span: 1 };

  constructor(canvas: HTMLCanvasElement, private readonly text: (v: number) => string) {
    super(canvas, 120, { left: 52, bottom: 20 });
  }

  show(lines: { line: Line; color: string }[], sight: Sight): void {
    this.lines = lines;
    this.sight = sight;
    this.draw();
  }

  override paint(pen: Pen): void {
    const { ctx, area, color } = pen, { now, span } = this.sight;
    const top = Math.max(...this.lines.flatMap((l) => l.line.values.map((v, i) => (l.line.at[i] >= now - span ? (v ?? 0) : 0))), 0) * 1.08 || 1;
    this.yAxis(pen, top, this.text);
    ctx.fillStyle = color("soft");
    ctx.textBaseline = "top";
    for (const [share, align] of [[0, "left"], [0.5, "center"], [1, "right"]] as [number, CanvasTextAlign][]) {
      ctx.textAlign = align;
      ctx.fillText(share === 1 ? "now" : "−" + duration(Math.round((span * (1 - share)) / 1000) * 1e9).replace(/\.0+ /, " "), area.x + area.w * share, area.y + area.h + 5);
    }
    ctx.lineWidth = 1.5;
    for (const l of this.lines) trace(ctx, strokes(l.line, top, this.sight, area.w, area.h), color(l.color), area.x, area.y, area.y + area.h);
  }
}
