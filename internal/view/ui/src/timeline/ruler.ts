// Above the lanes: time, steps, where they would end, and the collectives of all ranks as ribbons.

import { duration } from "../../../../web/format";
import { kindColor } from "../../../../web/steps";
import { change, type Ghost, inSight } from "./ghosts";
import { ink, type Palette } from "./palette";
import { type Range, ticksOf } from "./scale";
import type { Head, Ribbon, Step } from "./wire";

export const TICKS = 18, GHOSTS = 18, RIBBONS = 24;

/** How many lanes of steps there is room for at most, and up to how many are high enough for their texts. */
const mostLanes = 16, tallLanes = 4;

/** The steps of ranks that step together. */
export interface StepLane {
  name: string; // "": of all
  steps: readonly Step[];
}

/** The lanes of steps of the ranks that are shown, and how many replicas have no room; none of a capture without steps. */
export function lanesOf(head: Head, only: readonly number[]): { lanes: StepLane[]; left: number } {
  if (head.steps.length === 0) return { lanes: [], left: 0 };
  if (head.replicas.length === 0) return { lanes: [{ name: "", steps: head.steps }], left: 0 };
  const asked = new Set(only), shown = head.replicas.filter((r) => only.length === 0 || r.ranks.some((k) => asked.has(k)));
  return { lanes: shown.slice(0, mostLanes), left: Math.max(shown.length - mostLanes, 0) };
}

/** How high one of some lanes is, in CSS pixels. */
export function laneHeight(lanes: number): number {
  return lanes > tallLanes ? 10 : 18;
}

/** A moment for people, with as many digits as ticks of a distance need. */
export function momentText(ns: number, step: number): string {
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const [size, name] = units.find(([s]) => Math.abs(ns) >= s && step >= s / 1e6) ?? units.find(([s]) => step >= s) ?? units[3];
  const digits = Math.min(Math.max(-Math.floor(Math.log10(step / size) + 1e-9), 0), 6);
  return (ns / size).toFixed(digits) + " " + name;
}

/** What is drawn. */
export interface Above {
  view: Range;
  width: number;
  palette: Palette;
  lanes: readonly StepLane[];
  /** Steps lie on the wall clock: on another axis they are not shown. */
  wall: boolean;
  ribbons: readonly Ribbon[];
  /** Something is otherwise, and this is where steps would end. */
  otherwise: boolean;
  ghosts: readonly Ghost[];
  picked: number; // the step that the address means, -1
}

/** The steps that have a part in a range, by their places. */
export function stepsIn(steps: readonly Step[], r: Range): [from: number, end: number] {
  let from = 0;
  while (from < steps.length && (steps[from].end_ns === 0 || steps[from].end_ns <= r.t0)) from++;
  let end = from;
  while (end < steps.length && (steps[end].end_ns === 0 || steps[end].start_ns < r.t1)) end++;
  return [from, end];
}

export class Ruler {
  private readonly ctx: CanvasRenderingContext2D;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.ctx = canvas.getContext("2d", { alpha: false })!;
  }

  static height(a: { wall: boolean; otherwise: boolean; lanes: readonly StepLane[] }, ribbons: boolean): number {
    return a.wall ? Ruler.below(a) + (ribbons ? RIBBONS : 0) : TICKS;
  }

  /** How high all lanes of steps are. */
  private static steps(a: { lanes: readonly StepLane[] }): number {
    return a.lanes.length * laneHeight(a.lanes.length);
  }

  /** Where ribbons begin. */
  private static below(a: { otherwise: boolean; lanes: readonly StepLane[] }): number {
    return TICKS + Ruler.steps(a) + (a.otherwise ? GHOSTS : 0);
  }

  paint(a: Above, height: number): void {
    const { ctx } = this, ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(a.width * ratio);
    this.canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = a.palette.name("bg");
    ctx.fillRect(0, 0, a.width, height);
    ctx.font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    ctx.textBaseline = "middle";
    this.ticks(a);
    if (!a.wall) return;
    const each = laneHeight(a.lanes.length);
    a.lanes.forEach((l, i) => this.lane(a, l.steps, TICKS + i * each, each));
    if (a.otherwise) this.ghosts(a);
    if (height > Ruler.below(a)) this.ribbons(a);
  }

  private x(a: Above, t: number): number {
    return ((t - a.view.t0) / (a.view.t1 - a.view.t0)) * a.width;
  }

  private ticks(a: Above): void {
    const { ctx } = this, { step, first } = ticksOf(a.view, a.width, 110);
    ctx.textAlign = "left";
    for (let i = 0; i < 100; i++) {
      const t = first + i * step, x = Math.round(this.x(a, t));
      if (x > a.width) break;
      ctx.fillStyle = a.palette.name("line");
      ctx.fillRect(x, 4, 1, TICKS - 4);
      ctx.fillStyle = a.palette.name("soft");
      const text = momentText(t, step);
      if (x + 4 + text.length * 6.5 < a.width) ctx.fillText(text, x + 4, TICKS / 2 + 1);
    }
  }

  private lane(a: Above, steps: readonly Step[], top: number, height: number): void {
    const { ctx } = this, [from, end] = stepsIn(steps, a.view);
    ctx.textAlign = "left";
    // Of many steps those that a pixel has room for.
    const every = Math.max(Math.ceil((end - from) / (a.width / 2)), 1);
    for (let n = from; n < end; n += every) {
      const s = steps[n];
      if (s.end_ns === 0) continue;
      const next = steps[n + 1], until = next !== undefined && next.end_ns !== 0 ? Math.min(s.end_ns, next.start_ns) : s.end_ns;
      const x0 = Math.max(Math.round(this.x(a, s.start_ns)), -2), x1 = Math.min(Math.round(this.x(a, until)), a.width + 2);
      const w = Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 1), color = a.palette.name(s.slow ? "high" : kindColor(s.kind));
      ctx.fillStyle = color;
      ctx.globalAlpha = n === a.picked ? 1 : 0.3;
      ctx.fillRect(x0, top, w, height - 2);
      ctx.globalAlpha = 1;
      ctx.fillRect(x0, top + height - 4, w, 2);
      const name = String(n), text = w > 30 + 6.5 * (s.kind.length + 6) ? `step ${name} · ${s.kind}${s.slow ? " · slow" : ""}` : name;
      if (w < text.length * 6.5 + 6 || height < 18) continue;
      ctx.fillStyle = n === a.picked ? ink(hex(color)) : a.palette.name("text");
      ctx.fillText(text, Math.max(x0, 0) + 4, top + height / 2 - 1);
    }
  }

  /** A step as it would be, from where the one before it ended, and a line on to where it did end. */
  private ghosts(a: Above): void {
    const { ctx } = this, sight = inSight(a.ghosts, a.view), y = TICKS + Ruler.steps(a);
    ctx.textAlign = "left";
    const every = Math.max(Math.ceil(sight.length / (a.width / 2)), 1);
    for (let n = 0; n < sight.length; n += every) {
      const g = sight[n], x0 = Math.max(Math.round(this.x(a, g.from)), -2), x1 = Math.min(Math.round(this.x(a, g.would)), a.width + 2), end = Math.min(Math.round(this.x(a, g.end)), a.width + 2);
      const w = Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 1);
      ctx.fillStyle = a.palette.name("share");
      ctx.globalAlpha = 0.3;
      ctx.fillRect(x0, y, w, GHOSTS - 2);
      ctx.globalAlpha = 1;
      ctx.fillRect(x0, y + GHOSTS - 4, w, 2);
      ctx.fillRect(x1 - 1, y, 2, GHOSTS - 2);
      ctx.fillRect(Math.min(x1, end), y + GHOSTS / 2 - 1, Math.abs(end - x1), 1);
      const text = change(g.end - g.from, g.would - g.from);
      if (w < text.length * 6.5 + 6) continue;
      ctx.fillStyle = a.palette.name("text");
      ctx.fillText(text, Math.max(x0, 0) + 4, y + GHOSTS / 2 - 1);
    }
  }

  /** The ghost at a point, null for none. */
  static ghostAt(a: Above, x: number, y: number): Ghost | null {
    if (!a.wall || !a.otherwise || y < TICKS + Ruler.steps(a) || y >= Ruler.below(a)) return null;
    const t = a.view.t0 + (x / a.width) * (a.view.t1 - a.view.t0);
    return a.ghosts.find((g) => g.from <= t && t < Math.max(g.end, g.would)) ?? null;
  }

  /** A ribbon is as thick as ranks wait at the time, and thin while data are transferred. */
  private ribbons(a: Above): void {
    const { ctx } = this, top = Ruler.below(a) + 2, full = RIBBONS - 6;
    for (const r of a.ribbons) {
      const x0 = this.x(a, r.first_ns), x1 = this.x(a, r.last_ns), x2 = this.x(a, r.end_ns);
      if (x2 < 0 || x0 > a.width) continue;
      ctx.fillStyle = a.palette.name("communication");
      ctx.fillRect(x1, top + full - 4, Math.max(x2 - x1, 1), 4);
      if (x1 - x0 < 0.75) continue;
      ctx.fillStyle = a.palette.name("wait");
      const n = r.arrivals_ns.length;
      for (let i = 0; i + 1 < n; i++) {
        const from = this.x(a, r.arrivals_ns[i]), to = this.x(a, r.arrivals_ns[i + 1]);
        const share = (i + 1) / n, h = Math.max(share * full, 2);
        if (to > from) ctx.fillRect(from, top + full - h, Math.max(to - from, 0.5), h);
      }
      ctx.fillRect(Math.round(x1) - 1, top, 1.5, full);
    }
  }

  /** The ribbon at a point, the one that waits longest of several. */
  static ribbonAt(a: Above, x: number, y: number): Ribbon | null {
    if (!a.wall || y < Ruler.below(a)) return null;
    const t = a.view.t0 + (x / a.width) * (a.view.t1 - a.view.t0), room = (a.view.t1 - a.view.t0) / a.width * 3;
    let best: Ribbon | null = null;
    for (const r of a.ribbons) {
      if (t >= r.first_ns - room && t <= r.end_ns + room && (best === null || r.wait_ns > best.wait_ns)) best = r;
    }
    return best;
  }

  /** The step at a point, and whose it is. */
  static stepAt(a: Above, x: number, y: number): { lane: StepLane; step: number } | null {
    const lane = a.wall ? a.lanes[Math.floor((y - TICKS) / laneHeight(a.lanes.length))] : undefined;
    if (lane === undefined) return null;
    const step = stepAtTime(lane.steps, a.view.t0 + (x / a.width) * (a.view.t1 - a.view.t0));
    return step < 0 ? null : { lane, step };
  }
}

/** The last step that has begun at a moment, -1 for none. */
export function stepAtTime(steps: readonly Step[], t: number): number {
  let at = -1;
  steps.forEach((s, n) => {
    if (s.end_ns !== 0 && s.start_ns <= t && t < s.end_ns) at = n;
  });
  return at;
}

/** What a ribbon says. */
export function ribbonTip(r: Ribbon, rank: string): { title: string; rows: [string, string][] } {
  return {
    title: r.op + (r.step >= 0 ? `, step ${r.step}` : ""),
    rows: [
      ["last to arrive", rank], ["first waits for it", duration(r.last_ns - r.first_ns)], ["waited, all ranks", duration(r.wait_ns)],
      ["then until all have left", duration(r.end_ns - r.last_ns)], ["ranks", String(r.ranks)],
    ],
  };
}

function hex(color: string): number[] {
  return [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
}
