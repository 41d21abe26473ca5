import { h } from "../dom";
import type { Tab } from "../view";

export const bench: Tab = {
  id: "bench",
  title: "Benchmark",
  needs: "runs",
  open: () => ({ el: h("div", null) }),
};
