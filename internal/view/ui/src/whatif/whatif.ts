import { h } from "../dom";
import type { Tab } from "../view";

export const whatif: Tab = {
  id: "whatif",
  title: "What if",
  needs: "capture",
  open: () => ({ el: h("div", null) }),
};
