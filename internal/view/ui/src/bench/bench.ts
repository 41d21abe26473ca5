// The tab of benchmark runs: one that is chosen, and another that it is compared with.

import "./bench.css";
import { json } from "../api";
import { fill, h } from "../dom";
import { elsewhere, format, type Params } from "../state";
import type { Context, Tab, View } from "../view";
import type { Compared, Requests, Run, Steps } from "./data";
import { RunPage } from "./page";

/** A run in the list, from load/runs. */
type Entry = { id: string; created: string; status: string; tags: string[]; model: string; numbers: { name: string; value: number; unit?: string }[]; traces: number };

/** What of the address is a matter of which data are shown. */
function what(p: Params, c: Context): string {
  return JSON.stringify([p.run ?? c.session.run, p.rep, p.vs]);
}

class Bench implements View {
  readonly el = h("div", { class: "bench" });
  private page: RunPage | null = null;
  private shown = "";
  private gone = new AbortController();

  constructor(private readonly context: Context) {
    const { keys } = context, page = (run: (p: RunPage) => void) => () => this.page && run(this.page);
    keys.bind("w +", "Benchmark", "zoom in", page((p) => p.zoom(0.5)));
    keys.bind("s -", "Benchmark", "zoom out", page((p) => p.zoom(2)));
    keys.bind("a", "Benchmark", "move to earlier times", page((p) => p.pan(-0.25)));
    keys.bind("d", "Benchmark", "move to later times", page((p) => p.pan(0.25)));
    keys.bind("0", "Benchmark", "show the whole run", page((p) => p.whole()));
    keys.bind("c", "Benchmark", "show the captured window", page((p) => p.captured()));
    keys.bind("j", "Benchmark", "next request", page((p) => p.next(1)));
    keys.bind("k", "Benchmark", "previous request", page((p) => p.next(-1)));
    keys.bind("Escape", "Benchmark", "clear the selection", page((p) => p.release()));
    this.open();
  }

  update(now: Params): void {
    if (what(now, this.context) === this.shown) this.page?.follow(now);
    else this.open();
  }

  restyle(): void {
    this.page?.restyle();
  }

  close(): void {
    this.gone.abort();
    this.page?.close();
  }

  private open(): void {
    const { store, session } = this.context, p = store.params, run = p.run ?? session.run;
    this.close();
    this.page = null;
    this.shown = what(p, this.context);
    this.gone = new AbortController();
    if (run === "") void this.choose();
    else void this.show(run, p.rep, p.vs);
  }

  /** The runs that there are. */
  private async choose(): Promise<void> {
    const { signal } = this.gone, all = await json<Entry[]>("load/runs", {}, signal);
    if (signal.aborted) return;
    if (all.length === 0) {
      fill(this.el, h("div", { class: "none" }, h("h2", null, "No benchmark run yet"), h("p", null, "Each ", h("code", null, "stepscope bench serving --url http://HOST:30000"), " keeps one; with ", h("code", null, "--profile"), " it also records steps.")));
      return;
    }
    const names = ["request throughput", "output throughput", "TTFT p50", "TTFT p99", "ITL p50", "ITL p99"];
    fill(this.el, h("h2", null, "Benchmark runs"), h("div", { class: "scroll" }, h("table", null,
      h("thead", null, h("tr", null, h("th", null, "run"), h("th", null, "model"), h("th", null, "tags"), ...names.map((n) => h("th", { class: "r" }, n)), h("th", null, "steps"))),
      h("tbody", null, ...all.map((e) => h("tr", null,
        h("td", null, h("a", { href: this.at({ run: e.id }) }, e.id), e.status !== "complete" && h("span", { class: "soft" }, " " + e.status)), h("td", null, e.model), h("td", null, e.tags.join(", ")),
        ...names.map((name) => {
          const n = e.numbers.find((x) => x.name === name);
          return h("td", { class: "r" }, n ? `${n.value.toPrecision(3)} ${n.unit ?? ""}` : "–");
        }), h("td", null, e.traces > 0 ? "recorded" : "")))))));
  }

  private at(changes: Record<string, string | null>): string {
    return format(elsewhere(this.context.store.params, { tab: "bench", ...changes }));
  }

  private async show(id: string, rep: string | undefined, vs: string | undefined): Promise<void> {
    const { signal } = this.gone, { store, session } = this.context, params = { run: id, rep };
    const other = vs === undefined || vs === id ? null : { run: vs };
    const [run, requests, before, compared] = await Promise.all([
      json<Run>("load", params, signal),
      json<Requests>("load/requests", params, signal),
      other && json<Run>("load", other, signal),
      other && json<Compared>("load/compare", { run: id, vs }, signal),
    ]);
    if (signal.aborted) return;
    const page = (this.page = new RunPage(store, run, requests, before, compared));
    fill(this.el, page.el);
    page.start();
    const pick = page.against;
    if (!session.exported) {
      const all = await json<Entry[]>("load/runs", {}, signal);
      if (signal.aborted) return;
      fill(pick, h("option", { value: "" }, "no other run"), ...all.filter((e) => e.id !== id).map((e) => h("option", { value: e.id }, [e.id, ...e.tags].join(" "))));
      pick.value = vs ?? "";
      pick.addEventListener("change", () => store.set({ vs: pick.value || null }, "push"));
      pick.disabled = pick.options.length < 2;
    }
    if (run.recorded) {
      try {
        const steps = await json<Steps>("load/steps", { run: id }, signal);
        if (!signal.aborted && steps.rep === run.rep) page.join(steps);
        else if (!signal.aborted) page.unjoined(`steps were recorded in repetition ${steps.rep + 1} of this load`);
      } catch (e) {
        if (signal.aborted) return;
        page.unjoined(e instanceof Error ? e.message : String(e));
      }
    }
  }
}

export const bench: Tab = {
  id: "bench",
  title: "Benchmark",
  needs: "runs",
  open: (context) => new Bench(context),
};
