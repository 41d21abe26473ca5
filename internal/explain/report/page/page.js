// @ts-check
"use strict";
// Starts everything. The state of the page stands in data attributes of <html>:
// data-ready when all is drawn, data-error with the first thing that went wrong.

(() => {
  const root = document.documentElement;
  /** @param {unknown} what */
  const broken = (what) => {
    if (root.dataset.error) return;
    root.dataset.error = String(what);
    const p = document.createElement("p");
    p.className = "caveat error";
    p.textContent = "An error in this page: some plots are missing: " + what;
    document.querySelector("header")?.append(p);
  };
  addEventListener("error", (e) => broken(e.message));
  addEventListener("unhandledrejection", (e) => broken(e.reason));

  /** @type {Data} */
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
  const view = new StepView(data.grid.cols);
  // A fault in one picture must not take the others with it.
  for (const part of [() => drawMaps(data, view), () => drawSteps(data, view), () => drawMemory(data),
    () => document.querySelectorAll("main .scroll table").forEach((t) => enhance(/** @type {HTMLTableElement} */ (t)))]) {
    try {
      part();
    } catch (e) {
      broken(e);
    }
  }

  for (const button of document.querySelectorAll(".goto")) {
    button.addEventListener("click", () => {
      const step = Number(/** @type {HTMLElement} */ (button).dataset.step);
      const plot = plots.find((p) => p instanceof StepPlot);
      if (plot instanceof StepPlot) view.point(plot.colOf(step));
    });
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
})();
