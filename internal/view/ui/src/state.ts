// The address is the state: all that a view shows follows from the parameters behind the #, so that an address can be
// kept, sent and opened again. It stands behind the #, not the ?, since an exported page is a file.
//
// Parameters that several views share, or that lead from one view to another:
//
//   tab    which view: summary, timeline, kernels, light, whatif, query, bench, live, runs
//   c      the capture, by its id; none: the first of the session
//   run    the benchmark run, by its id
//   vs     another capture or run that it is compared with
//   t0,t1  the time that is shown, ns since the capture's origin (report.source.start_ns), whole numbers
//   step   a step, by its number
//   rank   a rank, by its index in report.source.ranks
//   row    a row of the timeline, by its id
//   sel    what is selected: the index of a span of its row's rank (timeline), of a row (tables)
//   align  wall, step, collective or stretched
//   q      what is searched or filtered
//   sort   the column that sorts, with a leading - for falling
//   theme  light or dark; none: as the system has it

export type Params = Readonly<Record<string, string>>;

/** Values to set; null takes a parameter away. */
export type Changes = { [name: string]: string | number | null | undefined };

/** The parameters of an address's part behind the #. What is no parameter is left out. */
export function parse(hash: string): Params {
  const out: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (name !== "" && value !== "") out[name] = value;
  }
  return out;
}

/** The part behind the # for parameters: the tab first, then by name, so that one state has one address. */
export function format(params: Params): string {
  const names = Object.keys(params).sort((a, b) => Number(b === "tab") - Number(a === "tab") || (a < b ? -1 : 1));
  return "#" + new URLSearchParams(names.map((n) => [n, params[n]])).toString();
}

/** Params with changes. */
export function change(params: Params, changes: Changes): Params {
  const out: Record<string, string> = Object.assign(Object.create(null), params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") delete out[name];
    else out[name] = typeof value === "number" ? String(Math.round(value)) : value;
  }
  return out;
}

/** A parameter as a whole number, or what to take where it is none. */
export function whole(params: Params, name: string, otherwise: number): number {
  const text = params[name];
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : otherwise;
}

/** What leads to another view: the theme, the place of details and the capture go along, the rest is of the view that is left. */
export function elsewhere(params: Params, changes: Changes): Params {
  const kept: Record<string, string> = Object.create(null);
  for (const name of ["theme", "c", "run", "vs", "panel"]) if (params[name] !== undefined) kept[name] = params[name];
  return change(kept, changes);
}

/** Holds the state, and tells of its changes. */
export class Store {
  private listeners: ((now: Params, before: Params) => void)[] = [];
  params: Params = parse(location.hash);

  constructor() {
    addEventListener("hashchange", () => this.take(parse(location.hash)));
  }

  /** Calls back after each change. */
  follow(listener: (now: Params, before: Params) => void): void {
    this.listeners.push(listener);
  }

  /** Changes parameters. A step that one may want to take back has a place in the browser's history: "push". */
  set(changes: Changes, how: "push" | "replace" = "replace"): void {
    this.go(change(this.params, changes), how);
  }

  /** Goes to a state. */
  go(to: Params, how: "push" | "replace" = "push"): void {
    const hash = format(to);
    if (hash === format(this.params)) return;
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
    this.take(to);
  }

  private take(to: Params): void {
    const before = this.params;
    this.params = to;
    for (const l of this.listeners) l(to, before);
  }
}
