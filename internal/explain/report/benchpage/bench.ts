// The page of a benchmark.

import { plots, present, StepView } from "../../../web/plot";
import { enhance } from "../page/tables";
import { type BenchData, LatencyPlot, RunningPlot, several, SpreadPlot, TokensPlot } from "../../../web/bench";

/** What the colours of a plot mean. */
function legend(id: string, keys: [string, string][]) {
  const p = document.getElementById(id);
  for (const [name, text] of keys) {
    const span = document.createElement("span"), i = document.createElement("i");
    span.className = "key";
    i.style.background = `var(--${name})`;
    span.append(i, text);
    p?.append(span);
  }
}

const root = document.documentElement;
const broken = (what: unknown) => {
  root.dataset.error ??= String(what);
};
addEventListener("error", (e) => broken(e.message));
const data: BenchData = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
const view = new StepView(data.running.length);
try {
  const latency = new LatencyPlot("latency", 300, data, view);
  const log = document.getElementById("latency-log") as HTMLInputElement;
  log.addEventListener("change", () => {
    latency.log = log.checked;
    latency.draw();
  });
  if (!data.embedding) new TokensPlot("tokens", 170, data, view);
  new RunningPlot("running", 170, data, view);
  const both: [string, string][] = [["high", "failed"]];
  if (data.steady.length) both.push(["info", "steady window (shaded)"]);
  if (data.profiled.length) both.push(["k3", "captured window (shaded)"]);
  const touched: [string, string][] = data.touched.some((t) => t > 0) ? [["k4", "touched by it, excluded from figures"]] : [];
  legend("latency-keys", [...(data.embedding ? [] : ([["k1", "TTFT"]] as [string, string][])), ["k0", "E2E"], ...touched, ...both]);
  if (several(data)) legend("tokens-keys", [["compute", "busiest second"], ["k1", "mean"]]);
  legend("running-keys", [["host", "under way, maximum"], ...(data.embedding ? [] : ([["k0", "in decode, mean"]] as [string, string][])), ...both]);
  data.spreads.forEach((s) => new SpreadPlot("spread-" + s.name, 220, s));
  document.querySelectorAll("main .scroll table").forEach((t) => enhance(t as HTMLTableElement));
} catch (e) {
  broken(e);
}
present(() => plots.forEach((p) => p.draw()));
