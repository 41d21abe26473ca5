package browsertest

import (
	"encoding/json"
	"os"
)

// labels is a script that records the texts that plots draw on each canvas. A complete redraw first sets the size of
// the canvas or fills the canvas. Both operations clear the record.
const labels = `{
const {fillText, fillRect} = CanvasRenderingContext2D.prototype;
const height = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "height");
Object.defineProperty(HTMLCanvasElement.prototype, "height", {...height, set(to) {
  this.labels = [];
  height.set.call(this, to);
}});
CanvasRenderingContext2D.prototype.fillRect = function (x, y, w, h) {
  const {a, d} = this.getTransform();
  if (x <= 0 && y <= 0 && (x + w) * a >= this.canvas.width - 1 && (y + h) * d >= this.canvas.height - 1 && this.canvas.labels?.length) this.canvas.labels = [];
  return fillRect.call(this, x, y, w, h);
};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const w = this.measureText(text).width, left = x - ({center: w / 2, right: w}[this.textAlign] ?? 0), top = y - (this.textBaseline === "middle" ? 5 : 0);
  this.canvas.labels?.push({text, left, right: left + w, top, bottom: top + 10});
  return fillText.call(this, text, x, y);
};
window.labelled = true;
}`

// misfits is a script that lists layout faults in the present state of the page. The faults are a page wider than its
// window, texts clipped by their element, and plot labels that overlap or lie outside their plot. Text that ends in an
// ellipsis may be clipped if the tooltip shows the full text.
const misfits = `
const out = [], root = document.scrollingElement;
if (!window.labelled) out.push("labels of plots were not recorded and cannot be checked");
if (root.scrollWidth > root.clientWidth) {
  const widest = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll, nav"));
  out.push("the page is " + root.scrollWidth + " px wide: " + widest.slice(0, 3).map((e) => e.outerHTML.slice(0, 80)).join(", "));
}
for (const e of document.querySelectorAll("body *")) {
  const s = getComputedStyle(e), seen = e.getClientRects().length > 0 && s.clipPath === "none" && s.overflowX !== "visible" && !(s.textOverflow === "ellipsis" && e.title);
  if (seen && ["hidden", "clip"].includes(s.overflowX) && e.textContent.trim() && e.scrollWidth > e.clientWidth) out.push("cut off: " + e.textContent.trim().slice(0, 80));
}
for (const c of document.querySelectorAll("canvas")) {
  const all = c.labels ?? [];
  all.forEach((a, i) => {
    if (a.left < -0.5 || a.right > c.clientWidth + 0.5 || a.bottom > c.clientHeight + 1) out.push(c.id + " cuts the label " + a.text);
    for (const b of all.slice(0, i)) {
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) out.push(c.id + ": " + a.text + " overlaps " +  b.text);
    }
  });
}
return out;`

// Misfits returns the layout faults in the present state of the page.
func (b *Tab) Misfits() []string {
	b.t.Helper()
	return b.Told("(() => {" + misfits + "})()")
}

// Barriers returns the serious accessibility faults that axe-core finds in the page. The environment variable
// STEPSCOPE_AXE is the path of axe-core's source. If it is not set, the result is empty.
func (b *Tab) Barriers() []string {
	b.t.Helper()
	path := os.Getenv("STEPSCOPE_AXE")
	if path == "" {
		return nil
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Eval(string(axe), false)
	return b.Told(`axe.run().then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact))
		.map((v) => v.id + ": " + v.help + ", " + v.nodes.length + " times: " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 100) + " " + n.failureSummary.replace(/\s+/g, " ").slice(0, 200)).join(" | "))
		.concat(r.passes.length < 10 ? "too few rules passed to judge the page" : []))`)
}

// Told evaluates an expression and returns its value, a list of texts. If the value is a promise, Told awaits it.
func (b *Tab) Told(expression string) (texts []string) {
	b.t.Helper()
	got := b.Eval("Promise.resolve("+expression+").then(JSON.stringify)", false)
	if err := json.Unmarshal([]byte(got), &texts); err != nil {
		b.t.Fatalf("%v: %s", err, got)
	}
	return texts
}
