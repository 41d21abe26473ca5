// What findings suggest to set: what is predicted then is what they are worth.

import type { Fix, Session } from "../api";
import { read, worded, write } from "./settings";

/** The settings of a finding as an address has them. */
export function settingsOf(f: Fix): string {
  return write(new Map(f.set.map((s): [string, string] => [s.slice(0, s.lastIndexOf("=")), s.slice(s.lastIndexOf("=") + 1)]))) ?? "";
}

/** The settings in words. */
export function inWords(f: Fix): string {
  return [...read(settingsOf(f))].map(([what, to]) => `${what} ${worded(to)}`).join(", ");
}

/** Whether there is an answer to it: an exported page has those to single settings. */
export function fixed(f: Fix, { exported }: Session): boolean {
  return exported === null || (f.set.length === 1 && exported.whatif.includes(f.set[0]));
}

/** The rank that all settings are about, as an address has it; null: several, or all. */
export function rankOf(f: Fix, ranks: readonly string[]): number | null {
  const about = new Set(f.set.map((s) => ranks.findIndex((r) => s.startsWith(r + "."))));
  const [rank] = about;
  return about.size === 1 && rank >= 0 ? rank : null;
}
