// Where the panel is and how large: below the rows, or beside them. The address has it: side420, or 300.

import { h } from "../dom";

const LEAST = { below: 110, side: 260 };

export class Dock {
  side = false;
  private size = 0; // 0: as it comes
  readonly handle = h("div", { class: "tl-size", role: "separator", tabindex: "0", "aria-label": "Size of the details", title: "Drag, or use the arrow keys", data: { tool: "" } });

  constructor(private readonly root: HTMLElement, private readonly panel: HTMLElement, private readonly set: (text: string | null) => void) {
    const { handle } = this;
    handle.addEventListener("pointerdown", (e) => {
      handle.setPointerCapture(e.pointerId);
      e.preventDefault();
    });
    handle.addEventListener("pointermove", (e) => {
      if (!handle.hasPointerCapture(e.pointerId)) return;
      const box = this.panel.getBoundingClientRect();
      this.resize(this.side ? box.right - e.clientX : box.bottom - e.clientY);
    });
    handle.addEventListener("pointerup", () => this.keep());
    handle.addEventListener("keydown", (e) => {
      const by = { ArrowUp: 24, ArrowLeft: 24, ArrowDown: -24, ArrowRight: -24, Home: -1e6, End: 1e6 }[e.key];
      if (by === undefined) return;
      e.preventDefault();
      this.resize(this.now() + by);
      this.keep();
    });
  }

  /** Shows what the address says, and tells whether the panel is in the other place now. */
  show(text: string | undefined): boolean {
    const m = /^(side)?(\d{1,4})?$/.exec(text ?? ""), before = this.side;
    this.side = m?.[1] !== undefined;
    this.size = Number(m?.[2] ?? 0);
    this.apply();
    return this.side !== before;
  }

  /** To the other place. */
  move(): void {
    this.set(this.side ? null : "side");
  }

  private now(): number {
    const box = this.panel.getBoundingClientRect();
    return this.side ? box.width : box.height;
  }

  private resize(size: number): void {
    const most = this.side ? this.root.clientWidth * 0.6 : this.root.clientHeight * 0.7, least = this.side ? LEAST.side : LEAST.below;
    this.size = Math.round(Math.max(Math.min(size, most), least));
    this.apply();
  }

  private keep(): void {
    this.set((this.side ? "side" : "") + (this.size || ""));
  }

  private apply(): void {
    this.root.classList.toggle("side", this.side);
    if (this.size === 0) this.root.style.removeProperty("--dock");
    else this.root.style.setProperty("--dock", this.size + "px");
    this.handle.setAttribute("aria-orientation", this.side ? "vertical" : "horizontal");
    this.measure();
  }

  /** Says how large the panel is, to those who do not see it. */
  measure(): void {
    const most = this.side ? this.root.clientWidth * 0.6 : this.root.clientHeight * 0.7, now = this.now();
    this.handle.ariaValueMin = String(this.side ? LEAST.side : LEAST.below);
    this.handle.ariaValueMax = String(Math.round(Math.max(most, now)));
    this.handle.ariaValueNow = String(Math.round(now));
  }
}
