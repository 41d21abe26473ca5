import { h } from "../dom";
import type { Tab } from "../view";

export const timeline: Tab = {
  id: "timeline",
  title: "Timeline",
  needs: "capture",
  open: () => ({ el: h("div", null) }),
};
