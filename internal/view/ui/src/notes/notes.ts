// Notes: places that were saved, with a text. A stored run keeps them; of other captures the browser does.

import "./notes.css";
import { Failed, json, post, type Head } from "../api";
import { fill, h } from "../dom";
import { format, parse, type Store } from "../state";
import { kept, target } from "./places";

interface Note {
  id: string;
  text: string;
  /** The part of an address behind the #, without the capture. */
  address: string;
  server: string;
  made_ms: number;
}

interface Answer {
  notes: Note[];
  run: string;
  path: string;
  why: string;
}

/** Notes of a capture that is no run, in this browser. */
class Local {
  constructor(private readonly key: string) {}

  read(): Note[] {
    try {
      const list: unknown = JSON.parse(localStorage.getItem(this.key) ?? "[]");
      return Array.isArray(list) ? (list as Note[]).filter((n) => typeof n.text === "string" && String(n.address).startsWith("#")) : [];
    } catch {
      return []; // the browser keeps nothing, or something else
    }
  }

  write(list: Note[]): void {
    localStorage.setItem(this.key, JSON.stringify(list));
  }
}

export class Notes {
  readonly button = h("button", { class: "quiet notes-button", title: "Notes and saved places (key: b)", on: { click: () => void this.open() } }, "Notes");
  private readonly dialog = h("dialog", { class: "notes", "aria-label": "Notes" });
  private readonly input = h("input", { type: "text", maxlength: "500", "aria-label": "Note on this view", placeholder: "A note on this view" });
  private readonly list = h("ol", null);
  private readonly said = h("p", { class: "notes-said", role: "status" });
  private readonly save = h("button", { class: "button" }, "Save this view");
  private answer: Answer | null = null;

  constructor(private readonly store: Store, private readonly capture: () => Head | undefined, private readonly exported: boolean) {
    const form = h("form", { class: "notes-form", on: { submit: (e: Event) => (e.preventDefault(), void this.add()) } }, this.input, this.save);
    this.dialog.append(h("div", { class: "notes-head" }, h("h2", null, "Notes"), h("button", { class: "quiet", "aria-label": "Close the notes", on: { click: () => this.dialog.close() } }, "✕")),
      form, this.list, this.said);
    form.hidden = exported;
  }

  private get local(): Local {
    const c = this.capture();
    return new Local(`stepscope-notes ${c?.title} ${c?.span_ns} ${c?.ranks.length}`);
  }

  async open(): Promise<void> {
    if (this.capture() === undefined) return;
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    this.say("");
    await this.answering(json<Answer>("notes", { c: this.store.params.c }));
    if (!this.dialog.open) this.dialog.showModal();
    if (!this.exported) this.input.focus();
  }

  /** Shows what the server says, or why it does not. */
  private async answering(asked: Promise<Answer>): Promise<boolean> {
    try {
      this.answer = await asked;
    } catch (e) {
      if (!(e instanceof Failed)) throw e;
      this.say(e.message);
      return false;
    }
    if (this.answer.run === "" && !this.exported) this.answer.notes = this.local.read();
    this.show(this.answer);
    return true;
  }

  private show(a: Answer): void {
    this.save.disabled = this.input.disabled = a.why !== "";
    fill(this.list, ...a.notes.map((n) => {
      const at = parse(n.address), where = [at.tab ?? "summary", at.step !== undefined && "step " + at.step, n.server].filter(Boolean).join(", ");
      return h("li", null,
        h("a", { href: format(target(n, this.store.params)), on: { click: () => this.dialog.close() } }, n.text),
        h("span", { class: "tl-soft" }, ` ${where}, ${new Date(n.made_ms).toISOString().slice(0, 16).replace("T", " ")} UTC`),
        !this.exported && a.why === "" && h("button", { class: "quiet", title: "Remove the note", "aria-label": "Remove the note " + n.text, on: { click: () => void this.remove(n) } }, "✕"));
    }), a.notes.length === 0 && h("li", { class: "tl-soft" }, "There are no notes."));
    this.say(this.exported ? "These are the notes of the run when the page was exported."
      : a.why !== "" ? a.why
      : a.run !== "" ? `Kept with run ${a.run}, in ${a.path}.`
      : "This capture is not a stored run: its notes stay in this browser, for this address of the viewer.");
  }

  private say(text: string): void {
    this.said.textContent = text;
  }

  private async add(): Promise<void> {
    const text = this.input.value.trim(), { params } = this.store;
    if (text === "" || this.answer === null) return this.input.focus();
    const address = kept(params);
    if (this.answer.run !== "") {
      if (!(await this.answering(post<Answer>("notes/change", { add: { text, address } }, { c: params.c })))) return;
    } else this.keep([...this.local.read(), { id: String(Date.now()), text, address, server: (params.c ?? "").split(":")[1] ?? "", made_ms: Date.now() }]);
    this.input.value = "";
  }

  private async remove(n: Note): Promise<void> {
    if (this.answer?.run !== "") await this.answering(post<Answer>("notes/change", { remove: n.id }, { c: this.store.params.c }));
    else this.keep(this.local.read().filter((o) => o.id !== n.id));
  }

  private keep(list: Note[]): void {
    try {
      this.local.write(list);
    } catch {
      return this.say("This browser keeps nothing for this page.");
    }
    this.answer!.notes = list;
    this.show(this.answer!);
  }
}
