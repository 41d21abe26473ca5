// Where the parts of a flame graph stand. Nothing here draws.

/** See Flame in internal/view/kernels: nodes, each behind its parent, siblings side by side. */
export interface Flame {
  names: string[];
  full: string[];
  class: string[];
  kernel: boolean[];
  parent: number[];
  name: number[];
  total: number[];
  count: number[];
  steps: number;
  other: number[];
  other_steps: number;
  left_out: number;
}

/** A flame graph as a tree to walk: the children of n are those from first[n] to last[n], its weight is its width. */
export interface Walk {
  first: Int32Array;
  last: Int32Array; // exclusive
  weight: Float64Array; // ns of a step: the larger of both captures
  depth: Int32Array;
}

/** A node's time in a step, on the mean over ranks, ns. */
export function perStep(f: Flame, n: number): number {
  return f.total[n] / Math.max(f.steps, 1);
}

/** The same in the capture that it is compared with. */
export function perStepOther(f: Flame, n: number): number {
  return f.other[n] / Math.max(f.other_steps, 1);
}

export function walk(f: Flame): Walk {
  const n = f.parent.length, compared = f.other.length > 0;
  const out = { first: new Int32Array(n), last: new Int32Array(n), weight: new Float64Array(n), depth: new Int32Array(n) };
  for (let i = 1; i < n; i++) {
    const p = f.parent[i];
    if (out.last[p] === 0) out.first[p] = i;
    out.last[p] = i + 1;
    out.depth[i] = out.depth[p] + 1;
  }
  const below = new Float64Array(n); // what children need: of two captures that may be more than their parent
  for (let i = n - 1; i >= 0; i--) {
    out.weight[i] = Math.max(perStep(f, i), compared ? perStepOther(f, i) : 0, below[i]);
    if (i > 0) below[f.parent[i]] += out.weight[i];
  }
  return out;
}

/** A node to draw, in parts of the width. */
export interface Box {
  node: number;
  depth: number; // 0: the first row
  x: number;
  w: number;
}

/** What is drawn of a tree from a node on, if that takes all of the width: no box narrower than least parts of it. */
export function boxes(f: Flame, t: Walk, from: number, least: number): Box[] {
  const out: Box[] = [], scale = t.weight[from];
  if (!(scale > 0)) return out;
  const stack: Box[] = [{ node: from, depth: 0, x: 0, w: 1 }];
  for (let b = stack.pop(); b; b = stack.pop()) {
    out.push(b);
    let x = b.x;
    for (let c = t.first[b.node]; c < t.last[b.node]; c++) {
      if (f.parent[c] !== b.node) continue;
      const w = t.weight[c] / scale;
      if (w >= least) stack.push({ node: c, depth: b.depth + 1, x, w });
      x += w;
    }
  }
  return out;
}

/** The node at which the tree begins to say something: what stands above it is all of the time, in one line. */
export function branching(f: Flame, t: Walk): number {
  let at = 0;
  while (t.last[at] - t.first[at] === 1 && !f.kernel[t.first[at]] && t.weight[t.first[at]] >= 0.98 * t.weight[at]) at = t.first[at];
  return at;
}

/** The nodes from the root to one, without the root. */
export function path(f: Flame, node: number): number[] {
  const out: number[] = [];
  for (; node > 0; node = f.parent[node]) out.push(node);
  return out.reverse();
}

/** By how much a node's time has changed, as a share of the larger of both: -1 what is gone, 1 what is new. */
export function changed(f: Flame, n: number): number {
  const now = perStep(f, n), other = perStepOther(f, n), most = Math.max(now, other);
  return most > 0 ? (now - other) / most : 0;
}
