// The colours of spans: one for each class, in three shades so that neighbours differ, and a pale one for what a search
// did not find.

import { colors } from "../../../../web/plot";
import { mix, rgb } from "../../../../web/heat";

/** The style sheet's names of the classes' colours, in the order of the server's list of classes. */
export const VARIABLES = [
  "bg", "attention", "gemm", "moe", "norm", "elementwise", "communication", "copy", "sampling", "other",
  "t-step", "t-range", "t-op", "t-call", "t-launch", "t-sync", "t-python", "t-profiler", "t-nocore", "t-other",
];

/** Shades of a class: three by the name, and one for what is not meant. */
export const SHADES = 4, PALE = 3;

export interface Palette {
  /** By class × SHADES + shade. */
  fill: string[];
  /** Of text on it. */
  text: string[];
  /** Of strips, as numbers: by class. */
  strip: [number, number, number][];
  wait: [number, number, number];
  /** Of waiting: the ground and the lines of its hatching, and text on it. */
  waitFill: [string, string];
  waitText: string;
  name: (variable: string) => string;
}

type RGB = [number, number, number];

const css = ([r, g, b]: readonly number[]) => `rgb(${r},${g},${b})`;

/** How light a colour is to the eye, 0 to 1 (WCAG's relative luminance). */
export function luminance([r, g, b]: readonly number[]): number {
  const part = (v: number) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}

/** The contrast of two colours, 1 to 21. */
export function contrast(a: readonly number[], b: readonly number[]): number {
  const x = luminance(a), y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** Black or white, whichever is read better. */
export function ink(on: readonly number[]): string {
  return contrast(on, [255, 255, 255]) >= contrast(on, [17, 17, 17]) ? "#ffffff" : "#111111";
}

/** A colour on which text is read well, in black or white: the nearest that is. */
export function readable(on: readonly number[]): RGB {
  const to = ink(on) === "#ffffff" ? [0, 0, 0] : [255, 255, 255];
  for (let by = 0; ; by += 0.04) {
    const c = mix([on as RGB, to as RGB], by) as RGB;
    if (contrast(c, ink(on) === "#ffffff" ? [255, 255, 255] : [17, 17, 17]) >= 4.5 || by >= 1) return c;
  }
}

export function palette(): Palette {
  const color = colors(), bg = rgb(color("bg"));
  const light = luminance(bg) > 0.5;
  const wait = readable(rgb(color("wait")));
  const out: Palette = { fill: [], text: [], strip: [], wait, waitFill: [css(wait), css(mix([wait, bg], 0.3))], waitText: ink(wait), name: color };
  for (const variable of VARIABLES) {
    const base = rgb(color(variable));
    const shades = [base, mix([base, light ? [255, 255, 255] : [0, 0, 0]], 0.16), mix([base, light ? [0, 0, 0] : [255, 255, 255]], 0.1), mix([base, bg], 0.78)].map(readable);
    for (const s of shades) {
      out.fill.push(css(s));
      out.text.push(ink(s));
    }
    out.strip.push(mix([base, bg], 0.18) as RGB);
  }
  return out;
}
