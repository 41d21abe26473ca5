// The page of a run: its plots over one axis, its requests and recorded steps, what is chosen of them, its figures.

import { json } from "../api";
import { fill, h } from "../dom";
import { duration } from "../../../../web/format";
import { type Plot, StepView } from "../../../../web/plot";
import { LatencyPlot, RunningPlot, several, SpreadPlot, TokensPlot } from "../../../../web/bench";
import { elsewhere, format, type Params, type Store, whole } from "../state";
import { table } from "./table";
import { BarsPlot, laneName, LanesPlot } from "./axis";
import type { Compared, Place, Request, Requests, Run, Slow, Step, Steps, Timeline } from "./data";
import { requestPanel, waited } from "./request";

/** The narrowest stretch that is shown, ns. */
const narrowest = 200_000;

/** How long the window must rest until what is in it is asked for, ms. */
const rest = 120;

export class RunPage {
  readonly el: HTMLElement;
  /** Chooses the run that this one is compared with; filled by whoever knows the runs. */
  readonly against = h("select", { "aria-label": "Compare with" });
  private readonly view: StepView;
  private readonly plots: Plot[] = [];
  private readonly latency: LatencyPlot;
  private tokens: TokensPlot | null = null;
  private readonly rate = h("span");
  private readonly binned: (TokensPlot | RunningPlot)[] = [];
  private readonly bars: BarsPlot;
  private lanes: LanesPlot | null = null;
  private steps: Steps | null = null;
  private readonly strip = h("div", { class: "strip" });
  private readonly slow = h("section", { class: "slow" });
  private readonly side = h("div", { class: "side" });
  private readonly note = h("span", { class: "soft" });
  private chosen = "";
  private timer = 0;

  constructor(
    private readonly store: Store, private readonly run: Run, private requests: Requests, before: Run | null, compared: Compared | null,
  ) {
    const d = run.plots;
    this.view = new StepView(d.running.length, narrowest / d.bin_ns);
    const canvas = (name: string) => h("canvas", { tabindex: "0", role: "img", "aria-label": name });
    const figure = (title: string | HTMLElement, keys: [string, string][], c: HTMLElement, ...tools: (HTMLElement | string)[]) =>
      h("figure", null, h("figcaption", null, typeof title === "string" ? h("span", null, title) : title, h("span", { class: "keys" }, ...keys.map(([color, text]) => key(color, text)), ...tools)), c);

    const shaded: [string, string][] = [...(d.steady.length ? [["info", "steady"] as [string, string]] : []), ...(d.profiled.length ? [["k3", "captured window"] as [string, string]] : [])];
    const log = h("input", { type: "checkbox" });
    log.checked = true;
    log.addEventListener("change", () => {
      this.latency.log = log.checked;
      this.latency.draw();
    });
    const dots = canvas(`Latency of requests by ${d.at_once ? "end" : "send"} time`);
    this.latency = new LatencyPlot(dots, 220, d, this.view);
    this.latency.whenClicked((x, y) => {
      const i = this.latency.near(x, y);
      this.choose(i < 0 ? null : d.index[i]);
    });
    const running = new RunningPlot(canvas("Requests in progress over time"), 100, d, this.view, false);
    running.queue = run.server;
    this.binned.push(running);
    this.plots.push(this.latency, running);
    const tokens = d.embedding ? null : new TokensPlot(canvas("Output tokens per second over time"), 100, d, this.view, false);
    if (tokens) {
      this.tokens = tokens;
      this.rate.textContent = tokens.title();
      this.binned.push(tokens);
      this.plots.push(tokens);
    }
    this.bars = new BarsPlot(canvas("Requests as bars over time"), d, this.view, requests);
    this.bars.whenChosen = (index) => this.choose(index);
    this.plots.push(this.bars);

    const touched: [string, string][] = d.touched.some((t) => t > 0) ? [["k4", "affected by it: excluded from figures"]] : [];
    const latencies: [string, string][] = d.embedding ? [["k0", "E2E"]] : [["k1", "TTFT"], ["k0", "E2E"]];
    const spreads = d.spreads.map((s) => {
      const plot = new SpreadPlot(canvas(s.title + " by percentile"), 190, s);
      plot.other = before?.plots.spreads.find((o) => o.name === s.name) ?? null;
      this.plots.push(plot);
      return figure(s.title, plot.other ? [["k0", "this run"], ["k4", "before"]] : [], plot.canvas, h("span", { class: "soft" }, s.note));
    });

    this.el = h("div", { class: "run" },
      h("header", null,
        h("div", { class: "what" }, h("h2", null, run.title), h("p", { class: "verdict" }, run.verdict), ...run.next.map((n) => h("p", { class: "next" }, n)),
          h("p", { class: "facts" }, [run.id, ...run.tags, ...run.head].join(" · "))),
        h("div", { class: "choices" }, this.repetitions(), h("label", null, "against ", this.against))),
      h("div", { class: "cards" }, ...run.cards.map((c, i) => h("div", { class: "card" }, h("span", null, c.name), h("b", null, c.value),
        h("span", null, c.more), before?.cards[i]?.name === c.name && h("span", { class: "before" }, "before: " + before.cards[i].value)))),
      compared && comparison(compared),
      h("div", { class: "axis" },
        h("div", { class: "plots" },
          figure(d.embedding ? "E2E of each request" : "TTFT and E2E of each request", [...latencies, ...touched, ["high", "failed"], ...shaded], dots, h("label", null, log, " logarithmic")),
          tokens && figure(this.rate, several(d) ? [["compute", "busiest second"], ["k1", "mean"]] : [], tokens.canvas),
          figure("Requests", [["host", "in progress"], ...(d.embedding ? [] : ([["k0", "in decode"]] as [string, string][])), ...(run.server.length ? ([["k3", "queued, as reported by the server"]] as [string, string][]) : [])], running.canvas),
          this.strip,
          figure("Requests one by one", [["k1", "until the first token"], ["k0", "decode"], ["k4", "end"], ["high", "failed"]], this.bars.canvas, this.note),
          h("p", { class: "hint" }, "Drag to zoom all plots, double-click to show the whole run. Click a dot or a bar to see the waits of its request.")),
        this.side),
      this.slow,
      h("section", null, h("h3", null, "Distributions"), h("div", { class: "spreads" }, ...spreads)),
      h("section", { class: "said" }, h("h3", null, "Other facts"), h("dl", null, ...run.facts.flatMap((f) => [h("dt", null, f.label), h("dd", { class: f.severity && "fact-" + f.severity }, f.text)]))),
      ...run.tables.map((t) => h("section", null, h("h3", null, t.title), table(t))));
    this.view.whenMoved = () => this.moved();
    if (run.recorded) fill(this.strip, h("p", { class: "soft" }, "Reading the recorded steps…"));
  }

  /** Draws, once it is in the document. */
  start(): void {
    this.follow(this.store.params);
    this.restyle();
  }

  restyle(): void {
    for (const p of this.plots) p.draw();
  }

  close(): void {
    clearTimeout(this.timer);
    for (const p of this.plots) p.drop();
  }

  private repetitions(): HTMLElement | null {
    const { run } = this;
    if (run.reps < 2) return null;
    const pick = h("select", { "aria-label": "Repetition" }, ...Array.from({ length: run.reps }, (_, i) => h("option", { value: i }, `run ${i + 1} of ${run.reps}`)));
    pick.value = String(run.rep);
    pick.addEventListener("change", () => this.store.set({ rep: pick.value, req: null, pass: null, lane: null }, "push"));
    return pick;
  }

  /** What the address says beside which run it is: the stretch, and what is chosen. */
  follow(now: Params): void {
    const bin = this.run.plots.bin_ns, end = this.run.plots.running.length * bin;
    const from = whole(now, "b0", 0) / bin, to = whole(now, "b1", end) / bin;
    if (Math.abs(from - this.view.lo) > 1e-6 || Math.abs(to - this.view.hi) > 1e-6) this.view.zoom(from, to);
    const chosen = JSON.stringify([now.req, now.lane, now.pass]);
    if (chosen === this.chosen) return;
    this.chosen = chosen;
    if (now.req !== undefined) void this.showRequest(whole(now, "req", -1));
    else if (now.pass !== undefined && this.steps) void this.showStep({ lane: whole(now, "lane", 0), step: whole(now, "pass", -1) });
    else this.bare();
  }

  /** The window has moved: the address says so, and what is in it is asked for once it rests. */
  private moved(): void {
    const bin = this.run.plots.bin_ns, all = this.view.hi - this.view.lo >= this.view.cols - 1e-9;
    this.store.set({ b0: all ? null : this.view.lo * bin, b1: all ? null : this.view.hi * bin });
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refine(), rest);
  }

  /** Brings finer bins, and the requests in sight where not all are there. */
  private async refine(): Promise<void> {
    const d = this.run.plots, { lo, hi } = this.view, params = { run: this.run.id, rep: this.run.rep, from: Math.round(Math.max(lo * d.bin_ns, 0)), to: Math.round(hi * d.bin_ns) };
    const narrow = hi - lo < this.view.cols / 2 && d.bin_ns > 1e6;
    const [fine, requests] = await Promise.all([
      narrow ? json<Timeline>("load/timeline", params) : null,
      this.requests.of > this.requests.index.length || this.requests.of < this.run.plots.at.length ? json<Requests>("load/requests", params) : null,
    ]);
    if (lo !== this.view.lo || hi !== this.view.hi) return;
    for (const p of this.binned) {
      p.fine = fine;
      p.draw();
    }
    if (this.tokens) this.rate.textContent = this.tokens.title();
    if (requests) this.take(requests);
  }

  private take(requests: Requests): void {
    this.requests = requests;
    this.bars.show(requests);
    const left = requests.of - requests.index.length;
    this.note.textContent = left > 0 ? `${requests.index.length} of ${requests.of} shown` : "";
  }

  zoom(by: number): void {
    const mid = this.view.col >= 0 ? this.view.col + 0.5 : (this.view.lo + this.view.hi) / 2, half = ((this.view.hi - this.view.lo) / 2) * by;
    this.view.zoom(mid - half, mid + half);
  }

  pan(by: number): void {
    const d = (this.view.hi - this.view.lo) * by;
    this.view.zoom(this.view.lo + d, this.view.hi + d);
  }

  whole(): void {
    this.view.zoom(0, this.view.cols);
  }

  /** The captured window fills the axis: that which was recorded, or what it touched. */
  captured(): void {
    const recorded = this.steps?.lanes.flatMap((l) => l.windows) ?? [], all = recorded.length ? recorded : this.run.plots.profiled;
    if (all.length === 0) return;
    const from = Math.min(...all.map((s) => s.from)), to = Math.max(...all.map((s) => s.to)), room = (to - from) * 0.03;
    this.view.zoom((from - room) / this.run.plots.bin_ns, (to + room) / this.run.plots.bin_ns);
  }

  /** Chooses a request, or none. */
  private choose(index: number | null): void {
    this.store.set({ req: index, lane: null, pass: null }, "push");
  }

  release(): void {
    if (this.store.params.req !== undefined || this.store.params.pass !== undefined) this.choose(null);
    else this.whole();
  }

  /** Goes to the next request, by the time of sending. */
  next(by: number): void {
    const order = this.requests.index, at = order.indexOf(whole(this.store.params, "req", -1));
    const to = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : Math.min(Math.max(at + by, 0), order.length - 1)];
    if (to !== undefined) this.store.set({ req: to, lane: null, pass: null });
  }

  /** Nothing is chosen. */
  private bare(): void {
    this.latency.chosen = -1;
    this.latency.again();
    this.bars.light(-1, []);
    this.lanes?.light(null);
    this.panel(null);
  }

  private panel(el: HTMLElement | null): void {
    fill(this.side, el);
    this.el.classList.toggle("open", el !== null);
  }

  private async showRequest(index: number): Promise<void> {
    const chosen = this.chosen, r = await json<Request>("load/request", { run: this.run.id, rep: this.run.rep, index });
    if (chosen !== this.chosen) return;
    this.latency.chosen = this.run.plots.index.indexOf(index);
    this.latency.again();
    this.bars.light(index, r.with.map((o) => o.index));
    this.lanes?.light(r.steps.length ? r.steps : null);
    this.panel(requestPanel(r, this.steps, { request: (i) => this.choose(i), timeline: (lane, from, to) => this.timeline(lane, from, to), close: () => this.choose(null) }));
  }

  private async showStep(p: Place): Promise<void> {
    const chosen = this.chosen, l = this.steps?.lanes[p.lane];
    const got = await json<Step>("load/step", { run: this.run.id, lane: p.lane, step: p.step });
    if (chosen !== this.chosen || !this.steps || !l) return;
    this.latency.chosen = -1;
    this.latency.again();
    this.bars.light(-1, got.with.map((w) => w.index));
    this.lanes?.light([p]);
    const href = this.timeline(p.lane, l.from[p.step], l.to[p.step]);
    this.panel(h("aside", { class: "panel", "aria-label": "Step " + p.step },
      h("header", null, h("h2", null, `Step ${p.step}`), h("button", { class: "quiet", title: "Close (Esc)", "aria-label": "Close", on: { click: () => this.choose(null) } }, "×")),
      h("p", null, h("code", null, this.steps.names[l.name[p.step]])),
      h("dl", null, h("dt", null, "where"), h("dd", null, laneName(l)), h("dt", null, "kind"), h("dd", null, this.steps.kinds[l.kind[p.step]]),
        h("dt", null, "from"), h("dd", null, duration(l.from[p.step])), h("dt", null, "took"), h("dd", null, duration(l.to[p.step] - l.from[p.step]))),
      href && h("p", null, h("a", { href }, "show in the timeline")),
      h("section", null, h("h3", null, got.with.length ? "Requests in this step" : "No request of this load was in this step"), h("p", { class: "chips" }, ...got.with.map((w) =>
        h("button", { class: "chip", title: w.id, on: { click: () => this.choose(w.index) } }, String(w.index)))))));
  }

  /** The address of the timeline at a stretch. */
  private timeline(lane: number, from: number, to: number): string | null {
    const l = this.steps?.lanes[lane];
    if (!l) return null;
    const room = Math.max((to - from) * 0.05, 10_000);
    return format(elsewhere(this.store.params, { tab: "timeline", c: l.capture, t0: from + l.shift - room, t1: to + l.shift + room }));
  }

  /** Takes in the steps that were recorded. */
  join(steps: Steps): void {
    this.steps = steps;
    const c = h("canvas", { tabindex: "0", role: "img", "aria-label": "Recorded steps over time" });
    fill(this.strip, h("figure", null,
      h("figcaption", null, h("span", null, "Steps that were recorded"), h("span", { class: "keys" },
        ...steps.kinds.map((k, i) => key(["k0", "k1", "k2", "k3", "k4"][["decode", "prefill", "mixed", "other", "idle"].indexOf(k)] ?? "k" + (i % 5), k)),
        h("button", { class: "link", title: "Key: c", on: { click: () => this.captured() } }, "zoom to them"))), c));
    this.lanes = new LanesPlot(c, this.run.plots, this.view, steps);
    this.lanes.whenChosen = (p) => this.store.set({ req: null, lane: p.lane, pass: p.step }, "push");
    this.plots.push(this.lanes);
    this.lanes.draw();
    fill(this.slow, h("h3", null, "Waits of the slow requests", h("span", { class: "soft" }, steps.steps_by === "time" ? ", by time" : ", by request id")), h("div", { class: "tails" },
      this.run.plots.embedding ? null : this.tail("TTFT", steps.ttft), this.tail("Time between tokens", steps.itl)),
      ...steps.notes.map((n) => h("p", { class: "soft" }, n)));
    this.chosen = "";
    this.follow(this.store.params);
  }

  /** The steps cannot be laid beside the load. */
  unjoined(why: string): void {
    fill(this.strip, h("p", { class: "soft" }, "The waits of requests in recorded steps are unknown: " + why));
  }

  private tail(name: string, t: Slow): HTMLElement {
    const cases = [...new Set(t.cases)];
    return h("div", null, h("h4", null, name, h("span", { class: "soft" }, t.n ? `, p99 of ${t.n}: ${duration(t.p99_ns)}` : "")),
      cases.length === 0 ? h("p", { class: "soft" }, "none in the recorded window") : waited(t.parts, true),
      t.below && h("p", { class: "soft" }, "none at or above p99 is in the recorded window: this is the slowest one there"),
      h("p", { class: "chips" }, ...cases.slice(0, 24).map((i) => h("button", { class: "chip", title: "what request " + i + " waited for", on: { click: () => this.choose(i) } }, String(i)))));
  }
}

function key(color: string, text: string): HTMLElement {
  const i = h("i");
  i.style.background = `var(--${color})`;
  return h("span", { class: "key" }, i, text);
}

function comparison(c: Compared): HTMLElement {
  return h("section", { class: "compared" }, h("h3", null, "B against A"),
    h("dl", null, h("dt", null, "A"), h("dd", null, c.sides[0]), h("dt", null, "B"), h("dd", null, c.sides[1])),
    h("p", { class: "verdict" }, c.verdict), c.unlike.length > 0 && h("ul", null, ...c.unlike.map((u) => h("li", null, u))),
    ...c.tables.map((t) => table(t)), ...c.notes.map((n) => h("p", { class: "soft" }, n)));
}
