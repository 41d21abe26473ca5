// Adds sorting, filters, and a limit of visible rows to the tables written by Go.

export const firstRows = 12;

export function enhance(table: HTMLTableElement) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...(table.tHead?.rows[0].cells ?? [])];
  const region = table.parentElement as HTMLElement;
  let open = rows.length <= firstRows + 3, filter = "", kind = "";

  // Rows of several step kinds: one kind is shown, at first the rows over all steps.
  const kindAt = heads.findIndex((th) => th.textContent === "kind");
  const kinds = kindAt < 0 ? [] : [...new Set(rows.map((r) => r.cells[kindAt].textContent ?? ""))];

  const more = document.createElement("button");
  more.type = "button";
  more.className = "more";
  const note = document.createElement("span");

  const show = () => {
    let matching = 0, shown = 0;
    for (const row of body.rows) {
      const match = (filter === "" || (row.textContent ?? "").toLowerCase().includes(filter)) && (kind === "" || row.cells[kindAt].textContent === kind);
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
  table.addEventListener("reveal", () => {
    open = true;
    filter = kind = "";
    table.parentElement?.previousElementSibling?.querySelectorAll("input[type=search], select").forEach((e) => ((e as HTMLInputElement).value = ""));
    show();
  });

  heads.forEach((th, i) => {
    if (!th.textContent) return; // bars are sorted by the figure next to them
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
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
    if (kinds.length > 1 && rows.length > 8) {
      const label = document.createElement("label"), pick = document.createElement("select");
      pick.add(new Option("every kind", ""));
      for (const k of kinds) pick.add(new Option(k === "all" ? "all together" : k, k));
      if (kinds.includes("all")) kind = pick.value = "all";
      pick.addEventListener("change", () => {
        kind = pick.value;
        show();
      });
      label.append("Steps of kind ", pick);
      tools.append(label);
    }
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
