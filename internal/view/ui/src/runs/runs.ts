import { h } from "../dom";
import type { Tab } from "../view";

export const runs: Tab = {
  id: "runs",
  title: "Runs",
  needs: "runs",
  open: () => ({ el: h("div", null) }),
};
