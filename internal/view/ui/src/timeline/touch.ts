// Fingers: one that moves sideways pans, two zoom. The browser scrolls for one that moves up or down, see touch-action.

/** Pans by pixels, and zooms by a factor around a pixel. */
export interface Hand {
  pan(by: number): void;
  zoom(factor: number, x: number): void;
}

export function touches(el: HTMLElement, hand: Hand): void {
  const at = new Map<number, number>(); // by pointer: where it is
  const span = () => {
    const [a, b] = [...at.values()];
    return { middle: (a + b) / 2, apart: Math.max(Math.abs(a - b), 8) };
  };
  el.addEventListener("pointerdown", (e) => {
    if (e.pointerType === "touch" && at.size < 2) at.set(e.pointerId, e.offsetX);
  });
  el.addEventListener("pointermove", (e) => {
    const from = at.get(e.pointerId);
    if (from === undefined) return;
    if (at.size === 1) {
      hand.pan(e.offsetX - from);
      at.set(e.pointerId, e.offsetX);
      return;
    }
    const before = span();
    at.set(e.pointerId, e.offsetX);
    const after = span();
    hand.zoom(before.apart / after.apart, before.middle);
    hand.pan(after.middle - before.middle);
  });
  for (const end of ["pointerup", "pointercancel"]) el.addEventListener(end, (e) => at.delete((e as PointerEvent).pointerId));
}
