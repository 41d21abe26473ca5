// What a note keeps of an address, and where it leads.

import { change, format, type Params, parse } from "../state";

/** The address of a place that is kept: what the next who comes has by himself is left out. */
export function kept(params: Params): string {
  return format(change(params, { c: null, theme: null }));
}

/** Where a note leads, from an address of the same capture or of one beside it. */
export function target(note: { address: string; server: string }, now: Params): Params {
  const of = (now.c ?? "").split(":")[0], c = note.server !== "" && of !== "" ? of + ":" + note.server : (now.c ?? null);
  return change(parse(note.address), { c, theme: now.theme ?? null });
}
