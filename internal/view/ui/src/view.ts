// What a view is: the content of one tab.

import type { Head, Session } from "./api";
import type { Keys } from "./keys";
import type { Params, Store } from "./state";

/** What views are given. */
export interface Context {
  session: Session;
  store: Store;
  keys: Keys;
  /** The capture that the address means; none: there is none. */
  capture: Head | undefined;
}

/** A view that is shown. */
export interface View {
  el: HTMLElement;
  /** The address has changed, but neither the tab nor the capture. */
  update?(now: Params, before: Params): void;
  /** The theme has changed: canvases are to be drawn again. */
  restyle?(): void;
  /** It is shown no more. Keys that it has bound are let go by whoever opened it. */
  close?(): void;
}

/** A tab. */
export interface Tab {
  id: string;
  title: string;
  /** What it needs to show anything. */
  needs: "capture" | "light" | "tables" | "server" | "runs" | "nothing";
  open(context: Context): View;
}
