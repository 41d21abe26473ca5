import { h } from "../dom";
import type { Tab } from "../view";

export const kernels: Tab = {
  id: "kernels",
  title: "Kernels",
  needs: "capture",
  open: () => ({ el: h("div", null) }),
};
