// From an op to its launch, from there to the work on the GPU, and from a collective to the rank that came last.

import { type Child, h } from "../dom";
import type { Link, Selected } from "./wire";

/** The collective's kernel on the rank that came last; null: it is the one that is selected, or there is none. */
export function lastArrival(s: Selected): Link | null {
  return s.last < 0 || s.last === s.rank ? null : (s.counterparts.find((c) => c.rank === s.last && c.span >= 0) ?? null);
}

/** What comes before a span: its launch, then the op that made the launch, then the op around that. */
export function before(s: Selected): Link | null {
  return s.launch ?? s.op ?? s.around[0] ?? null;
}

/** What follows from a span: the launch inside an op, what the launch started, the rank that a collective waits for. */
export function after(s: Selected): Link | null {
  return s.calls[0] ?? s.launched[0] ?? lastArrival(s);
}

/** The arrows that are drawn for a span. */
export function arrows(s: Selected): (readonly [Link, Link])[] {
  const out: (readonly [Link, Link])[] = [], launch = s.launch ?? s;
  if (s.op !== null) out.push([s.op, launch]);
  if (s.launch !== null) out.push([s.launch, s]);
  s.launched.slice(0, 30).forEach((l, i) => {
    const call = s.calls[i];
    if (call !== undefined) out.push([s, call]);
    out.push([call ?? s, l]);
  });
  return out;
}

/** The way from the op to the last rank, as links; what is selected stands out. */
export function way(s: Selected, link: (l: Link, text?: Child) => HTMLElement, rank: (n: number) => string): HTMLElement | null {
  const here = h("b", null, s.label), parts: [string, Child][] = [];
  const launched = s.launched[0];
  if (s.op !== null) parts.push(["op", link(s.op)]);
  if (s.launch !== null) parts.push(["launch", link(s.launch)]);
  const of = s.launch !== null ? "GPU" : s.op !== null || s.category === "cuda_runtime" || s.category === "cuda_driver" ? "launch" : "op";
  parts.push([of, here]);
  if (s.calls[0] !== undefined) parts.push([s.calls.length > 1 ? "first launch" : "launch", link(s.calls[0])]);
  if (launched !== undefined) parts.push([s.launches > 1 ? `GPU, first of ${s.launches}` : "GPU", link(launched)]);
  const last = lastArrival(s);
  if (last !== null) parts.push(["waits for " + rank(last.rank), link(last)]);
  if (parts.length < 2) return null;
  return h("p", { class: "tl-way", title: "< goes back along this way, > forward" },
    ...parts.flatMap(([what, child], i): Child[] => [i > 0 && h("span", { class: "tl-soft", "aria-hidden": "true" }, " → "), h("span", { class: "tl-soft" }, what + " "), child]));
}
