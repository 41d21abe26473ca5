// All that the page asks for goes through here: from the server, or in an exported page from the data that stand in it.

export interface Head {
  id: string;
  title: string;
  ranks: string[];
  steps: number;
  span_ns: number;
  /** Of steps, the most frequent first. */
  kinds: string[];
  /** What kernels can be added up by. */
  groups: string[];
  /** Those of several servers that were recorded together, this one among them; none: it is the only one. */
  beside: Choice[];
  /** The run whose load it was recorded under; "": none. */
  load: string;
  /** Its steps were compared with the limits of the device, or the reason is known why not. */
  light: boolean;
  /** The measure that a map of ranks and steps begins with. */
  map: string;
  /** What findings suggest to set in What if. */
  fixes: Fix[];
}

/** The settings that take the cause of a finding away. */
export interface Fix {
  finding: string;
  set: string[];
}

/** A capture that can be chosen. */
export interface Choice {
  id: string;
  title: string;
}

export interface Session {
  version: string;
  captures: Head[];
  /** The capture that was asked for, by its own id; "": none was. */
  opened: string;
  runs: boolean;
  run: string;
  live: boolean;
  perfetto: boolean;
  /** What a page lacks that is a file by itself; null: there is a server behind it. */
  exported: { left_out: string[]; kernel_ranks: boolean; whatif: string[] } | null;
}

/** The captures that can be chosen: those of a session, and what was recorded beside them. */
export function choices({ captures }: Session): Choice[] {
  const all = new Map(captures.flatMap((c) => (c.beside.length > 0 ? c.beside : [c])).map((c) => [c.id, c]));
  return [...all.values()];
}

/** A refusal or failure, in the server's words. */
export class Failed extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** The answers that stand in an exported page, see internal/view/pack.go: blocks, which are opened when they are needed. */
class Embedded {
  private static readonly mostOpen = 8;
  private readonly open = new Map<number, Promise<ArrayBuffer>>();
  private readonly index: Promise<Map<string, [block: number, offset: number, length: number]>>;

  constructor(private readonly blocks: readonly string[]) {
    this.index = this.block(0).then((text) => new Map((JSON.parse(new TextDecoder().decode(text)) as [string, number, number, number][]).map(([url, ...at]) => [url, at])));
  }

  private block(n: number): Promise<ArrayBuffer> {
    let block = this.open.get(n);
    if (block === undefined) {
      const packed = Uint8Array.from(atob(this.blocks[n]), (c) => c.charCodeAt(0));
      block = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    } else this.open.delete(n);
    this.open.set(n, block);
    for (const oldest of this.open.keys()) {
      if (this.open.size <= Embedded.mostOpen) break;
      this.open.delete(oldest);
    }
    return block;
  }

  async answer(url: string): Promise<ArrayBuffer> {
    const at = (await this.index).get(url);
    if (at === undefined) throw new Failed("This is not part of an exported page: open the capture with stepscope view.", 404);
    return (await this.block(at[0])).slice(at[1], at[1] + at[2]);
  }
}

const embedded = ((data) => (data === null ? null : new Embedded(JSON.parse(data.textContent ?? "[]") as string[])))(document.getElementById("answers"));

/** What is asked for, by name; several values stand one after the other. */
export type Question = { [name: string]: string | number | readonly string[] | null | undefined };

/** The address of a question: parameters by name, those without a value left out, so that one question has one address. */
export function address(path: string, params: Question = {}): string {
  const search = new URLSearchParams();
  for (const name of Object.keys(params).sort()) {
    const value = params[name];
    for (const one of Array.isArray(value) ? value : [value]) if (one !== null && one !== undefined && one !== "") search.append(name, String(one));
  }
  const text = search.toString();
  return "api/" + path + (text === "" ? "" : "?" + text);
}

let asking = 0;
let told: () => void = () => {};

/** Calls back whenever all answers are there. */
export function whenQuiet(callback: () => void): void {
  told = callback;
}

/** Counts work as not done until it is: tests and pictures wait for it. */
export async function busy<T>(work: Promise<T>): Promise<T> {
  asking++;
  try {
    return await work;
  } finally {
    // After those who waited for the answer have drawn it.
    setTimeout(() => {
      if (--asking === 0) told();
    });
  }
}

export function quiet(): boolean {
  return asking === 0;
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Failed("stepscope does not answer: has it stopped?", 0);
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text;
  try {
    message = (JSON.parse(text) as { error: string }).error;
  } catch {
    // It was no JSON: the text is the message.
  }
  throw new Failed(message, response.status);
}

/** JSON from the server. */
export function json<T>(path: string, params: Question = {}, signal?: AbortSignal): Promise<T> {
  const url = address(path, params);
  return busy(
    (async () => {
      if (embedded !== null) return JSON.parse(new TextDecoder().decode(await embedded.answer(url))) as T;
      return (await (await ask(url, signal ? { signal } : {})).json()) as T;
    })(),
  );
}

/** Bytes from the server. */
export function bytes(path: string, params: Question = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
  const url = address(path, params);
  return busy(
    (async () => {
      if (embedded !== null) return embedded.answer(url);
      return await (await ask(url, signal ? { signal } : {})).arrayBuffer();
    })(),
  );
}

/** Has the server do something. */
export function post<T>(path: string, body: unknown): Promise<T> {
  if (embedded !== null) return Promise.reject(new Failed("an exported page has no server behind it", 404));
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return busy((async () => (await (await ask(address(path), init)).json()) as T)());
}
