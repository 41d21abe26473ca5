// What leads from one view to another, by keys, buttons and links.

import type { Changes } from "../state";
import { alignments, aroundStep, read, windowOf } from "./address";
import { after, before } from "./flows";
import { listText } from "./groups";
import { medianRank } from "./heat";
import { between, type Lane, turned } from "./layout";
import type { Picture } from "./picture";
import { scrolled, unfolded } from "./reveal";
import { stepAtTime } from "./ruler";
import type { Which } from "./source";
import { bounded, framed, panned, type Range, zoomed } from "./scale";
import type { Link, Selected, Step } from "./wire";

/** Zooms that follow each other within so many ms are one gesture. */
const PAUSE = 700;

export class Moves {
  /** Writing the address waits until the view has come to rest. */
  private timer = 0;
  /** When zooming was last put into the address. */
  private zoomed = -Infinity;

  constructor(private readonly at: Picture) {}

  /** Shows a time. One that may be taken back, or comes with other changes, is in the address at once. */
  look(view: Range | null, how: "replace" | "push" = "replace", changes: Changes = {}): void {
    const { at } = this;
    if (view === null) return;
    const now = how === "push" || Object.keys(changes).length > 0;
    if (now && this.timer !== 0) this.keep(); // what was zoomed before has its own place in the history
    at.state.view = view;
    at.unpoint();
    at.draw("lanes", "overlay");
    if (now) at.store.set({ ...this.place(), ...changes }, how);
    else this.write();
  }

  private place(): Changes {
    const { state, body } = this.at;
    return { t0: Math.round(state.view.t0), t1: Math.round(state.view.t1), y: Math.round(body.scrollTop) || null };
  }

  /** Puts the view into the address, soon. */
  write(): void {
    clearTimeout(this.timer);
    this.at.wait("address");
    this.timer = window.setTimeout(() => this.keep(), 250);
  }

  /** Puts the view into the address. Zooming can be taken back: a gesture, to where it paused, has one place in the history. */
  private keep(): void {
    const { at } = this, { view } = at.state, before = read(at.store.params, at.head).view;
    clearTimeout(this.timer);
    this.timer = 0;
    const zooms = Math.abs((view.t1 - view.t0) / (before.t1 - before.t0) - 1) > 0.001, now = performance.now();
    at.store.set(this.place(), zooms && now - this.zoomed > PAUSE ? "push" : "replace");
    if (zooms) this.zoomed = now;
    at.state.view = view; // not rounded, so that zooming in and out comes back to where it was
    at.done("address");
  }

  /** What is shown is not in the address yet. */
  get pending(): boolean {
    return this.timer !== 0;
  }

  close(): void {
    clearTimeout(this.timer);
  }

  zoom(factor: number, x?: number): void {
    const { at } = this;
    this.look(zoomed(at.state.view, at.time(x ?? (at.pointer.x >= 0 ? at.pointer.x : at.width / 2)), factor, at.all));
  }

  pan(share: number): void {
    this.look(panned(this.at.state.view, share, this.at.all));
  }

  whole(): void {
    this.look(windowOf(this.at.head));
  }

  steps(first: number, last: number, how: "replace" | "push", changes: Changes = {}, of?: readonly Step[]): void {
    this.look(aroundStep(this.at.head, first, last, of), how, changes);
  }

  /** Selects a span and brings it into view. */
  go(l: Link, how: "replace" | "push" = "push", always = false): void {
    const { at } = this, { body } = at;
    const { open, only, place, plan } = unfolded(at, l), { start, end } = at.shown(l), y = scrolled(body, place);
    at.stretchTo(plan.height);
    body.scrollTop = y;
    this.look(framed(at.state.view, start, end - start, at.all, always), how, {
      rank: l.rank, sel: l.span, r0: null, r1: null, area: null, open: [...open].join(",") || null, only: listText(only), y: Math.round(y) || null,
    });
  }

  /** Shows the time of a span, if it is not seen well. */
  frame(l: Link): void {
    const { start, end } = this.at.shown(l);
    this.look(framed(this.at.state.view, start, end - start, this.at.all));
  }

  /** Unfolds the row of what is selected, and scrolls to it. */
  reveal(l: Link): void {
    const { at } = this, { open, only } = unfolded(at, l);
    if (open.size !== at.state.open.size || only.length !== at.state.only.length) at.store.set({ open: [...open].join(",") || null, only: only.join(",") || null });
    at.body.scrollTop = scrolled(at.body, at.plan.lanes.find((p) => p.lane === l.lane));
  }

  /** The rank of a cell beside the one with the median, aligned at its step. */
  compare(rank: number, step: number): void {
    const { head, heat, body } = this.at;
    const other = heat.cells === null ? -1 : medianRank(heat.cells.values, head.ranks.length, head.steps.length, step);
    const only = other < 0 || other === rank ? [rank] : [rank, other];
    body.scrollTop = 0;
    this.steps(step, step, "push", { only: only.join(","), align: "step", step, rank, sel: null, r0: null, r1: null, at: null, y: null });
  }

  /** The alignments that there are for this capture. */
  choices(): readonly { by: string; title: string; help: string }[] {
    const { head, source } = this.at;
    const there = (by: string) => (by === "collective" ? !source.exported || head.collectives : by !== "stretched" || !source.exported);
    return alignments.filter((a) => (a.by !== "stretched" && a.by !== "collective") || (head.stretch && there(a.by)));
  }

  private cycle(): void {
    const choices = this.choices(), at = choices.findIndex((a) => a.by === this.at.state.by);
    this.choose(choices[(at + 1) % choices.length].by);
  }

  /** Aligns at what is in the middle of the view, or at the collective that is selected. */
  choose(by: string): void {
    const { state, head, selected, store } = this.at, middle = Math.round((state.view.t0 + state.view.t1) / 2);
    const near = state.step >= 0 ? state.step : Math.max(stepAtTime(head.steps, middle), 0);
    const at = selected !== null && selected.last >= 0 ? selected.start_ns : middle;
    this.look(state.view, "push", { align: by === "wall" ? null : by, step: by === "step" ? near : (store.params.step ?? null), at: by === "collective" ? at : null });
  }

  private nextStep(by: number): void {
    const { state, head } = this.at, at = state.step >= 0 ? state.step : stepAtTime(head.steps, (state.view.t0 + state.view.t1) / 2);
    const to = Math.min(Math.max(at + by, 0), head.steps.length - 1);
    this.steps(to, to, "replace", { step: to });
  }

  async nextFound(back: boolean): Promise<void> {
    const { state, selected, source } = this.at;
    if (state.q === "") return;
    const after = selected !== null ? selected.start_ns : back ? state.view.t1 : state.view.t0;
    const f = await source.search(state.q, this.at.rows(), after, back);
    if (f.next !== null) this.go(f.next, "replace");
  }

  private async beside(back: boolean): Promise<void> {
    const { selected, source } = this.at, l = selected !== null ? await source.beside(selected, back) : await this.first();
    if (l !== null) this.go(l, "replace");
  }

  /** To another span of the same name on the rank of what is selected. */
  async alike(which: Which): Promise<void> {
    const { selected, source } = this.at, l = selected === null ? null : await source.alike(selected, which);
    if (l !== null) this.go(l);
  }

  /** The longest span in view on the first lane that has any. */
  private async first(): Promise<Link | null> {
    const { plan, body, state } = this.at;
    for (const l of between(plan.lanes, body.scrollTop, body.scrollTop + body.clientHeight)) {
      if (l.rank < 0) continue;
      const hit = await this.hit(l, state.view.t0, state.view.t1);
      if (hit !== null) return hit;
    }
    return null;
  }

  /** The longest span of a lane in a time that is shown. */
  hit(l: Lane, from: number, to: number): Promise<Link | null> {
    const by = this.at.alignment?.moved_ns[l.rank] ?? 0;
    return this.at.source.hit(l.lane, from - by, to - by, this.at.state.by === "stretched");
  }

  /** The span of the lane above or below that runs at the same time. */
  private async lanesAway(by: number): Promise<void> {
    const { selected, plan, body } = this.at;
    if (selected === null) return void (body.scrollTop += by * 48);
    for (let i = plan.lanes.findIndex((l) => l.lane === selected.lane) + by; i >= 0 && i < plan.lanes.length; i += by) {
      if (plan.lanes[i].rank < 0) continue;
      const { start, end } = this.at.shown(selected), hit = await this.hit(plan.lanes[i], start, end);
      if (hit !== null) return this.go(hit, "replace");
    }
  }

  /** To the counterpart on the next rank, or the one before. */
  private counterpart(by: number): void {
    const s = this.at.selected;
    if (s === null) return;
    const there = s.counterparts.filter((c) => c.span >= 0), after = there.filter((c) => (by > 0 ? c.rank > s.rank : c.rank < s.rank));
    const to = by > 0 ? (after[0] ?? there[0]) : (after[after.length - 1] ?? there[there.length - 1]);
    if (to !== undefined) this.go(to, "replace");
  }

  /** Shows a moment, with a twentieth of the capture around it. */
  moment(at: number, rank: number): void {
    const { all } = this.at, half = (all.t1 - all.t0) / 40;
    this.look(bounded({ t0: at - half, t1: at + half }, all), "push", rank >= 0 ? { rank, sel: null } : {});
  }

  /** Along the arrows of what is selected. */
  private along(to: (s: Selected) => Link | null): void {
    const l = this.at.selected === null ? null : to(this.at.selected);
    if (l !== null) this.go(l);
  }

  /** Unfolds or folds rows. */
  turn(what: string): void {
    this.at.store.set({ open: [...turned(this.at.state.open, what)].join(",") || null });
  }

  bind(): void {
    const { at } = this, { store, head } = at;
    const bind = (keys: string, help: string, run: () => void) => at.context.keys.bind(keys, "Timeline", help, run);
    bind("w +", "zoom in", () => this.zoom(0.75));
    bind("s -", "zoom out", () => this.zoom(1 / 0.75));
    bind("a ArrowLeft", "to the left", () => this.pan(-0.1));
    bind("d ArrowRight", "to the right", () => this.pan(0.1));
    bind("0 Home", "the whole capture", () => this.whole());
    bind("f", "fit the selection to the view", () => {
      const { selected, state } = at;
      if (selected !== null) this.go(selected, "push", true);
      else if (state.range !== null) this.look(framed(state.view, state.range.t0, state.range.t1 - state.range.t0, at.all, true), "push");
    });
    bind("m", "sum up the work during the selected span", () => {
      if (at.selected === null) return;
      const { start, end } = at.shown(at.selected);
      store.set({ r0: Math.round(start), r1: Math.round(Math.max(end, start + 1)), area: null, sel: null }, "push");
    });
    bind("[", "the previous step", () => this.nextStep(-1));
    bind("]", "the next step", () => this.nextStep(1));
    bind(".", "select the next span of the lane", () => void this.beside(false));
    bind(",", "and the previous one", () => void this.beside(true));
    if (!at.source.exported) { // an exported page does not know them
      bind("x", "the next span of the same name on the rank", () => void this.alike("next"));
      bind("X", "and the previous one", () => void this.alike("previous"));
      bind("L", "the longest span of the same name on the rank", () => void this.alike("longest"));
    }
    bind("y", "copy the details as text", () => at.panel.copy());
    bind("|", "move the details beside or below the rows", () => at.panel.dock.move());
    bind("ArrowDown", "select in the lane below", () => void this.lanesAway(1));
    bind("ArrowUp", "and in the lane above", () => void this.lanesAway(-1));
    bind("c", "to the counterpart on the next rank", () => this.counterpart(1));
    bind("C", "and on the previous rank", () => this.counterpart(-1));
    bind("<", "back along the arrows: from the GPU to its launch and op", () => this.along(before));
    bind(">", "and forward: to the GPU, and to the rank that came last", () => this.along(after));
    bind("A", "next way to align ranks", () => this.cycle());
    bind("h", "show or hide the map of ranks and steps", () => store.set({ heat: at.state.heat === "off" ? head.measure : "off" }));
    bind("K", "show or hide the counters", () => store.set({ counters: at.state.counters ? "off" : null }));
    bind("H", "next measure of the map", () => {
      const now = head.measures.findIndex((m) => m.id === at.state.heat);
      store.set({ heat: head.measures[(now + 1) % head.measures.length].id });
    });
    bind("g", "choose a what-if change", () => at.el.querySelector<HTMLElement>(".tl-whatif")?.focus());
    bind("u", "unfold or fold all rows of the rank", () => this.turn("r" + Math.max(at.state.rank, 0)));
    bind("r", "all ranks again", () => store.set({ only: null }));
    bind("/", "search names", () => at.search.focus());
    bind("n", "the next search result", () => void this.nextFound(false));
    bind("N", "and the previous one", () => void this.nextFound(true));
    bind("Escape", "clear the selection, then the search", () => {
      if (at.state.sel >= 0 || at.state.range !== null) at.clear();
      else store.set({ q: null });
    });
  }
}
