// The speed of light: bars from the least time of a step, or of a module, to the time that it took.

import { duration, percent } from "./format";
import { legendKey } from "./plot";
import { type Part, partLabel, stack } from "./stack";

/** See LightPicture in explain/report/lightpicture.go. */
export interface Light {
  says: string;
  none: boolean;
  parts: string[];
  kinds: Kind[];
  left_out: number;
}

export interface Kind {
  kind: string;
  why: string;
  rank: string;
  bars: { rank: string; steps: number; told: number; total_ns: number; parts: number[] }[];
  ranks: Modules[];
}

export interface Modules {
  rank: string;
  index: number;
  steps: number;
  modules: Module[];
}

export interface Module {
  module: string;
  kernel: string;
  full: string;
  time_ns: number;
  floor_ns: number;
  attainable_ns: number;
  floor: string;
  of_attainable: number;
  why: string;
  start_ns: number;
  end_ns: number;
  span: number;
}

const labels: { [name: string]: string } = { floor: "floor", start: "start", slow: "slow", other: "other kernels", idle: "idle" };

/** The parts of a sum over steps, in a mean step. */
function partsOf(names: readonly string[], sums: readonly number[], steps: number): Part[] {
  return names.map((name, i) => ({ name, label: labels[name] ?? partLabel(name), ns: sums[i] / Math.max(steps, 1) }));
}

function whole(parts: readonly Part[]) {
  return parts.reduce((sum, p) => sum + p.ns, 0);
}

/** What a part is, and of the whole. */
function says(p: Part, of: number) {
  return `${p.label} ${duration(p.ns)} (${percent(p.ns / (of || 1))})`;
}

function make(tag: string, text: string | Node, ...classes: string[]) {
  const el = document.createElement(tag);
  el.append(text);
  el.classList.add(...classes);
  return el;
}

/** A table of bars: names, bars, and numbers at the right. */
function table(title: string, heads: readonly string[], rows: readonly (readonly [Node | string, HTMLElement, ...string[]])[]) {
  const out = document.createElement("table"), head = out.createTHead().insertRow(), body = out.createTBody();
  out.className = "shares";
  out.createCaption().textContent = title;
  heads.forEach((text, i) => {
    const th = make("th", text, ...(i > 1 ? ["r"] : []));
    th.setAttribute("scope", "col");
    head.append(th);
  });
  for (const [name, bar, ...numbers] of rows) {
    const th = make("th", name), row = body.insertRow();
    th.setAttribute("scope", "row");
    row.append(th, make("td", bar), ...numbers.map((text) => make("td", text.replace(/(?<=≥) | (?=[nµm]?s\b|%)/g, "\u00a0"), "r")));
  }
  return out;
}

/** Why steps have no picture, or some of them no part in it. */
function reason({ kind, why, bars }: Kind) {
  const steps = bars.reduce((n, b) => n + b.steps, 0), told = bars.reduce((n, b) => n + b.told, 0);
  const text = steps === 0 ? `The kernels of ${kind} steps cannot be assigned to modules` : `The kernels of ${steps - told} of ${steps} ${kind} steps cannot be assigned to modules and count as other kernels`;
  return make("p", `${text}: ${why}.`, "caveat");
}

/** So many ranks have bars. */
const mostBars = 16;

/** Where the device time of a mean step goes, on each rank or on one; or why that is not known. */
export function waterfall(l: Light, kind: Kind, rank = ""): HTMLElement[] {
  const bars = kind.bars.filter((b) => rank === "" || b.rank === rank).map((b) => ({ rank: b.rank, steps: b.steps, parts: partsOf(l.parts, b.parts, b.steps) }));
  const out: HTMLElement[] = kind.why === "" ? [] : [reason(kind)];
  if (bars.length === 0) return out;
  const longest = Math.max(...bars.map((b) => whole(b.parts)), 1), steps = bars.reduce((n, b) => n + b.steps, 0);
  const mean = partsOf(l.parts, l.parts.map((_, i) => bars.reduce((sum, b) => sum + b.parts[i].ns * b.steps, 0)), steps);
  const wait = l.parts.indexOf("wait"), limit = bars.map((b) => b.parts[wait].ns).sort((a, b) => a - b)[mostBars - 1] ?? Infinity;
  const some = bars.filter((b) => b.parts[wait].ns <= limit).slice(0, mostBars);
  out.push(table(`Device time of a ${kind.kind} step`, ["rank", kind.kind + " step", "time", "floor"], some.map(({ rank, parts }) => {
    const all = whole(parts);
    return [rank, stack(parts, all / longest, (p) => says(p, all)), duration(Math.round(all)), percent(parts[0].ns / (all || 1))] as const;
  })));
  const keys = make("p", bars.length > 1 ? "Mean: " : "", "keys");
  keys.append(...mean.filter((p) => p.ns > 0).map((p) => legendKey("--" + p.name, says(p, whole(mean)))));
  out.push(keys);
  if (some.length < bars.length) out.push(make("p", `The ${some.length} of ${bars.length} ranks that wait least for others; the mean is that of all.`, "keys"));
  return out;
}

/** The modules of a rank, the most time beyond the floor first; name makes what stands before a bar. */
export function moduleBars(kind: string, { rank, steps, modules }: Modules, name: (m: Module) => Node | string = (m) => m.module): HTMLElement[] {
  const longest = Math.max(...modules.map((m) => m.time_ns), 1);
  const rows = modules.map((m) => {
    const floor = Math.min(m.floor_ns, m.time_ns), attain = Math.min(Math.max(m.attainable_ns, floor), m.time_ns);
    const parts = m.why !== "" ? partsOf(["other"], [m.time_ns], steps) : partsOf(["floor", "start", "slow"], [floor, attain - floor, m.time_ns - attain], steps);
    const bar = stack(parts, m.time_ns / longest, (p) => says(p, m.time_ns / steps));
    return [name(m), bar, duration(Math.round(m.time_ns / steps)), m.why === "" ? m.floor : "not known", m.of_attainable > 0 ? percent(m.of_attainable) : "–"] as const;
  });
  const keys = make("p", "", "keys");
  keys.append(...partsOf(["floor", "start", "slow"], [0, 0, 0], 1).map((p) => legendKey("--" + p.name, p.label)));
  const notes = modules.filter((m) => m.why !== "").map((m) => `${m.module}: ${m.why}.`);
  if (notes.length > 0) keys.append(legendKey("--other", "floor not known"));
  if (modules.some((m) => m.floor.startsWith("≥"))) notes.push("≥: a lower bound, so the slow part may be smaller than drawn.");
  return [table(`Modules of a ${kind} step on ${rank}`, ["module", kind + " step", "time", "floor", "of attainable"], rows), keys, ...notes.map((text) => make("p", text, "keys"))];
}

/** Both pictures of the page. */
export function drawLight({ light }: { light?: Light }) {
  const steps = document.getElementById("light-steps"), bars = document.getElementById("light-bars");
  if (!light || !steps) return;
  steps.replaceChildren(...light.kinds.flatMap((k) => waterfall(light, k)));
  if (!bars) return;
  const pick = document.getElementById("light-of") as HTMLSelectElement, all = light.kinds.flatMap(({ kind, rank, ranks }) => ranks.map((of) => ({ kind, of, first: of.rank === rank })));
  all.forEach(({ kind, of }, i) => pick.add(new Option(`${kind}, ${of.rank}`, String(i))));
  pick.selectedIndex = Math.max(all.findIndex(({ first }) => first), 0);
  const draw = () => bars.replaceChildren(...(all.length > 0 ? moduleBars(all[Number(pick.value)].kind, all[Number(pick.value)].of) : []));
  pick.addEventListener("change", draw);
  draw();
}
