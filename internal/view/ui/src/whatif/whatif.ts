// What steps would take if something were otherwise: sliders, and the steps run again by the server as analyze does.

import { duration, error, groupDigits, percent, ticks } from "../../../../web/format";
import { hideTip, legendKey, Plot, type Pen, showTip } from "../../../../web/plot";
import { type Fix, json } from "../api";
import { fill, h } from "../dom";
import { elsewhere, format, type Params } from "../state";
import type { Context, Tab, View } from "../view";
import type { Lengths, Part, Row, WhatIf } from "./data";
import { fixed, rankOf, settingsOf, inWords } from "./fixes";
import { about, list, put, read, type Settings, worded, write } from "./settings";
import "./whatif.css";

const titles: { [part: string]: [string, string] } = {
  host: ["Hosts", "time of host threads before and after launches"],
  device: ["Kernels", "time of all kernels and copies, without waiting"],
  work: ["Work", "kernels and copies as those of the other ranks: only like peers"],
  collective: ["Transfers", "time of collectives once all ranks have arrived"],
  gap: ["Gaps", "unexplained time on the device"],
  "class:gemm": ["GEMM", "time of matrix products"],
  "class:comm": ["communication", "time of kernels that communicate"],
};

const most = 2, grain = 0.05; // the largest factor, and the steps of sliders

class WhatIfView implements View {
  el = h("div", { class: "whatif" });
  private panel = h("section", { class: "panel", "aria-label": "Changes" });
  private outcome = h("section", { class: "outcome", "aria-label": "Predicted step times", "aria-live": "polite" });
  private plots: StepsPlot[] = [];
  private answer: WhatIf | null = null;
  private asking = new AbortController();
  private later = 0;

  constructor(private context: Context) {
    context.keys.bind("0", "What if", "reset", () => context.store.set({ set: null }));
    fill(this.el, this.panel, this.outcome);
    this.ask();
  }

  private settings(): Settings {
    return read(this.context.store.params.set);
  }

  private rank(): string {
    const { rank } = this.context.store.params;
    return rank === undefined ? "" : (this.context.capture?.ranks[Number(rank)] ?? "");
  }

  private ask(): void {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    json<WhatIf>("whatif", { c: this.context.store.params.c, set: list(this.settings()) }, signal).then((answer) => {
      const first = this.answer === null;
      this.answer = answer;
      if (first) this.controls();
      this.show();
    }).catch((e) => {
      if (!signal.aborted) throw e;
    });
  }

  /** Asks once the slider rests for a moment. */
  private set(what: string, to: string): void {
    clearTimeout(this.later);
    this.later = window.setTimeout(() => {
      // An exported page has answers to one change at a time.
      const from = this.context.session.exported ? new Map<string, string>() : this.settings();
      this.context.store.set({ set: write(put(from, what, to)) });
    }, this.context.session.exported ? 0 : 60);
  }

  private controls(): void {
    const a = this.answer!, { capture, session, store } = this.context;
    const ranks = capture?.ranks ?? [];
    const pick = h("select", { "aria-label": "Of rank", on: { change: () => store.set({ rank: pick.value }) } },
      h("option", { value: "" }, "of all ranks"), ...ranks.map((r, i) => h("option", { value: String(i), disabled: !this.answered(r + ".") }, "of " + r)));
    pick.value = store.params.rank ?? "";
    const classes = a.parts.filter((p) => p.id.startsWith("class:")).sort((x, y) => y.share - x.share);
    const fixes = (capture?.fixes ?? []).filter((f) => fixed(f, session));
    fill(this.panel,
      h("h2", null, "Changes"),
      fixes.length > 0 && h("h3", null, "What findings suggest"),
      ...fixes.map((f) => h("button", { class: "fix", data: { fix: settingsOf(f) }, "aria-pressed": "false", title: f.finding, on: { click: () => this.fix(f) } },
        h("b", null, inWords(f)), " ", f.finding)),
      ranks.length > 1 && h("p", null, pick),
      ...a.parts.filter((p) => !p.id.startsWith("class:")).map((p) => this.slider(p)),
      h("h3", null, "Kernels by class"),
      ...classes.map((p) => this.slider(p)),
      h("p", { class: "actions" }, h("button", { class: "button", on: { click: () => store.set({ set: null }) } }, "Reset")),
      session.exported && h("p", { class: "note" }, "This page answers one change at a time, in steps of a quarter; stepscope view answers all."));
    this.place();
  }

  /** Sets what a finding suggests, and nothing else; or lets it go. */
  private fix(f: Fix): void {
    const { store, capture } = this.context, set = settingsOf(f), on = store.params.set !== set;
    store.set({ set: on ? set : null, rank: on ? rankOf(f, capture?.ranks ?? []) : null });
  }

  /** Whether settings that begin so are answered: an exported page has some. */
  private answered(about: string): boolean {
    return this.context.session.exported?.whatif.some((set) => set.startsWith(about)) ?? true;
  }

  private slider(p: Part): HTMLElement {
    const [title, help] = titles[p.id] ?? [p.id.slice("class:".length).replaceAll("_", " "), "time of kernels of this class"];
    const step = this.context.session.exported ? 0.25 : grain;
    const input = h("input", { type: "range", min: "0", max: String(this.context.session.exported ? 1 : most), step: String(step), id: "set-" + p.id, data: { part: p.id },
      disabled: !this.answered(about(this.rank(), p.id) + "=") });
    input.addEventListener("input", () => {
      this.say(p.id, input.value);
      this.set(about(this.rank(), p.id), input.value);
    });
    const peers = p.peers && h("button", { class: "peers choice-one", data: { peers: p.id }, title: "like the median of the other ranks", on: {
      click: () => this.set(about(this.rank(), p.id), this.settings().get(about(this.rank(), p.id)) === "peers" ? "1" : "peers"),
    } }, "like peers");
    return h("div", { class: "slider" },
      h("label", { for: "set-" + p.id, title: help }, title),
      h("span", { class: "path", title: "of the critical path" }, p.share >= 0.0005 ? percent(p.share) : ""),
      h("output", { for: "set-" + p.id, data: { said: p.id } }),
      p.id === "work" ? h("span", { class: "none" }) : input, peers);
  }

  private say(part: string, to: string): void {
    const out = this.panel.querySelector<HTMLElement>(`[data-said="${CSS.escape(part)}"]`);
    if (out) fill(out, worded(to));
  }

  /** Puts sliders where the address has them. */
  private place(): void {
    const settings = this.settings(), rank = this.rank(), all = write(settings);
    for (const b of this.panel.querySelectorAll<HTMLElement>("[data-fix]")) b.ariaPressed = String(b.dataset.fix === all);
    for (const input of this.panel.querySelectorAll<HTMLInputElement>("[data-part]")) {
      const part = input.dataset.part!, to = settings.get(about(rank, part)) ?? "1";
      if (document.activeElement !== input || to === "1") input.value = to === "peers" ? "1" : to;
      this.say(part, to);
      const peers = this.panel.querySelector<HTMLButtonElement>(`[data-peers="${CSS.escape(part)}"]`);
      if (peers) {
        peers.disabled = rank === "" || !this.answered(about(rank, part) + "=peers");
        peers.ariaPressed = String(to === "peers");
      }
    }
  }

  private show(): void {
    const a = this.answer!, { store, capture } = this.context;
    for (const p of this.plots.splice(0)) p.drop();
    const settings = [...this.settings()];
    const chips = settings.map(([what, to]) => h("button", { class: "chip", title: "reset", on: { click: () => store.set({ set: write(put(this.settings(), what, "1")) }) } },
      what, " ", h("b", null, worded(to)), " ×"));
    if (!a.known) {
      fill(this.outcome, h("h2", null, "Predicted step times"), h("p", { class: "caveat" }, h("strong", null, "Unknown: "), a.why + "."),
        h("p", { class: "note" }, "There is no prediction if the recorded steps cannot be replayed."));
      return;
    }
    const several = a.lengths.length > 1;
    const who = (ranks: number[]) => (several ? ", " + ranks.map((r) => capture?.ranks[r] ?? "#" + r).join(" ") : "");
    fill(this.outcome,
      h("h2", null, settings.length === 0 ? "Steps as recorded: move a slider" : "Predicted step times if ", ...chips),
      settings.length > 0 && h("p", null, h("a", { href: format(elsewhere(store.params, { tab: "timeline", set: store.params.set })) }, "Show in the timeline where each step would end")),
      h("div", { class: "cards" }, ...a.rows.map((r) => card(r, who(r.ranks)))),
      ...a.lengths.flatMap((l) => (l.steps.length === 0 ? [] : [h("figure", null,
        h("figcaption", null, h("span", null, "Length of each step" + who(l.ranks))),
        h("canvas", { tabindex: "0", role: "img", "aria-label": "Lengths of steps, as recorded and as predicted" }),
        h("p", { class: "keys" }, legendKey("--idle", "as recorded"), legendKey("--share", "as predicted")))])),
      h("p", { class: "note" }, `The steps are replayed from the recorded durations and dependencies. Without changes, the replay differs from the recording by ${error(a.off_median)} `
        + `(90th percentile ${error(a.off_p90)}). Unexplained gaps are ${error(a.unexplained)} of the critical path; they stay, as do batches, schedules and device clocks.`),
      a.command !== "" && h("p", { class: "note" }, "On the command line: ", h("code", { class: "command" }, a.command)));
    for (const [i, canvas] of this.outcome.querySelectorAll("canvas").entries()) {
      const plot = new StepsPlot(canvas, a.lengths.filter((l) => l.steps.length > 0)[i]);
      this.plots.push(plot);
      plot.draw();
    }
  }

  update(now: Params, before: Params): void {
    if (!this.answer) return;
    if (now.rank !== before.rank) this.controls();
    else this.place();
    if (now.set !== before.set) this.ask();
  }

  restyle(): void {
    for (const p of this.plots) p.draw();
  }

  close(): void {
    clearTimeout(this.later);
    this.asking.abort();
    for (const p of this.plots.splice(0)) p.drop();
    hideTip();
  }
}

/** What steps of a kind take and would take. */
function card(r: Row, who: string): HTMLElement {
  const change = r.without_ns / Math.max(r.step_ns, 1) - 1, same = Math.abs(change) < 0.0005;
  return h("div", { class: "card" },
    h("span", { class: "name" }, `${r.kind} step${who}`),
    h("b", null, duration(r.step_ns), !same && " → ", !same && duration(r.without_ns)),
    h("span", { class: same ? "soft" : change < 0 ? "better" : "worse" }, same ? "unchanged" : (change > 0 ? "+" : "") + percent(change)),
    !same && h("span", { class: "soft" }, `${duration(r.without_low_ns)} to ${duration(r.without_high_ns)} (95 %, ${r.steps} steps)`),
    r.tokens_per_s > 0 && h("span", { class: "soft" }, `${tokens(r.tokens_per_s)}${same ? "" : " → " + tokens(r.without_tokens_per_s)} output tokens/s`));
}

function tokens(v: number): string {
  return groupDigits(String(Math.round(v)));
}

/** Bars of steps: behind, what was; before, what would be. */
class StepsPlot extends Plot {
  private at = -1;

  constructor(canvas: HTMLCanvasElement, private readonly lengths: Lengths) {
    super(canvas, 260);
    const move = (e: PointerEvent) => {
      const a = this.area(), i = Math.floor(((e.offsetX - a.x) / a.w) * lengths.steps.length);
      this.point(i >= 0 && i < lengths.steps.length ? i : -1, e.offsetX, e.offsetY);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerleave", () => this.point(-1));
    canvas.addEventListener("blur", () => this.point(-1));
    canvas.addEventListener("keydown", (e) => {
      const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      if (by === 0) return;
      this.point(Math.min(Math.max(this.at + by, 0), lengths.steps.length - 1));
      e.preventDefault();
    });
  }

  private point(i: number, x?: number, y?: number): void {
    this.at = i;
    this.again();
    if (i < 0) return hideTip();
    const l = this.lengths, a = this.area(), change = l.would[i] / l.was[i] - 1;
    showTip(this.canvas, x ?? a.x + ((i + 0.5) / l.steps.length) * a.w, y ?? 20, {
      title: "step " + l.steps[i],
      rows: [["was", duration(l.was[i])], ["would be", duration(l.would[i])], ["change", (change > 0 ? "+" : "") + percent(change)]],
    });
  }

  override paint(pen: Pen): void {
    const { ctx, area, color } = pen, l = this.lengths, n = l.steps.length;
    let max = 1;
    for (let i = 0; i < n; i++) max = Math.max(max, l.was[i], l.would[i]);
    max *= 1.05;
    this.yAxis(pen, max, duration);
    const width = area.w / n, gap = width >= 5 ? 1 : 0;
    // Of more steps than pixels the longest of each pixel shows.
    const bars = (values: number[], inset: number, name: string) => {
      ctx.fillStyle = color(name);
      for (let i = 0; i < n; i++) {
        const high = (values[i] / max) * area.h;
        ctx.fillRect(area.x + i * width + inset, area.y + area.h - high, Math.max(width - gap - 2 * inset, 0.6), high);
      }
    };
    bars(l.was, 0, "idle");
    bars(l.would, width >= 12 ? width * 0.18 : 0, "share");
    ctx.fillStyle = color("soft");
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    const all = ticks(n, Math.max(area.w / 70, 2)), stride = Math.max(Math.round(all.length > 1 ? all[1] : 1), 1);
    for (let i = 0; i < n; i++) if (l.steps[i] % stride === 0) ctx.fillText(String(l.steps[i]), area.x + (i + 0.5) * width, area.y + area.h + 6);
  }

  override mark({ ctx, area, color }: Pen): void {
    if (this.at < 0) return;
    const width = area.w / this.lengths.steps.length;
    ctx.strokeStyle = color("mark");
    ctx.strokeRect(area.x + this.at * width + 0.5, area.y + 0.5, Math.max(width - 1, 1), area.h - 1);
  }
}

export const whatif: Tab = { id: "whatif", title: "What if", needs: "capture", open: (context) => new WhatIfView(context) };
