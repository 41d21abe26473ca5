// The details of spans in a page without a server (internal/view/timeline/told.go).

import type { Changes } from "../state";
import { longest, type Spans } from "./columns";
import type { Names } from "./tiles";
import type { Counterpart, Head, Link, Member, Selected } from "./wire";

/** A link: the number of a span of its rank, -1 if there is none, or a link where the page does not have all spans. */
type Ref = number | Link;

interface Detail {
  name: string;
  category: string;
  class: number;
  step: number;
  step_name?: string;
  layer?: string;
  args?: Selected["args"];
  wait_ns?: number;
  last: number;
  launch?: Ref;
  delay_ns?: number;
  launched?: Ref[];
  launches?: number;
  around?: Ref[];
  counterparts?: Counterpart[];
  self?: Link;
  group?: number;
}

type Packed = [of: Ref, why: string, other: boolean, grid: string, delay: number, launched: boolean];

const DETAILS = 256, GROUPS = 128; // in an answer

/** The members of other ranks, relative to a span, as Go's relative gives them. */
export function relative(s: Selected, members: readonly Member[]): Counterpart[] {
  const own = members[s.rank];
  return members.filter((m) => m !== own).map(({ delay_ns, launched, ...m }) => {
    const found = m.span >= 0, delays = found && own.launched && launched;
    return { ...m, longer_ns: found ? m.dur_ns - s.dur_ns : 0, later_ns: found ? m.start_ns - s.start_ns : 0, delays, delayed_ns: delays ? delay_ns - own.delay_ns : 0 };
  });
}

export class Told {
  /** Of each rank: the lane and the place in it of each span. */
  private readonly places: Map<number, [lane: number, i: number]>[];

  constructor(private readonly head: Head, private readonly lanes: readonly Spans[], private readonly names: Names, private readonly ask: <T>(path: string, params: Changes) => Promise<T>) {
    this.places = head.ranks.map(() => new Map());
    for (const row of head.rows) for (let lane = row.lane; lane < row.lane + row.lanes; lane++) lanes[lane]?.span.forEach((span, i) => this.places[row.rank].set(span, [lane, i]));
  }

  private rankOf(lane: number): number {
    return this.head.rows.find((r) => lane >= r.lane && lane < r.lane + r.lanes)?.rank ?? 0;
  }

  private async at(lane: number, i: number): Promise<Link> {
    const l = this.lanes[lane], start = l.start[i], end = l.end[i];
    return { rank: this.rankOf(lane), span: l.span[i], lane, label: await this.names.whole(l.name[i]), start_ns: start, dur_ns: end - start, stretched_ns: [start, end] };
  }

  private async link(rank: number, of: Ref): Promise<Link> {
    if (typeof of !== "number") return of;
    const place = this.places[rank].get(of);
    return place === undefined ? { rank, span: -1, lane: -1, label: "", start_ns: 0, dur_ns: 0, stretched_ns: [0, 0] } : this.at(...place);
  }

  private links(rank: number, of: readonly Ref[] = []): Promise<Link[]> {
    return Promise.all(of.map((one) => this.link(rank, one)));
  }

  async span(rank: number, span: number): Promise<Selected> {
    const d = await this.ask<{ [span: string]: Detail }>("timeline/details", { rank, block: Math.floor(span / DETAILS) }).then((all) => all[span], () => undefined);
    const own = d?.self ?? await this.link(rank, span);
    if (d === undefined) return this.little(own);
    const out: Selected = {
      ...own, name: d.name, category: d.category, class: d.class, step: d.step, step_name: d.step_name ?? "", layer: d.layer ?? "", args: d.args ?? [], wait_ns: d.wait_ns ?? 0, last: d.last,
      launch: d.launch === undefined ? null : await this.link(rank, d.launch), delay_ns: d.delay_ns ?? 0, launched: await this.links(rank, d.launched), launches: d.launches ?? 0,
      around: await this.links(rank, d.around), counterparts: d.counterparts ?? [],
    };
    if (d.group !== undefined) {
      const members = (await this.ask<Packed[][]>("timeline/groups", { block: Math.floor(d.group / GROUPS) }))[d.group % GROUPS];
      out.counterparts = relative(out, await Promise.all(members.map(async ([of, why, other, grid, delay_ns, launched], r) => ({ ...(await this.link(r, of)), rank: r, why, other, grid, delay_ns, launched }))));
    }
    return out;
  }

  /** What the columns alone tell of a span. */
  private little(l: Link): Selected {
    const place = this.places[l.rank].get(l.span);
    if (place === undefined) throw new Error("no such span");
    const lane = this.lanes[place[0]];
    return {
      ...l, name: l.label, category: "", class: lane.class[place[1]], step: this.head.steps.findIndex((s) => l.start_ns >= s.start_ns && l.start_ns < s.end_ns), step_name: "", layer: "",
      args: [{ name: "details", value: "not in this page: open the capture with stepscope view" }], wait_ns: lane.wait?.[place[1]] ?? 0, last: -1, launch: null, delay_ns: 0, launched: [], launches: 0, around: [], counterparts: [],
    };
  }

  async hit(lane: number, from: number, to: number): Promise<Link | null> {
    const i = longest(this.lanes[lane], from, to);
    return i < 0 ? null : this.at(lane, i);
  }

  async beside(l: Link, back: boolean): Promise<Link | null> {
    const place = this.places[l.rank].get(l.span), to = (place?.[1] ?? 0) + (back ? -1 : 1);
    return place === undefined || to < 0 || to >= this.lanes[place[0]].span.length ? null : this.at(place[0], to);
  }

  /** The first span after a time, or the last before it, whose name is one of some. */
  async next(ids: ReadonlySet<number>, rows: readonly number[], after: number, back: boolean): Promise<{ next: Link | null; spans: number; total_ns: number }> {
    let best: [lane: number, i: number] | null = null, time = 0, spans = 0, total_ns = 0;
    for (const row of rows.map((r) => this.head.rows[r])) {
      for (let lane = row.lane; lane < row.lane + row.lanes; lane++) {
        const l = this.lanes[lane];
        l.name.forEach((name, i) => {
          if (!ids.has(name)) return;
          spans++;
          total_ns += l.end[i] - l.start[i];
          const start = l.start[i];
          if ((back ? start < after : start > after) && (best === null || (back ? start > time : start < time))) {
            best = [lane, i];
            time = start;
          }
        });
      }
    }
    return { next: best === null ? null : await this.at(...(best as [number, number])), spans, total_ns };
  }
}

