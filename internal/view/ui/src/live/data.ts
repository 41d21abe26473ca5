// What the server says of servers that run; see internal/view/live.

import { duration } from "../../../../web/format";

/** Latency has the mean of a latency, and the bucket of the server's histogram that holds the 99th percentile. */
export type Latency = { n: number; mean_ns: number; p99_from_ns: number; p99_to_ns: number | null };

/** Says where the 99th percentile is: the server reports no more than a bucket. */
export function p99(l: Latency): string {
  if (l.p99_to_ns === null) return "over " + duration(l.p99_from_ns);
  return l.p99_from_ns > 0 ? `${duration(l.p99_from_ns)} to ${duration(l.p99_to_ns)}` : "under " + duration(l.p99_to_ns);
}
export type Rank = { dp: number; running: number | null; queued: number | null; tokens: number | null; prefill: number | null; usage: number | null };

/** How a server stood at one moment. */
export type Sample = {
  server: number; at_ms: number; error: string; restarted: boolean; ranks: Rank[]; tokens: number | null; ttft: Latency | null; itl: Latency | null;
  /** How long the server took to answer, ns. */
  reply_ns?: number;
};

export type Capture = { n: number; steps: number; state: "recording" | "done" | "failed" | "stopped"; lines: string[]; now: string[]; run: string; error: string };
export type Server = { name: string; url: string; role: string };

/** Something that happened, where servers are watched; times are ms since the epoch. */
export type Mark = {
  server: string; kind: string; at_ms: number;
  /** Of a beginning: it lies between these two; 0: it is none. */
  after_ms: number; onset_ms: number;
  /** Of an alarm or its end; "": of neither. */
  rule: string;
  rank: string; text: string;
  /** That can be opened; "": none. */
  capture: string;
};

export type Hello = { servers: Server[]; every_ms: number; samples: Sample[]; records: boolean; capture: Capture | null; watched: boolean; marks: Mark[] };

/** What is told of a rank, in the order of the columns. */
export const measures = ["running", "queued", "tokens", "usage"] as const;
export type Measure = (typeof measures)[number];

/** The least and the most that is shown, ms. */
const least = 60_000, most = 10 * 60_000;

/** A measure of a rank over time; null: not known then. */
export type Line = { at: number[]; values: (number | null)[] };

/** What was said of servers and their ranks in the last minutes. */
export class History {
  /** Of each server, in the order of time. */
  private readonly samples: Sample[][];

  constructor(servers: number) {
    this.samples = Array.from({ length: servers }, () => []);
  }

  add(s: Sample): void {
    const of = this.samples[s.server];
    if (!of) return;
    of.push(s);
    const old = of.findIndex((x) => x.at_ms >= s.at_ms - most);
    if (old > 0) of.splice(0, old);
  }

  last(server: number): Sample | undefined {
    return this.samples[server].at(-1);
  }

  /** How long a server took to answer in the last minute or so, ns. */
  replies(server: number): number[] {
    return this.samples[server].slice(-60).flatMap((s) => s.reply_ns ?? []);
  }

  /** The ranks that a server has told of, by their numbers. */
  ranks(server: number): number[] {
    return [...new Set(this.samples[server].flatMap((s) => s.ranks.map((r) => r.dp)))].sort((a, b) => a - b);
  }

  line(server: number, dp: number, measure: Measure): Line {
    const of = this.samples[server];
    return { at: of.map((s) => s.at_ms), values: of.map((s) => s.ranks.find((r) => r.dp === dp)?.[measure] ?? null) };
  }

  /** How long is shown: what is there, ms. */
  span(now: number): number {
    const first = Math.min(...this.samples.map((of) => of[0]?.at_ms ?? now));
    return Math.min(Math.max(now - first, least), most);
  }

  /** A measure of all ranks of all servers together, where all that have told it before still do. */
  total(measure: Measure): Line {
    const last = new Map<number, number | null>(), out: Line = { at: [], values: [] };
    for (const s of this.samples.flat().sort((a, b) => a.at_ms - b.at_ms)) {
      if (s.error && !last.has(s.server)) continue; // it has never been there
      last.set(s.server, s.error ? null : sum(s.ranks.map((r) => r[measure])));
      const all = [...last.values()];
      out.at.push(s.at_ms);
      out.values.push(all.includes(null) ? null : sum(all));
    }
    return out;
  }

  /** How many times as many requests the rank of a server that has most of them has as the mean; null: it has none, or no other rank. */
  imbalance(server: number): Line {
    const of = this.samples[server];
    return { at: of.map((s) => s.at_ms), values: of.map((s) => uneven(s.ranks.map((r) => sum([r.running, r.queued])))) };
  }

  /** The largest value of a measure of any rank of any server, so that all are drawn to one scale. */
  top(measure: Measure): number {
    let max = 0;
    for (const s of this.samples.flat()) for (const r of s.ranks) max = Math.max(max, r[measure] ?? 0);
    return max;
  }
}

/** Says that a server answers at once or very late, as one whose process is stopped at times; "": it does not. */
export function stalls(replies: readonly number[]): string {
  if (replies.length < 20) return "";
  const sorted = [...replies].sort((a, b) => a - b), at = (p: number) => sorted[Math.floor(p * (sorted.length - 1))];
  const usual = at(0.2), late = sorted.filter((ns) => ns > Math.max(4 * usual, 10e6)), longest = at(0.95);
  if (late.length < sorted.length / 5 || longest < 20e6) return "";
  return `answers in stalls: ${late.length} of the last ${sorted.length} replies took up to ${duration(longest)}, the others about ${duration(usual)}. Its process is stopped at times, held by a CPU quota, or busy`;
}

/** The largest over the mean; null where there are less than two, or nothing in them. */
export function uneven(values: (number | null)[]): number | null {
  const known = values.filter((v) => v !== null), all = sum(known);
  return known.length < 2 || !all ? null : (Math.max(...known) * known.length) / all;
}

/** The sum of what is known; null: nothing is. */
export function sum(values: (number | null)[]): number | null {
  const known = values.filter((v) => v !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}
