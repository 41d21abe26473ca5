// What the server says of a change; see WhatIf in internal/view. Times are ns.

export interface WhatIf {
  known: boolean;
  why: string;
  off_median: number;
  off_p90: number;
  unexplained: number;
  parts: Part[];
  rows: Row[];
  lengths: Lengths[];
  command: string;
}

/** What may be changed. */
export interface Part {
  id: string;
  share: number;
  peers: boolean;
}

/** Steps of a kind, of ranks that share collectives. */
export interface Row {
  ranks: number[];
  kind: string;
  steps: number;
  step_ns: number;
  without_ns: number;
  without_low_ns: number;
  without_high_ns: number;
  tokens_per_s: number;
  without_tokens_per_s: number;
}

/** How long each step was and would be, from the end of the one before; and when it ended, in the capture's time. */
export interface Lengths {
  ranks: number[];
  steps: number[];
  was: number[];
  would: number[];
  end_ns: number[];
}
