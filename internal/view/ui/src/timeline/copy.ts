// What the panel shows, as text: a line for each fact, tables with tabs.

/** The texts of an element's parts, one line each. */
export function asText(el: Element): string {
  const lines: string[] = [];
  const text = (e: Element) => (e.textContent ?? "").replace(/\s+/g, " ").trim();
  const walk = (e: Element): void => {
    if (e instanceof HTMLElement && (e.dataset.tool !== undefined || e.hidden)) return;
    if (e instanceof HTMLDListElement) {
      for (const dt of e.querySelectorAll("dt")) {
        const dd = dt.nextElementSibling;
        if (dd !== null && dd.querySelector("[data-tool]") === null) lines.push(`${text(dt)}: ${text(dd)}`);
      }
    } else if (e instanceof HTMLTableRowElement) lines.push([...e.cells].filter((c) => c.dataset.tool === undefined).map((c) => (c.dataset.text ?? text(c))).join("\t"));
    else if (/^(H\d|P|LI)$/.test(e.tagName)) lines.push(text(e));
    else if (e.childElementCount === 0) text(e) !== "" && lines.push(text(e));
    else for (const part of e.children) walk(part);
  };
  walk(el);
  return lines.join("\n") + "\n";
}

/** Puts a text on the clipboard; an exported page, which is a file, may not have the newer way. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.body.appendChild(document.createElement("textarea")), before = document.activeElement;
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}
