// What is otherwise: chosen here or in What if, asked of the server, and shown as ghosts.

import { duration } from "../../../../web/format";
import { Failed, type Fix, json } from "../api";
import { h } from "../dom";
import type { WhatIf } from "../whatif/data";
import { settingsOf, inWords } from "../whatif/fixes";
import { about, list, put, read, worded, write } from "../whatif/settings";
import { change, type Ghost, ghostsOf, overall } from "./ghosts";

/** The ghosts of the changes that the address has, once they are there. */
export class Ghosts {
  all: readonly Ghost[] = [];
  over: readonly Ghost[] = [];
  private answer: WhatIf | null = null;
  private asked: string | undefined;
  private lacks = ""; // why there is no answer

  /** known are the settings that an exported page has answers to; null: a server answers all. */
  constructor(private readonly c: string | undefined, private readonly known: readonly string[] | null, private readonly arrived: () => void) {}

  /** Asks for a change, or lets it go. */
  show(set: string | undefined): void {
    if (set === this.asked) return;
    this.asked = set;
    this.answer = null;
    this.lacks = "";
    this.all = this.over = [];
    const settings = list(read(set));
    if (settings.length === 0) return this.arrived();
    void json<WhatIf>("whatif", { c: this.c, set: settings }).then((a) => {
      if (this.asked !== set) return;
      this.answer = a;
      this.all = a.known ? ghostsOf(a.lengths) : [];
      this.over = overall(this.all);
      this.arrived();
    }).catch((e: unknown) => {
      if (!(e instanceof Failed) || e.status === 0) throw e;
      if (this.asked !== set) return;
      this.lacks = e.message;
      this.arrived();
    });
  }

  /** What is otherwise, in words; "": nothing. */
  words(): string {
    return [...read(this.asked)].map(([what, to]) => `${what} ${worded(to)}`).join(", ");
  }

  /** What comes of it, in words. */
  outcome(): string {
    const a = this.answer, row = a?.rows[0];
    if (a === null) return this.lacks;
    if (!a.known) return "unknown: " + a.why;
    return row === undefined ? "" : `${row.kind} ${duration(row.step_ns)} → ${duration(row.without_ns)} (${change(row.step_ns, row.without_ns)})`;
  }

  /** Chooses what is otherwise: of all ranks, or of one. */
  picker(ranks: readonly string[], rank: number, fixes: readonly Fix[], choose: (set: string | null) => void): HTMLSelectElement {
    const one = (who: string, part: string, to: string) => {
      const set = write(put(new Map(), about(who, part), to))!;
      if (suggested.some((f) => settingsOf(f) === set)) return false; // it is there
      return this.known !== null && !this.known.includes(`${about(who, part)}=${to}`) ? false : h("option", { value: set }, `${about(who, part)} ${worded(to)}`);
    };
    const suggested = fixes.filter((f) => this.known === null || (f.set.length === 1 && this.known.includes(f.set[0])));
    const who = rank >= 0 && ranks.length > 1 ? ranks[rank] : "";
    const pick = h("select", { "aria-label": "What if", class: "tl-whatif", title: "Where each step would end if … (key: g)", on: { change: () => choose(pick.value || null) } },
      h("option", { value: "" }, "what if …"),
      ...suggested.map((f) => h("option", { value: settingsOf(f), title: f.finding }, inWords(f) + " (finding)")),
      ...["host", "device", "collective", "gap"].map((part) => one("", part, "0")),
      ...(who === "" ? [] : ["work", "host", "device"].map((part) => one(who, part, "peers"))));
    const now = write(read(this.asked)) ?? "";
    if (![...pick.options].some((o) => o.value === now)) pick.append(h("option", { value: now }, this.words()));
    pick.value = now;
    return pick;
  }
}
