// The tab of servers that run: how each of their data-parallel ranks stands, and a button that records them.

import "./live.css";
import { duration, groupDigits, percent } from "../../../../web/format";
import { post } from "../api";
import { fill, h } from "../dom";
import { elsewhere, whole } from "../state";
import type { Context, Tab, View } from "../view";
import { type Capture, type Hello, History, type Mark, type Measure, measures, p99, type Sample, type Server, stalls, sum } from "./data";
import { type Sight, Spark } from "./spark";
import { Marked, Watched } from "./watch";

const titles: Record<Measure, string> = { running: "running", queued: "queued", tokens: "tokens/s", usage: "KV cache" };
const colors: Record<Measure, string> = { running: "k0", queued: "k3", tokens: "compute", usage: "k2" };

/** A value as it is shown. */
export function figure(measure: Measure, v: number | null | undefined): string {
  if (v === null || v === undefined) return "–";
  if (measure === "usage") return percent(v);
  return groupDigits(v < 10 && !Number.isInteger(v) ? v.toFixed(1) : String(Math.round(v)));
}

/** From where to where the small plots of a measure go. */
function scaleOf(measure: Measure, top: number): string {
  return top > 0 ? `0 to ${figure(measure, top)}` : "";
}

/** What a server is called: its role is said unless its name says it. */
function called({ name, role }: Server): string {
  return role === "" || name.toLowerCase().includes(role) ? name : `${role} ${name}`;
}

/** One row: a rank of a server. */
class Row {
  readonly el: HTMLTableRowElement;
  private readonly cells: { measure: Measure; value: HTMLElement; spark: Spark }[];

  constructor(private readonly server: number, private readonly dp: number, name: string) {
    this.cells = measures.map((measure) => ({ measure, value: h("b"), spark: new Spark(colors[measure]) }));
    this.el = h("tr", null, h("th", { scope: "row" }, name), ...this.cells.map((c) => h("td", { data: { title: titles[c.measure] } }, h("div", { class: "cell" }, c.spark.canvas, c.value))));
  }

  draw(history: History, tops: Record<Measure, number>, sight: Sight): void {
    const last = history.last(this.server)?.ranks.find((r) => r.dp === this.dp);
    for (const c of this.cells) {
      c.value.closest("td")!.dataset.title = titles[c.measure] + " " + scaleOf(c.measure, tops[c.measure]); // on phones, which have no head
      c.value.textContent = figure(c.measure, last?.[c.measure]);
      c.spark.draw(history.line(this.server, this.dp, c.measure), tops[c.measure], sight);
    }
  }
}

class LiveView implements View {
  readonly el = h("div", { class: "live" });
  private readonly events: EventSource;
  private history = new History(0);
  private servers: Server[] = [];
  private rows = new Map<string, Row>();
  private readonly cards = h("div", { class: "cards" });
  private readonly body = h("tbody");
  private readonly trouble = h("p", { class: "lost", role: "status", hidden: true });
  private readonly shot = h("section", { class: "shot" });
  private readonly steps = h("input", { type: "number", min: "1", max: "10000", "aria-label": "Forward steps" });
  private readonly button = h("button", { class: "button", on: { click: () => void this.record() } }, "Record");
  private readonly told = h("div", { class: "told", "aria-live": "polite" });
  private readonly requests = new Marked(h("canvas", { role: "img", "aria-label": "Requests running and queued over the last minutes" }), (v) => figure("running", v));
  private readonly output = new Marked(h("canvas", { role: "img", "aria-label": "Output tokens per second over the last minutes" }), (v) => figure("tokens", v));
  /** What a watch tells; null: nobody watches the servers. */
  private watched: Watched | null = null;
  /** The capture that was asked for here: its result opens when it is there. */
  private awaited = 0;
  private pending = 0;
  /** From where to where the small plots of a measure go. */
  private readonly scales = Object.fromEntries(measures.map((m) => [m, h("span", { class: "scale" })])) as Record<Measure, HTMLElement>;

  constructor(private readonly context: Context) {
    this.steps.value = String(whole(context.store.params, "steps", 10));
    this.steps.addEventListener("change", () => context.store.set({ steps: Math.min(Math.max(Number(this.steps.value) || 10, 1), 10000) }));
    context.keys.bind("r", "Live", "record a window of all ranks", () => void this.record());
    fill(this.el, h("p", { class: "soft" }, "Asking the servers…"));
    this.events = new EventSource("api/live");
    this.on("hello", (x: Hello) => this.hello(x));
    this.on("sample", (x: Sample) => this.sample(x));
    this.on("capture", (x: Capture) => this.capture(x));
    this.on("mark", (x: Mark) => this.mark(x));
    this.events.addEventListener("error", () => this.lost("stepscope does not answer: has it stopped?"));
  }

  private on<T>(name: string, run: (data: T) => void): void {
    this.events.addEventListener(name, (e) => run(JSON.parse((e as MessageEvent<string>).data) as T));
  }

  update(): void {
    this.steps.value = String(whole(this.context.store.params, "steps", 10));
  }

  restyle(): void {
    this.draw();
  }

  close(): void {
    this.events.close();
    cancelAnimationFrame(this.pending);
    this.requests.drop();
    this.output.drop();
    this.watched?.drop();
  }

  private lost(why: string): void {
    this.trouble.hidden = why === "";
    this.trouble.textContent = why;
  }

  private hello(x: Hello): void {
    this.servers = x.servers;
    this.history = new History(x.servers.length);
    for (const s of x.samples) this.history.add(s);
    this.rows.clear();
    this.lost("");
    fill(this.shot, h("label", null, "Record ", this.steps, " forward steps of all ranks "), this.button, this.told);
    this.button.disabled = !x.records;
    if (!x.records) fill(this.told, h("p", { class: "soft" }, x.servers.every((s) => s.url === "") ? "Recording needs a server, not only a log: give its --url." : "There is no directory for recordings: give --run-dir."));
    const key = (color: Measure, text: string) => {
      const i = h("i");
      i.style.background = `var(--${colors[color]})`;
      return h("span", { class: "key" }, i, text);
    };
    this.watched?.drop();
    this.watched = x.watched ? new Watched(x.marks, (capture) => this.open(capture)) : null;
    fill(this.el, this.trouble, this.cards, this.watched ? this.watched.told : this.shot,
      h("div", { class: "together" },
        h("figure", null, h("figcaption", null, "Requests ", key("running", "running"), key("queued", "queued")), this.requests.canvas),
        h("figure", null, h("figcaption", null, "Output tokens/s"), this.output.canvas), this.watched && this.watched.figure),
      h("div", { class: "scroll" }, h("table", { class: "ranks" },
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "rank"), ...measures.map((m) => h("th", { scope: "col" }, titles[m], " ", this.scales[m])))), this.body)),
      h("p", { class: "soft" }, `Servers are polled every ${duration(x.every_ms * 1e6)}${x.watched ? "" : " while a page shows them"}. All ranks share one scale.`));
    if (x.capture) this.capture(x.capture);
    this.draw();
  }

  private sample(s: Sample): void {
    this.history.add(s);
    this.draw();
  }

  private mark(m: Mark): void {
    this.watched?.add(m);
    this.draw();
  }

  /** Draws what there is, in the next frame. */
  private draw(): void {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    const last = this.servers.map((_, i) => this.history.last(i)), now = Math.max(...last.map((s) => s?.at_ms ?? 0));
    const tops = Object.fromEntries(measures.map((m) => [m, m === "usage" ? 1 : this.history.top(m)])) as Record<Measure, number>;
    const wanted: Row[] = [];
    this.servers.forEach((server, i) => {
      for (const dp of this.history.ranks(i)) {
        const key = `${i} ${dp}`, many = this.history.ranks(i).length > 1;
        const name = [this.servers.length > 1 ? called(server) : "", many ? "DP" + String(dp).padStart(2, "0") : ""].filter((s) => s !== "").join(" ") || server.name;
        let row = this.rows.get(key);
        if (!row || row.el.cells[0].textContent !== name) this.rows.set(key, (row = new Row(i, dp, name)));
        wanted.push(row);
      }
    });
    if (wanted.length !== this.body.rows.length || wanted.some((r, i) => this.body.rows[i] !== r.el)) fill(this.body, ...wanted.map((r) => r.el));
    for (const m of measures) this.scales[m].textContent = scaleOf(m, tops[m]);
    const sight = { now, span: this.history.span(now) };
    for (const r of wanted) r.draw(this.history, tops, sight);
    this.requests.show([{ line: this.history.total("running"), color: colors.running }, { line: this.history.total("queued"), color: colors.queued }], sight);
    this.output.show([{ line: this.history.total("tokens"), color: colors.tokens }], sight);
    if (this.watched) {
      this.watched.show(this.servers.map((_, i) => this.history.imbalance(i)), sight);
      this.requests.found(this.watched.marks);
      this.output.found(this.watched.marks);
    }
    const ranks = last.flatMap((s) => s?.ranks ?? []), worst = (of: "ttft" | "itl") => last.map((s) => s?.[of]).filter((q) => q != null).sort((a, b) => b.mean_ns - a.mean_ns)[0];
    const used = ranks.map((r) => r.usage).filter((u) => u !== null), ttft = worst("ttft"), itl = worst("itl");
    const card = (name: string, value: string, more: string) => h("div", { class: "card" }, h("span", null, name), h("b", null, value), h("span", null, more));
    fill(this.cards,
      card("Running", figure("running", sum(ranks.map((r) => r.running))), "requests"), card("Queued", figure("queued", sum(ranks.map((r) => r.queued))), "requests"),
      card("Output", figure("tokens", sum(last.map((s) => s?.tokens ?? null))), "tokens/s"), card("KV cache", used.length ? percent(Math.max(...used)) : "–", ranks.length > 1 ? "of the rank that uses most" : "in use"),
      card("TTFT", ttft ? duration(ttft.mean_ns) : "–", ttft ? "mean now; p99 " + p99(ttft) : "no first token at the moment"),
      card("Between tokens", itl ? duration(itl.mean_ns) : "–", itl ? "mean now; p99 " + p99(itl) : "no token at the moment"));
    const errors = last.map((s, i) => (s?.error ? `${this.servers[i].name}: ${s.error}` : s?.restarted ? `${this.servers[i].name} was restarted` : "")).filter((e) => e !== "");
    const held = this.servers.flatMap((s, i) => stalls(this.history.replies(i)).replace(/^./, (c) => `${called(s)} ${c}`) || []);
    this.lost([...errors, ...held].join("; "));
    this.el.dataset.drawn = String(now);
  }

  /** Has the server record, or stop recording. */
  private async record(): Promise<void> {
    if (this.button.disabled) return;
    try {
      if (this.button.dataset.stops) {
        await post("live/stop", {});
        return;
      }
      const steps = Math.min(Math.max(Math.round(Number(this.steps.value)) || 10, 1), 10000);
      this.awaited = (await post<Capture>("live/capture", { steps })).n;
    } catch (e) {
      fill(this.told, h("p", { class: "bad" }, e instanceof Error ? e.message : String(e)));
    }
  }

  private capture(c: Capture): void {
    const runs = c.state === "recording", { store } = this.context;
    this.button.textContent = runs ? "Stop" : "Record";
    if (runs) this.button.dataset.stops = "1";
    else delete this.button.dataset.stops;
    this.steps.disabled = runs;
    const open = c.state === "done" && h("p", null, "Kept as run ", h("button", { class: "link", on: { click: () => this.open(c.run) } }, c.run), ".");
    fill(this.told,
      runs && h("p", null, `Recording ${c.steps} steps…`),
      (c.state === "failed" || c.state === "stopped") && h("p", { class: "bad" }, c.error),
      open,
      c.now.length > 0 && h("pre", null, c.now.join("\n")),
      c.lines.length > 0 && h("details", { open: c.state === "failed" }, h("summary", null, "Messages"), h("pre", null, c.lines.join("\n"))));
    this.told.dataset.state = c.state;
    if (c.state === "done" && c.n === this.awaited) {
      this.awaited = 0;
      if (store.params.tab === "live") this.open(c.run);
    }
  }

  /** Shows what was recorded. */
  private open(run: string): void {
    const { store } = this.context;
    store.go(elsewhere(store.params, { tab: "summary", c: run, run: null }));
  }
}

/** How to have servers shown. */
function none(): View {
  return {
    el: h("div", { class: "live none" }, h("h2", null, "No server is shown"),
      h("p", null, "Give its URL: ", h("code", null, "stepscope view --url http://HOST:30000"), ". Its requests, tokens and cache are then shown here, rank by rank, and windows of all ranks can be recorded.")),
  };
}

export const live: Tab = {
  id: "live",
  title: "Live",
  needs: "server",
  open: (context) => (context.session.live ? new LiveView(context) : none()),
};
