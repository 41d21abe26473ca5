// Formats numbers exactly as Go's internal/base/metric does.

/** Whole thousands apart. */
export function groupDigits(s: string) {
  const [whole, rest] = s.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? grouped : grouped + "." + rest;
}

/** Three significant digits, whole digits never dropped. */
export function digits3(v: number) {
  if (v === 0) return "0";
  let exp = Math.floor(Math.log10(Math.abs(v)));
  if (Math.abs(v) >= Math.pow(10, exp + 1) * (1 - 0.0005)) exp++;
  return groupDigits(v.toFixed(Math.min(Math.max(2 - exp, 0), 20)));
}

/** descending */
export function scaled(v: number, units: [number, string][]) {
  const last = units[units.length - 1];
  if (v === 0) return "0 " + last[1];
  for (const [size, name] of units) {
    if (Math.abs(v) / size >= 0.9995) {
      const text = size === 1 && Number.isInteger(v) ? groupDigits(String(v)) : digits3(v / size);
      return text + " " + name;
    }
  }
  return digits3(v) + " " + last[1];
}

/** Nanoseconds. */
export function duration(ns: number) {
  return scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
}

/** A moment in ns, told from those that are a step before and after it. */
export function moment(ns: number, step: number) {
  const [size, name] = ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]] as [number, string][]).find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
  const digits = Math.min(Math.max(Math.ceil(Math.log10(size / step) - 1e-9), 0), 9);
  return ns === 0 ? "0" : groupDigits((ns / size).toFixed(digits)) + " " + name;
}

/** Powers of 1000. */
export function bytes(n: number) {
  return scaled(n, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
}

/** A fraction. */
export function percent(f: number) {
  return digits3(f * 100) + " %";
}

/** An error as a fraction: below a thousandth its digits say nothing. */
export function error(f: number) {
  return Math.abs(f) < 0.0005 ? "less than 0.1 %" : percent(f);
}

/** A difference, with its sign. */
export function signed(ns: number) {
  return (ns > 0 ? "+" : "") + duration(ns);
}

/** Round ticks from 0 to about max: 1, 2 or 5 times a power of ten. */
export function ticks(max: number, n: number) {
  if (!(max > 0)) return [0];
  const raw = max / n, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const unit = [1, 2, 5, 10].find((u) => u * power >= raw * 0.999) || 10;
  const out = [];
  for (let v = 0; v <= max * 1.0001; v += unit * power) out.push(v);
  return out;
}
