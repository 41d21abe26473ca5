// Keys: each does one thing where it is bound, and ? shows all that are.

import { fill, h } from "./dom";

interface Binding {
  keys: string[]; // of KeyboardEvent.key; with "Shift+", "Ctrl+" or "Alt+" before
  help: string;
  group: string;
  run: (e: KeyboardEvent) => void;
}

const named: { [key: string]: string } = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", " ": "Space", Enter: "Enter",
};

/** A key with its modifiers in words; "+" is itself a key. */
function worded(key: string): string {
  return (key === "+" ? [key] : key.split("+")).map((part) => named[part] ?? part).join(" + ");
}

export class Keys {
  private bindings: Binding[] = [];
  private dialog: HTMLDialogElement | null = null;

  constructor() {
    addEventListener("keydown", (e) => this.press(e));
    this.bind("?", "Everywhere", "show the keys", () => this.show());
  }

  /** Binds keys until what it returns is called. */
  bind(keys: string, group: string, help: string, run: (e: KeyboardEvent) => void): () => void {
    const binding: Binding = { keys: keys === " " ? [" "] : keys.split(" "), help, group, run };
    this.bindings.push(binding);
    return () => {
      this.bindings = this.bindings.filter((b) => b !== binding);
    };
  }

  private press(e: KeyboardEvent): void {
    if (e.defaultPrevented || document.querySelector("dialog[open]") !== null) return; // a dialog has its own keys
    const target = e.target as HTMLElement;
    // Who writes or chooses something means the letter itself; Escape leads out.
    const writing = target instanceof HTMLInputElement && !["checkbox", "radio", "button", "range"].includes(target.type);
    if (writing || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement) {
      if (e.key === "Enter" && target.type === "search") target.blur(); // and keeps what it filters
      if (e.key === "Escape") {
        if (target.type === "search" && (target as HTMLInputElement).value !== "") { // not all browsers clear it themselves
          (target as HTMLInputElement).value = "";
          target.dispatchEvent(new Event("input"));
        }
        target.blur();
      }
      return;
    }
    if (target instanceof HTMLInputElement && target.type === "range" && e.key.startsWith("Arrow")) return;
    const sign = e.altKey && /^[^\w ]$/.test(e.key); // typed with Option or AltGr, as | and [ are on many keyboards
    const name = (!sign && (e.ctrlKey || e.metaKey) ? "Ctrl+" : "") + (!sign && e.altKey ? "Alt+" : "") + (e.shiftKey && e.key.length > 1 ? "Shift+" : "") + e.key;
    // What was bound last is of the view that is shown.
    const binding = this.bindings.findLast((b) => b.keys.includes(name));
    if (binding === undefined) return;
    e.preventDefault();
    binding.run(e);
  }

  private show(): void {
    this.dialog ??= document.body.appendChild(h("dialog", { class: "keys-dialog", "aria-label": "Keys" }));
    const groups = new Map<string, Binding[]>();
    for (const b of this.bindings) groups.set(b.group, [...(groups.get(b.group) ?? []), b]);
    fill(
      this.dialog,
      h("h2", null, "Keys"),
      h("div", { class: "keys-groups" },
        ...[...groups].map(([group, bindings]) =>
          h("section", null, h("h3", null, group),
            h("dl", null, ...bindings.flatMap((b) => [
              h("dt", null, ...b.keys.flatMap((k, i) => [i > 0 && " ", h("kbd", null, worded(k))])),
              h("dd", null, b.help),
            ]))))),
      h("form", { method: "dialog" }, h("button", { class: "button" }, "Close")),
    );
    this.dialog.showModal();
    this.dialog.scrollTop = 0; // the button at its end has the focus
  }
}
