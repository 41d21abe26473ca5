// What the server says of benchmark runs; see internal/view/load. Times are ns since the load began; -1: never.

import type { BenchData, Spread, Stretch, Timeline } from "../../../../web/bench";
import type { Table } from "./table";

export type { BenchData, Spread, Stretch, Timeline };

/** A run, from load. */
export type Run = {
  id: string; rep: number; reps: number; title: string; verdict: string; next: string[]; head: string[]; tags: string[];
  cards: { name: string; value: string; more: string }[];
  facts: { label: string; text: string; severity: string }[];
  tables: Table[];
  plots: BenchData;
  bin: string;
  server: { at: number; running: number; queued: number; usage: number }[];
  recorded: boolean;
};

/** What was waited for: the parts of a time, in about the order in which they come. */
export type Part = { name: string; of: "queue" | "prefill" | "decode" | "wait" | "reply" | "unknown"; ns: number; more: string };

/** The slow end of a latency, from load/steps. */
export type Slow = { n: number; p99_ns: number; below: boolean; cases: number[]; parts: Part[] };

/** One data-parallel rank of a server, and the steps that it recorded. */
export type Lane = {
  server: string; capture: string; dp_rank: number; windows: Stretch[]; from: number[]; to: number[]; kind: number[]; name: number[]; batch: number[];
  /** What leads from the run's time to the capture's. */
  shift: number;
};

export type Steps = { steps_by: string; rep: number; kinds: string[]; names: string[]; lanes: Lane[]; ttft: Slow; itl: Slow; notes: string[] };

/** Bars of requests, in columns, from load/requests. */
export type Requests = {
  rows: number; of: number; index: number[]; row: number[]; sent: number[]; first: number[]; last: number[]; done: number[]; failed: boolean[]; touched: boolean[];
};

export type Place = { lane: number; step: number };
export type Waited = { event: number; at: number; ns: number; parts: Part[]; place: string };

/** One request, from load/request. */
export type Request = {
  index: number; id: string; turn: number; moments: { name: string; at: number }[]; facts: [string, string][]; failure: string; error: string;
  events: number[]; ttft: Waited | null; gaps: Waited[]; steps: Place[]; with: { index: number; id: string; steps: number }[]; why: string;
};

/** One step, from load/step. */
export type Step = { with: { index: number; id: string }[] };

/** A run against another, from load/compare. */
export type Compared = { sides: [string, string]; verdict: string; unlike: string[]; tables: Table[]; notes: string[] };
