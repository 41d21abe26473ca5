// What a watch tells of servers: how uneven their ranks are over time, what it found and since when, and what it captured.

import type { Pen } from "../../../../web/plot";
import { fill, h } from "../dom";
import type { Line, Mark } from "./data";
import { type Sight, Together } from "./spark";

/** As many as are listed, the newest first. */
const listed = 60;

/** Where in a plot something that lasts from one moment to another lies, as parts of its width; null: outside of it. */
export function place(from: number, to: number, { now, span }: Sight): [number, number] | null {
  const at = (ms: number) => 1 - (now - ms) / span;
  return at(to) < 0 || at(from) > 1 ? null : [Math.max(at(from), 0), Math.min(at(to), 1)];
}

/** When the alarm that began at a mark was over, ms; Infinity: it is not. */
export function ended(marks: readonly Mark[], alarm: Mark): number {
  const after = marks.slice(marks.indexOf(alarm) + 1);
  // Where a server's alarm begins anew, or the watch ends, the one before is over as well.
  return after.find((m) => (["over", "alarm"].includes(m.kind) && m.rule === alarm.rule && m.server === alarm.server) || m.kind === "end")?.at_ms ?? Infinity;
}

/** A plot over time in which the beginnings are marked that were found: the change lies in the band, it was certain at the line. */
export class Marked extends Together {
  private marks: Mark[] = [];

  found(marks: Mark[]): void {
    this.marks = marks;
    this.draw();
  }

  override paint(pen: Pen): void {
    const { ctx, area, color } = pen;
    for (const m of this.marks) {
      if (!m.onset_ms) continue;
      const band = place(m.after_ms, m.onset_ms, this.sight), line = place(m.at_ms, m.at_ms, this.sight);
      ctx.fillStyle = ctx.strokeStyle = color("high");
      const until = place(m.onset_ms, Math.min(ended(this.marks, m), this.sight.now), this.sight);
      if (until) { // as long as it lasts
        ctx.globalAlpha = 0.1;
        ctx.fillRect(area.x + area.w * until[0], area.y, area.w * (until[1] - until[0]), area.h);
        ctx.globalAlpha = 1;
      }
      if (band) {
        ctx.globalAlpha = 0.35;
        ctx.fillRect(area.x + area.w * band[0], area.y, Math.max(area.w * (band[1] - band[0]), 2), area.h);
        ctx.globalAlpha = 1;
      }
      if (!line) continue;
      ctx.lineWidth = 1;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(area.x + area.w * line[0], area.y);
      ctx.lineTo(area.x + area.w * line[0], area.y + area.h);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    super.paint(pen);
  }
}

/** What kinds of events are to be seen at once. */
const loud: { [kind: string]: string } = { alarm: "begins", verdict: "verdict", failed: "failed", lost: "lost" };

/** Tells whether an event is listed. */
const lists = (m: Mark) => m.kind !== "begin";

export class Watched {
  /** What happened. */
  readonly told = h("section", { class: "watched", "aria-live": "polite" });
  private readonly plot = new Marked(h("canvas", { role: "img", "aria-label": "Requests of the busiest rank relative to the mean, over the last minutes" }), (v) => v.toFixed(1));
  readonly figure = h("figure", null, h("figcaption", null, "Busiest rank over the mean"), this.plot.canvas);
  private readonly list = h("ol", { class: "marks" });

  constructor(readonly marks: Mark[], private readonly open: (capture: string) => void) {
    fill(this.told, h("h2", null, "Findings"), this.list);
    this.write();
  }

  add(m: Mark): void {
    this.marks.push(m);
    if (!lists(m)) return;
    if (this.list.dataset.none || m.kind === "over" || m.kind === "end") this.write(); // alarms have ended
    else this.list.prepend(this.item(m)); // what stays is not read out again
    while (this.list.children.length > listed) this.list.lastElementChild?.remove();
  }

  show(uneven: Line[], sight: Sight): void {
    const lines = uneven.filter((l) => l.values.some((v) => v !== null));
    this.figure.hidden = lines.length === 0;
    this.plot.show(lines.map((line, i) => ({ line, color: "k" + String(i % 4) })), sight);
    this.plot.found(this.marks);
  }

  drop(): void {
    this.plot.drop();
  }

  private write(): void {
    const shown = this.marks.filter(lists).slice(-listed).reverse();
    if (shown.length) delete this.list.dataset.none;
    else this.list.dataset.none = "1";
    fill(this.list, ...(shown.length ? shown.map((m) => this.item(m)) : [h("li", { class: "soft" }, "Nothing yet.")]));
  }

  private item(m: Mark): HTMLElement {
    const time = (ms: number) => new Date(ms).toLocaleTimeString([], { hour12: false });
    const end = m.kind === "alarm" ? ended(this.marks, m) : Infinity, over = end < Infinity && `over at ${time(end)}`;
    return h("li", { class: over !== false ? "past" : loud[m.kind] ? "loud " + m.kind : null, data: { kind: m.kind } },
      h("time", { datetime: new Date(m.at_ms).toISOString() }, time(m.at_ms)), h("b", null, loud[m.kind] ?? m.kind), h("span", null, [m.server, m.rank === m.server ? "" : m.rank].filter((s) => s).join(" ")),
      h("span", { class: "text" }, over && h("b", null, over + ": "), m.text, m.capture !== "" && " ", m.capture !== "" && h("button", { class: "link", on: { click: () => this.open(m.capture) } }, "open " + m.capture)));
  }
}
