// The rows that a range of time is summed up over, if not over all that are shown.

import type { Layout } from "./layout";

/** Rows in the address: 1,4-7. */
export function listed(rows: readonly number[]): string {
  const parts: string[] = [], sorted = [...new Set(rows)].sort((a, b) => a - b);
  for (let i = 0, from = 0; i < sorted.length; i++) {
    if (sorted[i + 1] === sorted[i] + 1) continue;
    parts.push(from === i ? String(sorted[i]) : `${sorted[from]}-${sorted[i]}`);
    from = i + 1;
  }
  return parts.join(",");
}

/** Rows of an address, of those that there are. */
export function parsed(text: string | undefined, there: number): number[] {
  const out = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const m = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (m === null) continue;
    for (let i = Number(m[1]); i <= Math.min(Number(m[2] ?? m[1]), there - 1); i++) out.add(i);
  }
  return [...out];
}

/** The rows between two heights. A drag along one row means all rows, unless exactly is set. */
export function crossed(plan: Layout, a: number, b: number, exactly: boolean): number[] {
  const from = Math.min(a, b), to = Math.max(a, b), rows: number[] = [];
  for (const g of plan.groups) for (const p of g.rows) if (p.y <= to && p.y + p.height > from) rows.push(p.row);
  return rows.length > 1 || exactly ? rows : [];
}
