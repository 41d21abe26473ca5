import { h } from "../dom";
import type { Tab } from "../view";

export const live: Tab = {
  id: "live",
  title: "Live",
  needs: "server",
  open: () => ({ el: h("div", null) }),
};
