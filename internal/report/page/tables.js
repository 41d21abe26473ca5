// @ts-check
"use strict";
// Tables come whole from Go; here they learn to sort, to filter, and to show
// only their first rows until asked for more.

const firstRows = 12;

/** @param {HTMLTableElement} table */
function enhance(table) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...(table.tHead?.rows[0].cells ?? [])];
  const region = /** @type {HTMLElement} */ (table.parentElement);
  let open = rows.length <= firstRows + 3, filter = "";

  const more = document.createElement("button");
  more.type = "button";
  more.className = "more";
  const note = document.createElement("span");

  const show = () => {
    let matching = 0, shown = 0;
    for (const row of body.rows) {
      const match = filter === "" || (row.textContent ?? "").toLowerCase().includes(filter);
      if (match) matching++;
      row.hidden = !match || (!open && shown >= firstRows);
      if (!row.hidden) shown++;
    }
    more.hidden = matching <= firstRows || rows.length <= firstRows + 3;
    more.textContent = open ? `Show the first ${firstRows} only` : `Show all ${matching}`;
    note.textContent = filter === "" ? "" : `${matching} of ${rows.length} rows`;
  };

  more.addEventListener("click", () => {
    open = !open;
    show();
  });

  heads.forEach((th, i) => {
    if (!rows.some((r) => r.cells[i]?.textContent || r.cells[i]?.dataset.v)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent || "\u25AC";
    if (!th.textContent) button.ariaLabel = "sort by bar";
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const numeric = rows.some((r) => r.cells[i].dataset.v !== undefined);
      const before = th.ariaSort, down = before ? before === "ascending" : numeric;
      for (const other of heads) other.removeAttribute("aria-sort");
      th.ariaSort = down ? "descending" : "ascending";
      rows.sort((a, b) => {
        const x = a.cells[i], y = b.cells[i];
        const d = numeric ? Number(x.dataset.v ?? 0) - Number(y.dataset.v ?? 0) : (x.textContent ?? "").localeCompare(y.textContent ?? "");
        return down ? -d : d;
      });
      body.append(...rows);
      show();
    });
  });

  if (rows.length > 8 || table.dataset.names) {
    const tools = document.createElement("div");
    tools.className = "tabletools";
    if (rows.length > 8) {
      const label = document.createElement("label"), input = document.createElement("input");
      input.type = "search";
      input.addEventListener("input", () => {
        filter = input.value.trim().toLowerCase();
        show();
      });
      label.append("Filter ", input);
      tools.append(label, note);
      note.setAttribute("role", "status");
    }
    if (table.dataset.names) {
      const label = document.createElement("label"), input = document.createElement("input");
      input.type = "checkbox";
      input.addEventListener("change", () => table.classList.toggle("names", input.checked));
      label.append(input, " full names");
      tools.append(label);
    }
    region.before(tools);
  }
  region.after(more);
  show();
}
