// What is set, as stepscope whatif --set takes it: [RANK.]PART=FACTOR. In the address all settings stand in one parameter.

/** By part and rank: a factor, or "peers". */
export type Settings = ReadonlyMap<string, string>;

/** The settings of an address. */
export function read(text: string | undefined): Settings {
  const out = new Map<string, string>();
  for (const one of (text ?? "").split("|")) {
    const whole = one.replaceAll("%7C", "|").replaceAll("%25", "%"), at = whole.lastIndexOf("=");
    if (at > 0) out.set(whole.slice(0, at), whole.slice(at + 1));
  }
  return out;
}

/** The settings as an address has them; null: none. */
export function write(settings: Settings): string | null {
  const all = list(settings).map((s) => s.replaceAll("%", "%25").replaceAll("|", "%7C"));
  return all.length > 0 ? all.join("|") : null;
}

/** The settings as a command line has them. */
export function list(settings: Settings): string[] {
  return [...settings].map(([what, to]) => what + "=" + to);
}

/** Settings with one that is otherwise; "1" is as it was. */
export function put(settings: Settings, what: string, to: string): Settings {
  const out = new Map(settings);
  out.delete(what);
  if (to !== "1") out.set(what, to);
  return out;
}

/** What a setting is about: RANK.PART, or PART of all ranks. */
export function about(rank: string, part: string): string {
  return rank === "" ? part : rank + "." + part;
}

/** A factor in words. */
export function worded(to: string): string {
  return to === "peers" ? "like its peers" : to === "0" ? "removed" : Number(to) === 1 ? "unchanged" : "× " + Number(to);
}
