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
}

export interface Session {
  version: string;
  captures: Head[];
  runs: boolean;
  run: string;
  live: boolean;
  exported: boolean;
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

/** What an exported page brings: answers by what is asked for; binary ones in base64. */
type Embedded = { [address: string]: { json?: unknown; base64?: string } };

const embedded: Embedded | null = (() => {
  const data = document.getElementById("answers");
  return data === null ? null : (JSON.parse(data.textContent ?? "{}") as Embedded);
})();

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
    throw new Failed("stepscope does not answer: has it been ended?", 0);
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

function held(url: string): { json?: unknown; base64?: string } {
  const answer = embedded?.[url];
  if (answer === undefined) throw new Failed("this is not part of an exported page: open the capture with stepscope view", 404);
  return answer;
}

/** JSON from the server. */
export function json<T>(path: string, params: Question = {}, signal?: AbortSignal): Promise<T> {
  const url = address(path, params);
  return busy(
    (async () => {
      if (embedded !== null) return held(url).json as T;
      return (await (await ask(url, signal ? { signal } : {})).json()) as T;
    })(),
  );
}

/** Bytes from the server. */
export function bytes(path: string, params: Question = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
  const url = address(path, params);
  return busy(
    (async () => {
      if (embedded !== null) return Uint8Array.from(atob(held(url).base64 ?? ""), (c) => c.charCodeAt(0)).buffer;
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
