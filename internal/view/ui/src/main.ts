// The page: tabs, the capture that they are of, the theme, and which view is shown.

import "./theme.css";
import { hideTip } from "../../../web/plot";
import { choices, json, quiet, whenQuiet, type Head, type Session } from "./api";
import { fill, h } from "./dom";
import { Keys } from "./keys";
import { elsewhere, format, type Params, Store } from "./state";
import { summary } from "./summary/summary";
import { timeline } from "./timeline/timeline";
import { kernels } from "./kernels/kernels";
import { light } from "./light/light";
import { whatif } from "./whatif/whatif";
import { Notes } from "./notes/notes";
import { bench } from "./bench/bench";
import { live } from "./live/live";
import { query } from "./query/query";
import { runs } from "./runs/runs";
import type { Context, Tab, View } from "./view";

const tabs: Tab[] = [summary, timeline, kernels, light, whatif, bench, live, runs, query];

const root = document.documentElement, darkness = matchMedia("(prefers-color-scheme: dark)");

/** Shows that something is broken; the rest of the page goes on. */
function broken(what: unknown): void {
  if (what instanceof DOMException && what.name === "AbortError") return; // nobody waits for it any more
  const text = what instanceof Error ? what.message : String(what);
  root.dataset.error ??= text;
  trouble.hidden = false;
  fill(trouble, text);
}
addEventListener("error", (e) => broken(e.error ?? e.message));
addEventListener("unhandledrejection", (e) => broken(e.reason));

const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
const main = h("main", { id: "main", tabindex: "-1" });

class Shell {
  private store = new Store();
  private keys = new Keys();
  private view: View | null = null;
  private shown = "";
  private loose: (() => void)[] = []; // keys of the view
  private reaching = ""; // the address for which a run is being opened, and nothing else is shown
  private linked = "";
  private nav = h("nav", { "aria-label": "Views" });
  private perfetto = h("a", { class: "perfetto", target: "_blank", rel: "noopener", title: "Open the merged trace in Perfetto, in a new tab, with the relevant rows pinned" }, "Perfetto");
  private notes: Notes;
  private picker = h("select", { "aria-label": "Capture", class: "capture" });

  constructor(private session: Session) {
    this.notes = new Notes(this.store, () => this.capture(), session.exported !== null);
    document.body.replaceChildren(
      h("a", { class: "skip", href: "#main", on: { click: (e: Event) => (e.preventDefault(), main.focus()) } }, "Skip to the view"),
      h("header", { class: "top" },
        h("h1", null, "stepscope"), this.nav, h("span", { class: "space" }), exportedNote(session), this.perfetto, this.notes.button, this.picker,
        h("button", { class: "quiet", title: "Light or dark (key: \\)", "aria-label": "Light or dark", on: { click: () => this.turn() } }, "◐"),
        h("button", { class: "quiet", title: "Keys (key: ?)", "aria-label": "Keys", on: { click: () => dispatchEvent(new KeyboardEvent("keydown", { key: "?" })) } }, "?")),
      trouble, main);
    // A tab has its key whether it has something to show or not, so that keys stay the same.
    [...tabs.filter((t) => t !== light && t !== query), light, query].forEach((t, i) => this.keys.bind(String(i + 1), "Everywhere", "show " + t.title, () => this.offers(t) && this.open(t.id)));
    this.keys.bind("b", "Everywhere", "notes and saved places", () => void this.notes.open());
    this.keys.bind("\\", "Everywhere", "light or dark", () => this.turn());
    this.picker.addEventListener("change", () => this.store.go(elsewhere(this.store.params, { tab: this.tab().id, c: this.picker.value })));
    this.store.follow((now, before) => this.change(now, before));
    darkness.addEventListener("change", () => this.paint());
    whenQuiet(() => this.ready());
    addEventListener("beforeprint", () => this.paper(true));
    addEventListener("afterprint", () => this.paper(false));
    this.change(this.store.params, {});
  }

  /** The capture that the address means, if it is open. */
  private capture(): Head | undefined {
    const { captures } = this.session, { c } = this.store.params;
    return c === undefined ? captures[0] : captures.find((one) => one.id === c);
  }

  private offers(t: Tab): boolean {
    switch (t.needs) {
      case "capture": return this.session.captures.length > 0 || this.store.params.c !== undefined;
      case "tables": return this.session.exported === null && this.offers(summary);
      case "light": return this.capture()?.light ?? false;
      case "server": return !this.session.exported;
      case "runs": return this.session.runs;
      case "nothing": return true;
    }
  }

  /** The tab that the address means, else the first that has something to show. */
  private tab(): Tab {
    const { tab } = this.store.params;
    const offered = tabs.filter((t) => this.offers(t));
    const first = this.session.captures.length > 0 ? summary : this.session.live ? live : runs;
    return offered.find((t) => t.id === tab) ?? offered.find((t) => t === first) ?? offered[0];
  }

  private open(tab: string): void {
    this.store.go(elsewhere(this.store.params, { tab }));
  }

  private turn(): void {
    this.store.set({ theme: root.dataset.theme === "dark" ? "light" : "dark" });
  }

  /** Puts the page into light or dark. */
  private paint(): void {
    const { theme } = this.store.params, before = root.dataset.theme;
    root.dataset.theme = root.dataset.print ? "light" : theme === "light" || theme === "dark" ? theme : darkness.matches ? "dark" : "light";
    if (root.dataset.theme !== before) this.view?.restyle?.();
  }

  /** Paper is white and narrow, and has all that can be opened; what is drawn is drawn for it. */
  private paper(on: boolean): void {
    if (on) root.dataset.print = "1";
    else delete root.dataset.print;
    if (on) main.querySelectorAll("details").forEach((d) => (d.open = true));
    this.paint();
    this.view?.restyle?.();
  }

  private change(now: Params, before: Params): void {
    delete root.dataset.ready;
    this.paint();
    const tab = this.tab(), captures = this.session.captures, capture = this.capture();
    if (["capture", "tables"].includes(tab.needs) && now.c !== undefined && capture === undefined) return this.reach(now.c);
    this.reaching = "";
    const what = JSON.stringify([tab.id, now.c ?? captures[0]?.id]);
    if (what === this.shown) this.view?.update?.(now, before);
    else this.show(tab, what, { session: this.session, store: this.store, keys: this.scoped(), capture });
    this.head(tab, now);
    if (quiet()) this.ready();
  }

  /** Has the server open the run that the address names. */
  private reach(id: string): void {
    const wanted = format(this.store.params);
    if (this.reaching === wanted) return;
    this.reaching = wanted;
    this.view?.close?.();
    this.view = null;
    this.shown = "";
    main.className = "";
    fill(main, h("p", { class: "wait" }, `Reading ${id} …`));
    this.head(this.tab(), this.store.params);
    const still = () => this.reaching === wanted; // else the page has gone elsewhere meanwhile, and what comes is of no use
    json<Session>("session", { open: id }).then((session) => {
      if (!still()) return;
      this.session = session;
      // What led here may mean any server of a run: the address says which one is shown.
      if (session.opened !== id) this.store.set({ c: session.opened });
      else this.change(this.store.params, this.store.params);
    }).catch((e) => {
      if (!still()) return;
      main.replaceChildren();
      broken(e);
    }).finally(() => still() && (this.reaching = ""));
  }

  /** Keys that are let go with the view. */
  private scoped(): Keys {
    for (const free of this.loose.splice(0)) free();
    const keys = this.keys, loose = this.loose;
    return Object.assign(Object.create(keys) as Keys, {
      bind(...args: Parameters<Keys["bind"]>) {
        const free = keys.bind(...args);
        loose.push(free);
        return free;
      },
    });
  }

  private show(tab: Tab, what: string, context: Context): void {
    this.view?.close?.();
    hideTip();
    this.shown = what;
    trouble.hidden = true;
    delete root.dataset.error;
    try {
      this.view = tab.open(context);
      main.className = "view-" + tab.id;
      main.replaceChildren(this.view.el);
    } catch (e) {
      this.view = null;
      main.replaceChildren();
      broken(e);
    }
  }

  private head(tab: Tab, now: Params): void {
    const links = tabs.filter((t) => this.offers(t)).map((t) => ({ href: format(elsewhere(now, { tab: t.id })), title: t.title, here: t === tab })), linked = JSON.stringify(links);
    if (this.linked !== linked) fill(this.nav, ...links.map((l) => h("a", { href: l.href, "aria-current": l.here ? "page" : null }, l.title)));
    this.linked = linked; // links that stay keep the focus
    const captures = this.session.captures, shown = now.c ?? captures[0]?.id;
    this.perfetto.hidden = !this.session.perfetto || shown === undefined;
    this.perfetto.href = `perfetto/${encodeURIComponent(shown ?? "")}/`;
    this.notes.button.hidden = this.capture() === undefined || !["capture", "light", "tables"].includes(tab.needs);
    const all = choices(this.session);
    this.picker.hidden = all.length < 2 || (!["capture", "light", "tables"].includes(tab.needs) && tab !== runs); // runs are compared with it
    if (!this.picker.hidden) {
      fill(this.picker, ...all.map((c) => h("option", { value: c.id }, c.title)));
      this.picker.value = now.c ?? captures[0].id;
    }
    document.title = `${tab.title} · ${captures.find((c) => c.id === now.c)?.title ?? captures[0]?.title ?? "runs"} · stepscope`;
  }

  /** All is drawn that the address means: tests and pictures wait for that. */
  private ready(): void {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (quiet()) root.dataset.ready = "1";
    }));
  }
}

/** Of a page by itself, what it leaves out. */
function exportedNote({ exported, version }: Session): HTMLElement | false {
  return exported !== null && h("details", { class: "exported" },
    h("summary", null, "standalone page: what is missing"),
    h("div", null, h("ul", null, ...exported.left_out.map((text) => h("li", null, text))), h("p", null, `Written by stepscope ${version}; stepscope view shows the whole capture.`)));
}

document.body.replaceChildren(trouble, main);
json<Session>("session").then((session) => new Shell(session)).catch(broken);
