// One request: what it waited for, the steps that it was in, and who was in them beside it.

import { duration, percent } from "../../../../web/format";
import { h } from "../dom";
import type { Part, Request, Steps, Waited } from "./data";
import { laneName } from "./axis";

/** The colour of a part of a wait. */
export function partColor(of: Part["of"]): string {
  return { queue: "idle", prefill: "k1", decode: "k0", wait: "wait", reply: "k2", unknown: "unknown" }[of];
}

/** What the sums of a TTFT are called, in their order: queue, prefill, wait, and what else there is. */
export function sums(parts: Part[]): { of: Part["of"]; ns: number }[] {
  const order: Part["of"][] = ["queue", "prefill", "wait", "decode", "reply", "unknown"];
  return order.map((of) => ({ of, ns: parts.filter((p) => p.of === of).reduce((sum, p) => sum + p.ns, 0) })).filter((s) => s.ns > 0);
}

const sumNames: Record<Part["of"], string> = { queue: "queue", prefill: "prefill", wait: "wait", decode: "decode", reply: "reply", unknown: "not recorded" };

/** A bar of parts, and what each is. */
export function waited(parts: Part[], brief = false): HTMLElement {
  const total = parts.reduce((sum, p) => sum + p.ns, 0) || 1;
  const bar = h("div", { class: "parts", "aria-hidden": "true" }, ...parts.map((p) => {
    const i = h("i", { title: `${p.name} ${duration(p.ns)}` });
    i.style.width = `${(100 * p.ns) / total}%`;
    i.style.background = `var(--${partColor(p.of)})`;
    return i;
  }));
  const key = (of: Part["of"]) => {
    const i = h("i");
    i.style.background = `var(--${partColor(of)})`;
    return i;
  };
  if (brief) {
    return h("div", null, bar, h("p", { class: "keys" }, ...sums(parts).map((s) => h("span", { class: "key" }, key(s.of), sumNames[s.of] + " ", h("b", null, duration(s.ns))))));
  }
  return h("div", null, bar,
    h("p", { class: "keys sums" }, ...sums(parts).map((s) => h("span", { class: "key" }, key(s.of), sumNames[s.of] + " ", h("b", null, duration(s.ns))))),
    h("table", { class: "split" }, h("tbody", null, ...[...parts].sort((a, b) => b.ns - a.ns).map((p) =>
      h("tr", null, h("th", { scope: "row" }, key(p.of), p.name, p.more && h("small", null, p.more)), h("td", null, duration(p.ns)), h("td", null, percent(p.ns / total)))))));
}

/** What the panel of a request leads to. */
export type Links = {
  /** Another request, by its place in the records. */
  request: (index: number) => void;
  /** The address of the timeline at a stretch of a lane, in the run's time; null: it is not shown. */
  timeline: (lane: number, from: number, to: number) => string | null;
  close: () => void;
};

/** The panel of a request. */
export function requestPanel(r: Request, steps: Steps | null, links: Links): HTMLElement {
  const sent = r.moments.find((m) => m.name === "sent")?.at ?? r.moments[0]?.at ?? 0;
  const body = h("aside", { class: "panel", "aria-label": "Request " + r.index },
    h("header", null, h("h2", null, "Request ", String(r.index), r.turn > 0 && `, turn ${r.turn + 1}`), h("button", { class: "quiet", title: "Close (Esc)", "aria-label": "Close", on: { click: links.close } }, "×")),
    r.id !== "" && h("p", { class: "id" }, h("code", null, r.id)),
    r.failure !== "" && h("p", { class: "caveat" }, "failed: " + r.failure + (r.error ? ": " + r.error : "")),
    r.ttft && wait("TTFT", r.ttft),
    r.why !== "" && h("p", { class: "soft" }, r.why),
    where(r, steps, links),
    r.gaps.length > 0 && h("section", null, h("h3", null, "Longest waits for a token"), ...r.gaps.slice(0, 4).map((g) => h("div", { class: "gap" }, h("p", null, h("b", null, duration(g.ns)), ` until event ${g.event}`), waited(g.parts, true)))),
    r.with.length > 0 && h("section", null, h("h3", null, "Requests in the same steps"), h("p", { class: "chips" }, ...r.with.map((o) =>
      h("button", { class: "chip", title: o.id + `: ${o.steps} steps together`, on: { click: () => links.request(o.index) } }, String(o.index), h("small", null, "×" + o.steps))))),
    h("section", null, h("h3", null, "Moments"), h("dl", null, ...r.moments.flatMap((m) => [h("dt", null, m.name), h("dd", null, m.name === "sent" ? duration(m.at) + " into the load" : m.at === sent ? "0" : (m.at < sent ? "−" : "+") + duration(Math.abs(m.at - sent)))]))),
    h("section", null, h("h3", null, "Facts"), h("dl", null, ...r.facts.flatMap(([name, text]) => [h("dt", null, name), h("dd", null, text)]))));
  return body;
}

function wait(name: string, w: Waited): HTMLElement {
  return h("section", null, h("h3", null, name + " ", h("b", null, duration(w.ns)), w.place && h("span", { class: "soft" }, " on " + w.place)), waited(w.parts));
}

/** The steps that it was in, lane by lane. */
function where(r: Request, steps: Steps | null, links: Links): HTMLElement | null {
  if (!steps || r.steps.length === 0) return null;
  const lanes = [...new Set(r.steps.map((p) => p.lane))];
  return h("section", null, h("h3", null, "Steps"), ...lanes.map((lane) => {
    const of = r.steps.filter((p) => p.lane === lane).map((p) => p.step), l = steps.lanes[lane];
    const href = links.timeline(lane, l.from[of[0]], l.to[of[of.length - 1]]);
    return h("p", null, `${laneName(l)}: ${of.length} of steps ${of[0]}–${of[of.length - 1]} `, href && h("a", { href }, "show in the timeline"));
  }));
}
