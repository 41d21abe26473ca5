// What the timeline asks for. An exported page has levels of tiles, and the spans that these draw; what else it
// would have to ask a server is said to be missing.

import { busy, bytes, Failed, json } from "../api";
import type { Changes } from "../state";
import type { State } from "./address";
import type { Answer as Counters } from "./counters";
import { lanesOf } from "./columns";
import { layout, shownText } from "./layout";
import type { Range } from "./scale";
import { Names, Tiles } from "./tiles";
import { Told } from "./told";
import type { Alignment, Collectives, Found, Head, Link, Ribbon, Ribbons, Selected, Table } from "./wire";

/** Which of the spans alike. */
export type Which = "longest" | "next" | "previous";

const lacks = () => new Failed("An exported page does not have this: open the capture with stepscope view.", 404);

/** The alignment by the collective whose last rank came nearest to a time. */
export function nearest({ last_ns, at }: Collectives, time: number): Alignment {
  let best = 0;
  last_ns.forEach((last, i) => {
    if (Math.abs(last - time) < Math.abs(last_ns[best] - time)) best = i;
  });
  return at[best];
}

export class Source {
  readonly tiles: Tiles;
  readonly names: Names;
  /** There is no server. */
  readonly exported: boolean;
  /** The spans that a page without a server has. */
  private readonly told: Promise<Told> | null;

  /** c is the capture that the address means; arrived is called when tiles or names have come. */
  constructor(readonly head: Head, private readonly c: string | undefined, arrived: () => void) {
    this.exported = head.levels.length > 0 || head.columns;
    this.tiles = new Tiles(head.epoch, head.levels,
      (level, stretched, tiles) => bytes("timeline/tiles", { c, level, axis: stretched ? "stretched" : null, tiles: this.exported ? null : tiles }), arrived);
    this.names = new Names(head.block, (block) => json<string[]>("timeline/names", { c, block }), arrived);
    this.told = this.exported ? busy(this.columns()) : null;
    void this.told;
  }

  /** The columns of all spans, if the page has them, and the details of spans. */
  private async columns(): Promise<Told> {
    this.tiles.asks = !this.head.columns;
    const lanes = this.head.columns ? lanesOf(await bytes("timeline/columns", { c: this.c })) : [];
    if (this.head.columns) this.tiles.from(lanes);
    return new Told(this.head, lanes, this.names, (path, params) => json(path, { c: this.c, ...params } as Record<string, string>));
  }

  private static alignment({ by, step, at }: State): Changes {
    return { align: by, step: by === "step" ? step : null, at: by === "collective" ? at : null };
  }

  heat(measure: string): Promise<ArrayBuffer> {
    return bytes("timeline/heat", { c: this.c, measure });
  }

  async align(s: State): Promise<Alignment> {
    if (this.exported && s.by === "collective") return nearest(await json<Collectives>("timeline/collectives", { c: this.c }), s.at);
    return json("timeline/align", { c: this.c, ...Source.alignment(s) });
  }

  async span(rank: number, span: number): Promise<Selected> {
    if (this.told === null) return json("timeline/span", { c: this.c, rank, span });
    return (await this.told).span(rank, span).catch(() => {
      throw lacks();
    });
  }

  /** All args of a span, from its file. An exported page has only those that it came with. */
  args(l: Link, signal: AbortSignal): Promise<{ name: string; value: string }[]> {
    return this.exported ? Promise.reject(lacks()) : json("timeline/args", { c: this.c, rank: l.rank, span: l.span }, signal);
  }

  range(s: State, rows: string): Promise<Table> {
    if (this.exported) {
      const n = this.head.steps.findIndex((step) => step.start_ns === s.range?.t0 && step.end_ns === s.range.t1);
      if (n < 0 || n >= this.head.summed || s.by !== "wall" || rows !== this.pinned()) return Promise.reject(new Failed(this.sums(), 404));
      return json("timeline/range", { c: this.c, from: this.head.steps[n].start_ns, to: this.head.steps[n].end_ns });
    }
    if (s.range === null) return Promise.reject(lacks());
    return json("timeline/range", { c: this.c, from: s.range.t0, to: s.range.t1, rows, ...Source.alignment(s) });
  }

  /** The rows that are shown unless some were unfolded or left out. */
  private pinned(): string {
    return shownText(this.head, layout(this.head, new Set(), []));
  }

  private sums(): string {
    return `An exported page sums up steps${this.head.summed < this.head.steps.length ? `, up to step ${this.head.summed - 1},` : ""} by the wall clock, over its initial rows: click on one above the rows.`;
  }

  async search(q: string, rows: string, after: number, back: boolean): Promise<Found> {
    if (!this.exported) return json("timeline/search", { c: this.c, q, rows, after: Math.round(after), back: back ? 1 : null });
    const ids: number[] = [], text = q.toLowerCase();
    for (let block = 0; block * this.head.block < this.head.names; block++) {
      (await json<string[]>("timeline/names", { c: this.c, block })).forEach((name, i) => name.toLowerCase().includes(text) && ids.push(block * this.head.block + i));
    }
    const of = await (await this.told!).next(new Set(ids), this.head.columns ? rows.split(",").map(Number) : [], after, back);
    return { names: [], all: ids.length, ids, ...of };
  }

  /** The collectives of a time: those that wait longest, if there are many. */
  async ribbons(from: number, to: number): Promise<Ribbon[]> {
    if (!this.exported) return (await json<Ribbons>("timeline/ribbons", { c: this.c, from, to, most: 300 })).ribbons;
    return (await json<Ribbons>("timeline/ribbons", { c: this.c })).ribbons.filter((r) => r.first_ns < to && r.end_ns > from);
  }

  /** The counters of a time, with those of a rank if not of all. */
  counters(view: Range, columns: number, rank: number): Promise<Counters> {
    if (this.exported) return json("timeline/counters", { c: this.c });
    const from = Math.floor(view.t0);
    return json("timeline/counters", { c: this.c, from, to: Math.max(Math.ceil(view.t1), from + 1), n: columns, rank });
  }

  parts(r: Ribbon): Promise<Link[]> {
    return this.exported ? Promise.resolve([]) : json("timeline/parts", { c: this.c, domain: r.domain, index: r.index });
  }

  /** How far ranks are moved on the stretched axis, in n parts of a time. */
  moved(ranks: readonly number[], from: number, to: number, n: number): Promise<number[][]> {
    return json("timeline/moved", { c: this.c, from, to, n, ranks: ranks.join(",") });
  }

  /** The longest span of a lane in a time of its rank, or of the stretched axis. */
  hit(lane: number, from: number, to: number, stretched: boolean): Promise<Link | null> {
    if (this.told !== null) return this.head.columns ? this.told.then((told) => told.hit(lane, from, to)) : Promise.resolve(null);
    from = Math.floor(from);
    return json("timeline/hit", { c: this.c, lane, from, to: Math.max(Math.ceil(to), from + 1), axis: stretched ? "stretched" : null });
  }

  /** The longest, next or previous span of the same name on the same rank. */
  alike(l: Link, which: Which): Promise<Link | null> {
    return this.exported ? Promise.resolve(null) : json("timeline/alike", { c: this.c, rank: l.rank, span: l.span, which });
  }

  /** The span after another one on its lane, or before it. */
  beside(l: Link, back: boolean): Promise<Link | null> {
    if (this.told !== null) return this.head.columns ? this.told.then((told) => told.beside(l, back)) : Promise.resolve(null);
    return json("timeline/beside", { c: this.c, rank: l.rank, span: l.span, back: back ? 1 : null });
  }
}
