// Starts the page. Its state is in data attributes of <html>: data-ready once everything is drawn, data-error with the
// first error.

import { drawSteps } from "../../../web/bars";
import { drawMaps } from "../../../web/heat";
import { drawLight } from "../../../web/light";
import { plots, present, StepView } from "../../../web/plot";
import { type Data, StepPlot } from "../../../web/steps";
import { drawMemory } from "./memory";
import { enhance } from "./tables";

const root = document.documentElement;
const broken = (what: unknown) => {
  if (root.dataset.error) return;
  root.dataset.error = String(what);
  const p = document.createElement("p");
  p.className = "caveat error";
  p.textContent = "An error in this page: some plots are missing: " + what;
  document.querySelector("header")?.append(p);
};
addEventListener("error", (e) => broken(e.message));
addEventListener("unhandledrejection", (e) => broken(e.reason));

const data: Data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
const view = new StepView(data.grid.cols);
// An error in one plot must not affect the others.
for (const part of [() => drawMaps(data, view), () => drawSteps(data, view), () => drawMemory(data), () => drawLight(data),
  () => document.querySelectorAll("main .scroll table").forEach((t) => enhance(t as HTMLTableElement))]) {
  try {
    part();
  } catch (e) {
    broken(e);
  }
}

// A link of a finding also marks its cell in the plots; the linked row is shown whatever the filter.
for (const link of (document.querySelectorAll("a[data-step]") as NodeListOf<HTMLElement>)) {
  link.addEventListener("click", () => {
    const map = document.querySelector(`${link.getAttribute("href")} canvas`);
    const plot = plots.find((p) => p instanceof StepPlot && (!map || p.canvas === map));
    if (!(plot instanceof StepPlot)) return;
    const col = plot.colOf(Number(link.dataset.step));
    if (!map) return view.point(col);
    plot.canvas.focus({ preventScroll: true });
    plot.point(col, Number(link.dataset.rank ?? 0));
  });
}
const follow = () => {
  const row = location.hash && document.getElementById(location.hash.slice(1));
  if (!(row instanceof HTMLTableRowElement) || !row.hidden) return;
  row.closest("table")?.dispatchEvent(new Event("reveal"));
  row.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", follow);

for (const command of document.querySelectorAll(".command")) {
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "copy";
  copy.setAttribute("aria-label", "copy " + command.textContent);
  copy.addEventListener("click", async () => {
    getSelection()?.selectAllChildren(command); // without access to the clipboard, the user copies the selection
    await navigator.clipboard?.writeText(command.textContent ?? "").then(() => (copy.textContent = "copied"), () => {});
  });
  command.after(" ", copy);
}

const redraw = () => {
  for (const p of plots) {
    try {
      p.draw();
    } catch (e) {
      broken(e);
    }
  }
};
present(redraw);
follow();
