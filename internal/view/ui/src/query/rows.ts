// The rows of an answer: as cells, as CSV, and as places in the timeline.

type Value = string | number | null;

/** The columns that lead to a span; null: there are none. */
export function placeOf(columns: readonly string[]): { rank: number; start: number; dur: number } | null {
  const rank = columns.indexOf("rank"), start = columns.indexOf("start_ns");
  return rank < 0 || start < 0 ? null : { rank, start, dur: columns.indexOf("dur_ns") };
}

export function cell(v: Value): string {
  return v === null ? "" : typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(6))) : String(v);
}

/** CSV as in RFC 4180. */
export function csv(columns: readonly string[], rows: readonly (readonly Value[])[]): string {
  const field = (v: Value) => {
    const text = v === null ? "" : String(v);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}
