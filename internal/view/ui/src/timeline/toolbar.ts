// The line of tools above the timeline.

import { fill, h } from "../dom";
import { ranksText } from "./groups";
import type { Moves } from "./moves";
import type { Picture } from "./picture";
import type { Ranks } from "./ranks";

export function toolbar(el: HTMLElement, at: Picture, moves: Moves, ranks: Ranks, length: HTMLElement): void {
  const label = (e: Element) => e.getAttribute("aria-label") ?? e.textContent;
  const { state, head, store, search, ghosts } = at, focus = el.contains(document.activeElement) ? label(document.activeElement!) : null, map = state.heat !== "off";
  const where = state.by === "step" ? `at step ${state.step}` : state.by === "collective" ? "at the one nearest to the middle" : "between collectives";
  fill(el, search,
    h("span", { role: "group", "aria-label": "Align ranks by (key: A)" }, ...moves.choices().map((a) =>
      h("button", { class: "choice", title: a.help, "aria-pressed": String(a.by === state.by), data: { align: a.by }, on: { click: () => moves.choose(a.by) } }, a.title))),
    state.by !== "wall" && h("span", { class: "tl-soft" }, where),
    state.only.length > 0 && h("span", { class: "tl-only" }, "only " + ranksText(head, state.only),
      h("button", { class: "quiet", title: "All ranks (key: r)", "aria-label": "All ranks", on: { click: () => store.set({ only: null }) } }, "✕")),
    ...ranks.tools(),
    state.by === "wall" && head.steps.length > 1 && ghosts.picker(head.ranks, state.rank, at.context.capture?.fixes ?? [], (set) => store.set({ set }, "push")),
    state.by === "wall" && ghosts.outcome() !== "" && h("span", { class: "tl-soft tl-outcome", title: ghosts.outcome() }, ghosts.outcome()),
    h("span", { class: "tl-view" },
      head.steps.length > 1 && h("button", { class: "button", "aria-pressed": String(map), title: "Ranks × steps (key: h)", on: { click: () => store.set({ heat: map ? "off" : head.measure }) } }, "map"),
      head.counters > 0 && h("button", { class: "button", "aria-pressed": String(state.counters), title: "Memory, requests, clocks (key: K)", on: { click: () => store.set({ counters: state.counters ? "off" : null }) } }, "counters"),
      h("button", { class: "button", title: "The whole capture (key: 0)", on: { click: () => moves.whole() } }, "whole"),
      h("button", { class: "button", "aria-label": "Zoom out", title: "Zoom out (key: s)", on: { click: () => moves.zoom(2, at.width / 2) } }, "−"),
      h("button", { class: "button", "aria-label": "Zoom in", title: "Zoom in (key: w)", on: { click: () => moves.zoom(0.5, at.width / 2) } }, "+"),
      length));
  if (focus !== null) [...el.querySelectorAll<HTMLElement>("input, select, button")].find((e) => label(e) === focus)?.focus();
}
