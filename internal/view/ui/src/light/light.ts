// The speed of light: how far steps are from the least time in which the device could do their work, and which modules
// take the rest. A module leads to its kernels in the timeline.

import { type Light, type Module, moduleBars, type Modules, waterfall } from "../../../../web/light";
import { json } from "../api";
import { fill, h } from "../dom";
import { elsewhere, format, type Params } from "../state";
import type { Context, Tab, View } from "../view";
import "./light.css";

/** How many times its own length is shown before and after a kernel. */
const around = 8;

class Limits implements View {
  el = h("div", { class: "light" });
  private light: Light | null = null;

  constructor(private context: Context) {
    void json<Light>("light", { c: context.store.params.c }).then((l) => {
      this.light = l;
      this.show();
    });
  }

  private show(): void {
    const { store, capture } = this.context, l = this.light;
    if (l === null) return;
    if (l.none) return fill(this.el, h("p", { class: "caveat" }, l.says));
    const { params } = store, all = capture!.kinds.flatMap((name) => l.kinds.filter((k) => k.kind === name));
    const kind = all.find((k) => k.kind === params.kind) ?? all[0], rank = capture!.ranks[Number(params.rank ?? NaN)] ?? "";
    const of = kind.ranks.find((r) => r.rank === (rank || kind.rank));
    const kinds = h("select", { "aria-label": "Steps of kind", on: { change: () => store.set({ kind: kinds.value === all[0].kind ? null : kinds.value }) } }, ...all.map((k) => h("option", { value: k.kind }, k.kind)));
    kinds.value = kind.kind;
    const ranks = h("select", { "aria-label": "Rank", on: { change: () => store.set({ rank: ranks.value }) } }, h("option", { value: "" }, "all ranks"), ...capture!.ranks.map((r, i) => h("option", { value: String(i) }, r)));
    ranks.value = rank === "" ? "" : params.rank!;
    fill(this.el,
      h("p", { class: "lead" }, l.says),
      h("div", { class: "tools" }, all.length > 1 && kinds, capture!.ranks.length > 1 && ranks),
      h("figure", null, h("figcaption", null, `Device time of a mean ${kind.kind} step, from the floor to the whole`), ...waterfall(l, kind, rank)),
      of !== undefined && h("figure", null, h("figcaption", null, `Modules on ${of.rank}`), ...moduleBars(kind.kind, of, (m) => this.name(of, m))),
      h("p", { class: "soft" }, "Floor: the least time at the peaks of the device. Start: what good kernels need beyond it. Slow: what kernels take beyond that. A module leads to its longest kernel in the timeline."));
  }

  /** A module, with links to its longest kernel and to all runs of that kernel. */
  private name({ index }: Modules, m: Module): HTMLElement {
    const to = (changes: Params) => format(elsewhere(this.context.store.params, { tab: "timeline", ...changes }));
    const margin = (m.end_ns - m.start_ns) * around;
    const place = { rank: String(index), t0: String(m.start_ns - margin), t1: String(m.end_ns + margin) };
    return h("span", { class: "named" },
      m.end_ns > m.start_ns ? h("a", { href: to(m.span < 0 ? place : { ...place, sel: String(m.span) }), title: m.full }, m.module) : h("span", { title: m.full }, m.module),
      h("a", { class: "find", href: to({ q: m.full }), title: "Find its kernel in the timeline: " + m.kernel }, "find"));
  }

  update(now: Params, before: Params): void {
    if (now.kind !== before.kind || now.rank !== before.rank) this.show();
  }
}

export const light: Tab = { id: "light", title: "Speed of light", needs: "light", open: (context) => new Limits(context) };
