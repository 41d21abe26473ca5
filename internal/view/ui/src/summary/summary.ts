import { h } from "../dom";
import type { Tab } from "../view";

export const summary: Tab = {
  id: "summary",
  title: "Summary",
  needs: "capture",
  open: () => ({ el: h("div", null) }),
};
