// What the pointer does: wheel, drag and click as in Perfetto.

import { duration, percent } from "../../../../web/format";
import { hideTip, showTip } from "../../../../web/plot";
import { crossed, listed } from "./area";
import { ghostTip } from "./ghosts";
import { places } from "./groups";
import { between } from "./layout";
import type { Moves } from "./moves";
import type { Hit } from "./painter";
import type { Picture } from "./picture";
import type { Ranks } from "./ranks";
import { ribbonTip, Ruler } from "./ruler";
import { framed, levelOf, panned } from "./scale";
import { edge, nearer, position, REACH } from "./snap";
import { touches } from "./touch";

export class Pointing {
  constructor(private readonly at: Picture, private readonly moves: Moves, private readonly ranks: Ranks) {}

  listen(): void {
    const { at, moves, ranks } = this, overlay = at.overlay.canvas, ruler = at.ruler.canvas, minimap = at.minimap.canvas;
    at.search.addEventListener("input", () => at.store.set({ q: places(at.search.value, at.head) !== null ? null : at.search.value }));
    at.search.addEventListener("keydown", (e) => {
      if (e.key !== "Enter") return;
      e.preventDefault();
      if (ranks.go(at.search.value)) return void (at.search.value = "");
      void moves.nextFound(e.shiftKey);
    });
    at.body.addEventListener("scroll", () => {
      at.unpoint();
      at.draw("lanes");
      if (Math.abs(at.body.scrollTop - at.state.y) > 1) moves.write();
    });
    at.body.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    for (const c of [ruler, minimap]) c.addEventListener("wheel", (e) => this.wheel(e, true), { passive: false });
    for (const c of [overlay, ruler, minimap]) touches(c, { pan: (by) => c === minimap || moves.pan(-by / at.width), zoom: (factor, x) => moves.zoom(factor, x) });
    drag(overlay, (e, from, fromY) => {
      if (e.pointerType === "touch") return;
      if (e.shiftKey || e.buttons === 4) return moves.pan(-e.movementX / at.width);
      this.measure(e, from, fromY);
    }, (e, moved) => {
      const { range, rows } = at.state;
      hideTip();
      if (!moved) void this.click(e.offsetX, e.offsetY);
      else if (range !== null && !e.shiftKey && e.pointerType !== "touch" && range.t1 > range.t0) at.store.set({ r0: range.t0, r1: range.t1, area: listed(rows), sel: null }, "push");
    }, () => at.forget());
    drag(ruler, (e) => e.pointerType === "touch" || moves.pan(-e.movementX / at.width), (e, moved) => {
      if (!moved) this.clickRuler(e.offsetX, e.offsetY);
    });
    ruler.addEventListener("dblclick", (e) => {
      const hit = Ruler.stepAt(at.above(), e.offsetX, e.offsetY);
      if (hit !== null) moves.steps(hit.step, hit.step, "push", { step: hit.step }, hit.lane.steps);
    });
    const center = (e: PointerEvent) => {
      const middle = at.all.t0 + (e.offsetX / at.width) * (at.all.t1 - at.all.t0), half = (at.state.view.t1 - at.state.view.t0) / 2;
      moves.look(panned({ t0: middle - half, t1: middle + half }, 0, at.all));
    };
    drag(minimap, center, (e, moved) => moved || center(e));
    overlay.addEventListener("pointermove", (e) => e.buttons === 0 && this.hover(e.offsetX, e.offsetY));
    overlay.addEventListener("pointerleave", () => this.hover(-1, -1));
    ruler.addEventListener("pointermove", (e) => e.buttons === 0 && this.hoverRuler(e.offsetX, e.offsetY));
    ruler.addEventListener("pointerleave", () => this.hoverRuler(-1, -1));
  }

  /** Marks a range while it is dragged, over the rows that were crossed. */
  private measure(e: PointerEvent, from: number, fromY: number): void {
    const { at } = this, free = e.ctrlKey || e.metaKey, top = at.body.scrollTop, x = e.offsetX, y = e.offsetY;
    const a = free ? at.time(from) : this.snapped(from, fromY), b = free ? at.time(x) : this.snapped(x, y);
    const range = { t0: Math.round(Math.min(a, b)), t1: Math.round(Math.max(a, b)) };
    at.state.range = range;
    at.state.rows = crossed(at.plan, fromY + top, y + top, e.altKey);
    showTip(at.overlay.canvas, x, y, { title: duration(range.t1 - range.t0), rows: [
      ["from", position(range.t0)], ["to", position(range.t1)], ["rows", at.state.rows.length === 0 ? "all that are visible" : String(at.state.rows.length)]] });
    at.draw("overlay");
  }

  /** The time at a point: that of an edge, if the lane there has one nearby, or a step. */
  private snapped(x: number, y: number): number {
    const { at } = this, t = at.time(x), { view, by } = at.state, reach = (REACH * (view.t1 - view.t0)) / at.width, top = at.body.scrollTop;
    const lane = between(at.plan.lanes, y + top, y + top + 1)[0], stretched = by === "stretched";
    let best: number | null = null;
    if (lane !== undefined) {
      const moved = stretched ? 0 : (at.alignment?.moved_ns[lane.rank] ?? 0), level = levelOf(view, at.width);
      best = edge(at.source.tiles.of(level, stretched), lane.lane, level, t - moved, reach);
      if (best !== null) best += moved;
    }
    if (by === "wall") for (const s of at.head.steps) if (s.end_ns > 0) best = nearer(nearer(best, s.start_ns, t, reach), s.end_ns, t, reach);
    return best ?? t;
  }

  private wheel(e: WheelEvent, always = false): void {
    const by = e.deltaMode === 1 ? 16 : 1, dx = e.deltaX * by, dy = e.deltaY * by;
    const x = e.clientX - this.at.overlay.canvas.getBoundingClientRect().left;
    if (e.ctrlKey || e.metaKey || (always && !e.shiftKey && Math.abs(dy) >= Math.abs(dx))) this.moves.zoom(Math.exp(Math.min(Math.max(dy, -240), 240) / 300), x);
    else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) this.moves.pan((e.shiftKey && dx === 0 ? dy : dx) / this.at.width);
    else return;
    e.preventDefault();
  }

  private async click(x: number, y: number): Promise<void> {
    const { at } = this, hit = at.painter.hit(x, y);
    if (hit === null) return at.clear();
    if (!("span" in hit) && hit.rank < 0) { // the sums of a group
      const sums = at.plan.sums.find((s) => s.lanes.includes(hit.lane));
      return void (sums && this.moves.turn("g" + sums.group));
    }
    const select = (rank: number, sel: number) => at.store.set({ rank, sel, r0: null, r1: null, area: null }, "push");
    if ("span" in hit) return select(hit.lane.rank, hit.span);
    const l = await this.moves.hit(hit, at.time(x - 1), at.time(x + 2));
    if (l === null) at.clear();
    else select(hit.rank, l.span);
  }

  private clickRuler(x: number, y: number): void {
    const { at } = this, a = at.above(), hit = Ruler.stepAt(a, x, y), ribbon = Ruler.ribbonAt(a, x, y);
    if (hit !== null) {
      const s = hit.lane.steps[hit.step];
      at.store.set({ step: hit.step, r0: s.start_ns, r1: s.end_ns, area: null, sel: null }, "push");
    } else if (ribbon !== null) {
      // The last arrival, and what came before it.
      const wait = Math.max(ribbon.last_ns - ribbon.first_ns, ribbon.end_ns - ribbon.last_ns, 1000);
      at.state.view = framed({ t0: ribbon.last_ns - 1.5 * wait, t1: ribbon.last_ns + 0.8 * wait }, ribbon.late.start_ns, 0, at.all);
      this.moves.go(ribbon.late);
    }
  }

  private hover(x: number, y: number): void {
    const { at } = this, hit = x < 0 ? null : at.painter.hit(x, y);
    at.pointer = { x, y, box: hit !== null && "span" in hit ? { x0: hit.x0, x1: hit.x1, lane: hit.lane } : null };
    if (x >= 0) at.crossing = null;
    at.marks();
    if (hit === null) return hideTip();
    if ("span" in hit) return this.tip(hit, x, y);
    const { class: of, covered } = at.painter.classAt(hit, x);
    if (of === 0) hideTip();
    else if (hit.rank < 0) showTip(at.overlay.canvas, x, y, { title: at.head.classes[of], rows: [["busy here, mean of the ranks", percent(Math.round(covered * 100) / 100)], ["", "a click opens or folds the group"]] });
    else showTip(at.overlay.canvas, x, y, { title: at.head.classes[of], rows: [["busy here", percent(Math.round(covered * 100) / 100)], ["", "a click selects the longest span"]] });
  }

  private tip(hit: Hit, x: number, y: number): void {
    const { head, state, source, width, overlay } = this.at, row = head.rows[hit.lane.row], ns = ((hit.x1 - hit.x0) / width) * (state.view.t1 - state.view.t0);
    const rows: [string, string][] = [[head.ranks[row.rank], row.name], ["what", head.classes[hit.class] ?? ""]];
    if (state.by !== "stretched") rows.push(["duration", duration(Math.round(ns))]);
    showTip(overlay.canvas, x, y, { title: source.names.get(hit.name), rows });
  }

  private hoverRuler(x: number, y: number): void {
    const { at } = this, { head, source } = at, el = at.ruler.canvas, a = at.above();
    const ribbon = x < 0 ? null : Ruler.ribbonAt(a, x, y), hit = x < 0 ? null : Ruler.stepAt(a, x, y), ghost = x < 0 ? null : Ruler.ghostAt(a, x, y);
    if (ribbon !== null) {
      showTip(el, x, y, ribbonTip(ribbon, head.ranks[ribbon.late.rank]));
      if (at.crossing?.of !== ribbon) {
        at.crossing = { of: ribbon, links: [] };
        void source.parts(ribbon).then((links) => {
          if (at.crossing?.of === ribbon) at.crossing.links = links;
          at.draw("overlay");
        });
      }
    } else {
      at.crossing = null;
      if (ghost !== null) showTip(el, x, y, ghostTip(ghost));
      else if (hit === null) hideTip();
      else {
        const s = hit.lane.steps[hit.step];
        showTip(el, x, y, { title: `step ${hit.step}, ${s.kind}`, rows: [["name", s.name], [hit.lane.name || "all ranks", duration(s.end_ns - s.start_ns)]] });
      }
    }
    at.draw("overlay");
  }
}

/** Calls back while something is dragged, with where it began; and at the end, which may be that of a click. */
function drag(el: HTMLElement, during: (e: PointerEvent, from: number, fromY: number) => unknown, end: (e: PointerEvent, moved: boolean) => void, cancelled: () => void = () => {}): void {
  let from = NaN, fromY = NaN, moved = false;
  el.addEventListener("pointerdown", (e) => {
    if (e.button > 1) return;
    if (!e.isPrimary) { // a second finger: no click
      moved = true;
      return;
    }
    from = e.offsetX;
    fromY = e.offsetY;
    moved = false;
    el.setPointerCapture(e.pointerId);
  });
  el.addEventListener("pointermove", (e) => {
    if (Number.isNaN(from) || !e.isPrimary) return;
    moved ||= Math.abs(e.offsetX - from) > 4;
    if (moved) during(e, from, fromY);
  });
  el.addEventListener("pointerup", (e) => {
    if (!e.isPrimary) return;
    if (!Number.isNaN(from)) end(e, moved);
    from = NaN;
  });
  el.addEventListener("pointercancel", () => {
    if (moved && !Number.isNaN(from)) cancelled();
    from = NaN;
  });
}
