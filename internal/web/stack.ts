// Bars of parts, each of which says what it is.

/** Causes of idle time say so. */
export function partLabel(name: string) {
  return ["compute", "transfer", "wait", "unrecorded", "copy"].includes(name) ? name : "idle: " + name;
}

/** A part of a bar; its name selects the colour. */
export type Part = { name: string; label: string; ns: number };

/** A bar of parts that fills a share of its place; what it says is what each part says. */
export function stack(parts: readonly Part[], width: number, says: (p: Part) => string): HTMLElement {
  const bar = document.createElement("span"), some = parts.filter((p) => p.ns > 0), all = some.reduce((sum, p) => sum + p.ns, 0);
  bar.className = "bar wide";
  bar.role = "img";
  bar.ariaLabel = bar.title = some.map(says).join(", ");
  bar.style.width = width * 100 + "%";
  for (const p of some) {
    const part = bar.appendChild(document.createElement("i"));
    part.className = "s-" + p.name;
    part.style.width = (p.ns / all) * 100 + "%";
  }
  return bar;
}
