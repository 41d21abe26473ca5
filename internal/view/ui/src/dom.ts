// Elements, made from parts. Texts go in as text alone: names come from traces, and may be anything.

export type Child = Node | string | number | null | undefined | false;

type Props = {
  class?: string | null;
  title?: string | null;
  on?: { [event: string]: (e: any) => void };
  data?: { [name: string]: string };
} & { [attribute: string]: unknown };

/** An element of a tag, with attributes (true: without value; false, null: left out) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null = null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, run] of Object.entries(value as object)) el.addEventListener(event, run);
    else if (name === "data") Object.assign(el.dataset, value);
    else if (name === "class") el.className = String(value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  add(el, ...children);
  return el;
}

/** Children at the end of an element; what is null, undefined or false is none. */
export function add(el: Element, ...children: Child[]): void {
  for (const c of children) {
    if (c === null || c === undefined || c === false) continue;
    el.append(typeof c === "number" ? String(c) : c);
  }
}

/** The children of an element, and no others. */
export function fill(el: Element, ...children: Child[]): void {
  el.replaceChildren();
  add(el, ...children);
}
