// The tiles that were loaded, and the loading of what is missing: one request at a time, for all that a view lacks.

import { draw, type Spans } from "./columns";
import { decode, MOST_TILES, type Tile } from "./wire";

/** Tiles of a lane, both ends included. */
export interface Need {
  lane: number;
  from: number;
  to: number;
}

/** What is asked for: lanes that lie beside each other and need the same tiles go together. */
export function compose(needs: readonly Need[], has: (lane: number, index: number) => boolean, most: number): string {
  interface Part { first: number; last: number; from: number; to: number }
  const parts: Part[] = [];
  let count = 0;
  for (const n of needs) {
    let { from, to } = n;
    while (from <= to && has(n.lane, from)) from++;
    while (to >= from && has(n.lane, to)) to--;
    to = Math.min(to, from + most - count - 1);
    if (to < from) continue;
    count += to - from + 1;
    const before = parts[parts.length - 1];
    if (before !== undefined && before.last === n.lane - 1 && before.from === from && before.to === to) before.last = n.lane;
    else parts.push({ first: n.lane, last: n.lane, from, to });
  }
  return parts.map((p) => `${p.first}-${p.last}@${p.from}_${p.to}`).join(";");
}

/** How many tiles are kept: with 4.6 kB each at most, 18 MB. */
const MOST_KEPT = 4000;

type Level = Map<number, Tile>;

export type Ask = (level: number, stretched: boolean, tiles: string) => Promise<ArrayBuffer>;

export class Tiles {
  private readonly levels = new Map<string, Level>();
  private loading = false;
  private readonly failed = new Set<string>();
  private lanes: readonly Spans[] | null = null;
  /** Tiles are asked for; false: they will be made. */
  asks = true;
  /** Bytes that were received, and requests. */
  received = 0;
  requests = 0;

  /** An exported page has some levels, each of which is asked for as a whole; of none tiles are asked for one by one. */
  constructor(private readonly epoch: number, private readonly levelsThere: readonly number[], private readonly ask: Ask, private readonly arrived: () => void) {}

  private static key(lane: number, index: number): number {
    return lane * 2 ** 32 + (index + 2 ** 31);
  }

  /** The tiles of a level, which become those that were used last. */
  private at(level: number, stretched: boolean): Level {
    const name = (stretched ? "s" : "w") + level;
    let tiles = this.levels.get(name);
    if (tiles === undefined) tiles = new Map();
    else this.levels.delete(name);
    this.levels.set(name, tiles);
    return tiles;
  }

  /** A getter of tiles of one level. */
  of(level: number, stretched: boolean): (lane: number, index: number) => Tile | undefined {
    const tiles = this.levels.get((stretched ? "s" : "w") + level);
    return tiles === undefined ? () => undefined : (lane, index) => tiles.get(Tiles.key(lane, index));
  }

  add(level: number, stretched: boolean, answer: ArrayBuffer): void {
    const tiles = this.at(level, stretched);
    for (const t of decode(answer, this.epoch)) tiles.set(Tiles.key(t.lane, t.index), t);
    this.received += answer.byteLength;
  }

  /** The levels that there are of an axis. */
  levelsOf(stretched: boolean): number[] {
    return [...this.levels.keys()].filter((name) => name.startsWith(stretched ? "s" : "w")).map((name) => Number(name.slice(1)));
  }

  /** Makes the tiles of some spans from now on: there is no server. */
  from(lanes: readonly Spans[]): void {
    this.lanes = lanes;
    this.arrived();
  }

  private make(needs: readonly Need[], level: number): void {
    const has = this.of(level, false), tiles = this.at(level, false);
    let made = false;
    for (const n of needs) {
      for (let index = n.from; index <= n.to; index++) {
        if (has(n.lane, index) !== undefined) continue;
        tiles.set(Tiles.key(n.lane, index), draw(this.lanes![n.lane], n.lane, index, level));
        made = true;
      }
    }
    if (made) this.forget();
    if (made) this.arrived();
  }

  /** Loads what is missing of some tiles, unless something is being loaded: arrived is called then, and asks again. */
  load(needs: readonly Need[], level: number, stretched: boolean): void {
    if (this.lanes !== null) return this.make(needs, level);
    if (this.loading || !this.asks) return;
    const has = this.of(level, stretched), exported = this.levelsThere.length > 0;
    let tiles = compose(needs, (lane, index) => has(lane, index) !== undefined, MOST_TILES);
    if (exported) {
      // All from the coarsest on: of a finer level there is what the coarser ones do not show.
      const next = this.levelsThere.find((l) => !this.levels.has("w" + l));
      if (next === undefined || next < Math.min(level, this.levelsThere[0])) return;
      [level, tiles] = [next, "all"];
    }
    const what = `${level} ${stretched} ${tiles}`;
    if (tiles === "" || this.failed.has(what)) return;
    this.loading = true;
    this.requests++;
    this.ask(level, stretched, tiles)
      .then((answer) => {
        this.add(level, stretched, answer);
        if (!exported) this.forget();
      }, (e: unknown) => {
        this.failed.add(what); // and is not asked for again and again
        throw e;
      })
      .finally(() => {
        this.loading = false;
        this.arrived();
      });
  }

  /** Lets tiles go that were not used for longest: levels first, then of the one in use those that came first. */
  private forget(): void {
    let count = 0;
    for (const tiles of this.levels.values()) count += tiles.size;
    for (const [name, tiles] of this.levels) {
      if (count <= MOST_KEPT) return;
      if (this.levels.size === 1) break;
      count -= tiles.size;
      this.levels.delete(name);
    }
    for (const tiles of this.levels.values()) {
      for (const key of tiles.keys()) {
        if (count <= MOST_KEPT) return;
        tiles.delete(key);
        count--;
      }
    }
  }

  kept(): number {
    let count = 0;
    for (const tiles of this.levels.values()) count += tiles.size;
    return count;
  }
}

/** The names of spans, which come in blocks when they are first needed. */
export class Names {
  private readonly blocks = new Map<number, string[] | null>();

  constructor(private readonly size: number, private readonly ask: (block: number) => Promise<string[]>, private readonly arrived: () => void) {}

  /** A name, when it is there. */
  async whole(id: number): Promise<string> {
    const block = Math.floor(id / this.size);
    return (this.blocks.get(block) ?? (await this.ask(block)))[id - block * this.size] ?? "";
  }

  /** A name; "": it is not there yet. */
  get(id: number): string {
    const block = Math.floor(id / this.size), names = this.blocks.get(block);
    if (names === undefined) {
      this.blocks.set(block, null);
      void this.ask(block).then((list) => {
        this.blocks.set(block, list);
        this.arrived();
      });
    }
    return names?.[id - block * this.size] ?? "";
  }
}
