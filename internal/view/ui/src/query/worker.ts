// The worker of the tab Query: SQLite as WebAssembly, over the database of a capture. It is the one script that compiles
// WebAssembly, and it is fetched when a query is first run.

import type { Answer, Ask } from "./query";

/** What sql.js has that is used here; see its README. */
interface Statement {
  getColumnNames(): string[];
  step(): boolean;
  get(params: null, config: { useBigInt: true }): unknown[];
}

interface Database {
  iterateStatements(sql: string): Iterable<Statement>;
}

declare function importScripts(url: string): void;
declare function initSqlJs(config: { locateFile: () => string }): Promise<{ Database: new (data: Uint8Array) => Database }>;

/** At most so many rows of an answer, and characters of a text. */
const MOST_ROWS = 2000, MOST_TEXT = 2000;

const say = (answer: Answer) => (postMessage as (message: unknown) => void)(answer);

async function open(url: string): Promise<Database> {
  const response = await fetch(url);
  if (!response.ok) {
    const text = await response.text();
    let message = text;
    try {
      message = (JSON.parse(text) as { error: string }).error;
    } catch {
      // It was no JSON: the text is the message.
    }
    throw new Error(message);
  }
  const data = new Uint8Array(await response.arrayBuffer());
  importScripts("sqlite.js");
  const { Database } = await initSqlJs({ locateFile: () => "sqlite.wasm" });
  return new Database(data);
}

/** A value that can be shown: whole numbers that a number cannot hold are texts. */
function plain(v: unknown): string | number | null {
  if (typeof v === "bigint") return Number.isSafeInteger(Number(v)) ? Number(v) : String(v);
  if (v instanceof Uint8Array) return `blob of ${v.length} bytes`;
  return typeof v === "string" && v.length > MOST_TEXT ? v.slice(0, MOST_TEXT) + "…" : (v as string | number | null);
}

/** Runs statements, and gives the rows of the last one that has any columns. */
function run(db: Database, sql: string): Answer {
  const started = performance.now();
  let columns: string[] = [], rows: (string | number | null)[][] = [], more = false;
  for (const s of db.iterateStatements(sql)) {
    const names = s.getColumnNames();
    if (names.length === 0) {
      s.step();
      continue;
    }
    [columns, rows, more] = [names, [], false];
    while (!more && s.step()) {
      if (rows.length === MOST_ROWS) more = true;
      else rows.push(s.get(null, { useBigInt: true }).map(plain));
    }
  }
  return { columns, rows, more, ms: performance.now() - started };
}

let db: Promise<Database> | null = null;

addEventListener("message", (e: MessageEvent<Ask>) => {
  db ??= open(e.data.url);
  db.then((d) => say(run(d, e.data.sql))).catch((error: unknown) => say({ error: error instanceof Error ? error.message : String(error) }));
});
