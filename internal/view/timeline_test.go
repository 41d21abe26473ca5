package view

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// openTimeline shows the timeline of a capture, given by path or by name in testdata.
func openTimeline(t *testing.T, capture, hash string) (tab *browsertest.Tab, url string) {
	t.Helper()
	if !filepath.IsAbs(capture) {
		capture = filepath.Join("..", "..", "testdata", "traces", capture)
	}
	in := window.Input{Paths: []string{capture}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCapture("0", read, nil, false, light.Options{})
	if err != nil {
		t.Fatal(err)
	}
	url = serve(t, Options{Given: []*Capture{c}})
	tab = browsertest.Open(t, url+"/#tab=timeline"+hash)
	tab.Size(1280, 900)
	ready(t, tab)
	return tab, url
}

// press presses keys in order, and waits for their effects.
func press(t *testing.T, tab *browsertest.Tab, keys ...string) {
	t.Helper()
	for _, key := range keys {
		tab.Eval(fmt.Sprintf(`(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, key), false)
		tab.Wait(`window.__stats.idle()`)
	}
	ready(t, tab)
}

// mouse sends a mouse event at a point of the window: mouseMoved, mousePressed, mouseReleased.
func mouse(tab *browsertest.Tab, kind string, x, y float64) {
	button := "left"
	if kind == "mouseMoved" {
		button = "none"
	}
	tab.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": button, "clickCount": 1}, nil)
}

// counts are the page's drawing statistics.
type counts struct {
	Paints, Overlays, DrawImage, FillRect, MostImages, MostRects, ViewBytes, Tiles, Missing int
}

func stats(t *testing.T, tab *browsertest.Tab) (c counts) {
	t.Helper()
	if err := json.Unmarshal([]byte(tab.Eval(`JSON.stringify(window.__stats)`, false)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// param returns a parameter of the page's address.
func param(tab *browsertest.Tab, name string) string {
	return tab.Eval(fmt.Sprintf(`new URLSearchParams(location.hash.slice(1)).get(%q) ?? ""`, name), false)
}

// TestTimelineStraggler: on the map the slow rank is the darkest row from its first slow step on; a click on such a
// cell shows that rank and the median one, aligned at the step.
func TestTimelineStraggler(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "")
	// The darkness of the middle of each cell.
	got := tab.Eval(`(() => {
		const canvas = document.querySelector(".tl-map canvas"), left = 220, w = canvas.width - left - 8, h = canvas.height - 16;
		const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
		return JSON.stringify([0, 1, 2, 3].map((r) => Array.from({length: 14}, (_, s) => {
			const at = 4 * (Math.floor(((r + 0.5) / 4) * h) * canvas.width + Math.floor(left + ((s + 0.5) / 14) * w));
			return 765 - data[at] - data[at + 1] - data[at + 2];
		})));
	})()`, false)
	var dark [4][14]int
	if err := json.Unmarshal([]byte(got), &dark); err != nil {
		t.Fatal(err, got)
	}
	for step := range 14 {
		for _, rank := range []int{0, 1, 3} {
			if step >= 7 && dark[2][step] < dark[rank][step]+200 {
				t.Errorf("step %d: rank 2 is %d dark, rank %d is %d", step, dark[2][step], rank, dark[rank][step])
			}
			if step >= 2 && step < 7 && dark[2][step] > dark[rank][step]+60 {
				t.Errorf("step %d: rank 2 is %d dark already", step, dark[2][step])
			}
		}
	}
	var at struct{ X, Y float64 }
	json.Unmarshal([]byte(tab.Eval(`(() => {
		const box = document.querySelector(".tl-map canvas").getBoundingClientRect();
		return JSON.stringify({x: box.left + 220 + (9.5 / 14) * (box.width - 228), y: box.top + (2.5 / 4) * (box.height - 16)});
	})()`, false)), &at)
	mouse(tab, "mouseMoved", at.X, at.Y)
	mouse(tab, "mousePressed", at.X, at.Y)
	mouse(tab, "mouseReleased", at.X, at.Y)
	tab.Wait(`location.hash.includes("align=step")`)
	ready(t, tab)
	if only := param(tab, "only"); len(only) != 3 || !strings.HasPrefix(only, "2,") || param(tab, "step") != "9" {
		t.Errorf("a click on step 9 of rank 2 leads to %s", tab.Eval(`location.hash`, false))
	}
	if text := tab.Eval(`document.querySelector(".tl-gutter").innerText`, false); !strings.Contains(text, "TP02") || strings.Count(text, "TP0") != 2 || !strings.Contains(text, "moved") {
		t.Errorf("shown rows: %q", text)
	}
}

// TestTimelineBudgets: at ten zooms, from the whole capture to a few µs, a view stays within its limits of bytes and
// drawing; the large capture takes part if the machine has it.
func TestTimelineBudgets(t *testing.T) {
	captures := []string{"compute_skew"}
	if data := os.Getenv("STEPSCOPE_DATA"); data != "" {
		captures = append(captures, filepath.Join(data, "traces", "large"))
	}
	for _, capture := range captures {
		t.Run(filepath.Base(capture), func(t *testing.T) {
			tab, _ := openTimeline(t, capture, "&open=r0%2Cr1&set=host%3D0")
			tab.Size(2560, 1300)
			drawn := 0
			for length := 2e9; length > 5e3; length /= 4 {
				// In the middle of the last step, which is busy.
				tab.Eval(fmt.Sprintf(`window.__stats.look((s) => ({t0: s - %f, t1: s + %f}))`, length/2, length/2), false)
				tab.Wait(`window.__stats.idle() && window.__stats.missing === 0 && window.__stats.tiles > 0`)
				c := stats(t, tab)
				drawn = max(drawn, c.FillRect+c.DrawImage)
				if c.MostImages > 448 || c.MostRects > 5000 || c.ViewBytes > 2_100_000 || c.DrawImage == 0 {
					t.Errorf("%g ms: %+v", length/1e6, c)
				}
			}
			if drawn < 500 {
				t.Errorf("at most %d rectangles and strips were drawn: too few", drawn)
			}
		})
	}
}

// TestTimelineHover: moving the mouse over 500 places repaints only the overlay.
func TestTimelineHover(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "&step=9")
	before := stats(t, tab)
	tab.Eval(`(() => {
		const el = document.querySelector(".tl canvas.overlay"), box = el.getBoundingClientRect();
		for (let i = 0; i < 500; i++) {
			const x = box.left + ((i * 37) % box.width), y = box.top + ((i * 53) % box.height);
			el.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: y, bubbles: true}));
		}
	})()`, false)
	tab.Eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, false)
	after := stats(t, tab)
	if after.Paints != before.Paints || after.Overlays-before.Overlays < 500 {
		t.Errorf("500 moves painted %d times, and the overlay %d times", after.Paints-before.Paints, after.Overlays-before.Overlays)
	}
	if tip := tab.Eval(`document.getElementById("tip")?.innerText ?? ""`, false); tip == "" {
		t.Error("no tip was ever shown")
	}
}

// TestTimelineSearch finds a kernel, goes to it, and shows its details; n goes on to the next.
func TestTimelineSearch(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "&q=cudnn_generated")
	if text := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); !strings.Contains(text, "spans of") || !strings.Contains(text, "cudnn_generated") {
		t.Fatalf("the search finds %q", text)
	}
	press(t, tab, "n")
	first := param(tab, "sel")
	if text := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); !strings.Contains(text, "cudnn_generated") || !strings.Contains(text, "The same on every rank") || first == "" {
		t.Errorf("the next one is %s: %q", first, text)
	}
	press(t, tab, "n")
	if second := param(tab, "sel"); second == first || second == "" {
		t.Errorf("after %s comes %q", first, second)
	}
	press(t, tab, "N")
	if again := param(tab, "sel"); again != first {
		t.Errorf("before it is %s, not %s", again, first)
	}
	press(t, tab, "/")
	if what := tab.Eval(`document.activeElement.getAttribute("aria-label")`, false); !strings.HasPrefix(what, "Search") {
		t.Errorf("/ leads to %q", what)
	}
}

// TestTimelineGhosts: a what-if change is chosen in the timeline, or comes with the address from What if; each step
// then shows, beside it and over the rows of its ranks, its predicted end. Each begins where the previous step ended.
func TestTimelineGhosts(t *testing.T) {
	tab, url := openTimeline(t, "compute_skew", "&step=9&rank=2")
	const options, outcome = `[...document.querySelectorAll(".tl-whatif option")].map((o) => o.value).join()`, `(document.querySelector(".tl-outcome")?.textContent ?? "")`
	if got := tab.Eval(options, false); got != ",TP02.work=peers,host=0,TP02.host=peers,device=0,collective=0,gap=0,TP02.device=peers" {
		t.Errorf("choices: %q", got)
	}
	before, legend := stats(t, tab), tab.Eval(`document.querySelector(".tl-rule .legend").innerText`, false)
	press(t, tab, "g")
	if got := tab.Eval(`document.activeElement.className`, false); got != "tl-whatif" {
		t.Errorf("g leads to %q", got)
	}
	tab.Eval(`{const s = document.querySelector(".tl-whatif"); s.value = "TP02.work=peers"; s.dispatchEvent(new Event("change"))}`, false)
	tab.Wait(outcome + ` !== ""`)
	ready(t, tab)
	if got := tab.Eval(outcome, false); !strings.HasPrefix(got, "decode ") || !strings.Contains(got, "(-") {
		t.Errorf("outcome %q", got)
	}
	if got := tab.Eval(`document.querySelector(".tl-rule .legend").innerText`, false); got == legend || !strings.Contains(got, "if TP02.work like its peers") {
		t.Errorf("the rows above are %q", got)
	}
	after := stats(t, tab)
	if more := after.FillRect - before.FillRect; more < 2 || more%2 != 0 || more > 20 {
		t.Errorf("%d rectangles for the ghosts of the steps around one", more)
	}
	if got := param(tab, "set"); got != "TP02.work=peers" {
		t.Errorf("the address has %q", got)
	}
	if got := tab.Eval(`document.activeElement.className`, false); got != "tl-whatif" {
		t.Errorf("the focus is on %q", got)
	}
	tab.Eval(`document.activeElement.blur()`, false)
	press(t, tab, "A") // on other axes a step has no single end
	if c := stats(t, tab); tab.Eval(outcome, false) != "" || c.FillRect == after.FillRect {
		t.Errorf("aligned by steps: %+v", c)
	}

	tab.Show(url + "/#tab=whatif&set=host%3D0")
	tab.Wait(`document.querySelector(".outcome a") !== null`)
	tab.Eval(`document.querySelector(".outcome a").click()`, false)
	tab.Wait(outcome + ` !== ""`)
	if got := tab.Eval(`document.querySelector(".tl-whatif").value`, false); got != "host=0" {
		t.Errorf("What if leads to %q", got)
	}
	var got WhatIf
	if err := json.Unmarshal([]byte(tab.Eval(`(async () => JSON.stringify(await (await fetch("api/whatif?set=host=0")).json()))()`, false)), &got); err != nil || len(got.Lengths) != 1 {
		t.Fatal(err, got)
	}
	l := got.Lengths[0]
	for i := 1; i < len(l.Steps); i++ {
		if l.Steps[i] == l.Steps[i-1]+1 && l.Ends[i]-l.Was[i] != l.Ends[i-1] {
			t.Errorf("step %d takes %d and ends at %d, the one before at %d", l.Steps[i], l.Was[i], l.Ends[i], l.Ends[i-1])
		}
	}
	if len(l.Steps) < 10 {
		t.Errorf("only %d steps", len(l.Steps))
	}
}

// TestTimelineKeys is a tour by keys alone: to a step, a span, its counterparts, along its lane, to other lanes,
// through the alignments, and back.
func TestTimelineKeys(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "")
	press(t, tab, "]", "]")
	if step := param(tab, "step"); step == "" {
		t.Error("] leads to no step")
	}
	press(t, tab, ".")
	span, rank := param(tab, "sel"), param(tab, "rank")
	if span == "" || rank != "0" {
		t.Fatalf(". selects span %q of rank %q", span, rank)
	}
	press(t, tab, ".")
	if next := param(tab, "sel"); next == span {
		t.Error(". does not go on")
	}
	press(t, tab, ",")
	if back := param(tab, "sel"); back != span {
		t.Errorf(", goes to %s, not back to %s", back, span)
	}
	press(t, tab, "c")
	if other := param(tab, "rank"); other == "0" {
		t.Error("c stays on the rank")
	}
	press(t, tab, "C")
	if back := param(tab, "sel"); back != span || param(tab, "rank") != "0" {
		t.Errorf("C goes to %s, not back to %s", back, span)
	}
	press(t, tab, "ArrowDown")
	if below := param(tab, "sel"); below == span {
		t.Error("there is nothing in the lanes below")
	}
	for _, by := range []string{"step", "collective", "stretched", ""} {
		press(t, tab, "A")
		if got := param(tab, "align"); got != by {
			t.Errorf("A aligns by %q, not by %q", got, by)
		}
		pressed := tab.Eval(`[...document.querySelectorAll("[data-align][aria-pressed=true]")].map((b) => b.dataset.align).join()`, false)
		if want := max(by, "wall"); by != "" && pressed != by || by == "" && pressed != "wall" {
			t.Errorf("pressed is %s, want %s", pressed, want)
		}
	}
	press(t, tab, "m")
	if text := tab.Eval(`document.querySelector(".tl-panel").innerText`, false); !strings.Contains(text, "self time") || param(tab, "r0") == "" {
		t.Errorf("m sums up %q", text)
	}
	press(t, tab, "Escape")
	if tab.Eval(`document.querySelector(".tl-panel").hidden`, false) != "true" || param(tab, "sel")+param(tab, "r0") != "" {
		t.Error("Escape leaves something selected")
	}
	press(t, tab, "h")
	if param(tab, "heat") != "off" || tab.Eval(`document.querySelector(".tl-heat").hidden`, false) != "true" {
		t.Error("h does not hide the map")
	}
	press(t, tab, "0", "w", "d", "s", "a", "u")
	if param(tab, "open") != "r0" {
		t.Errorf("u unfolds %q", param(tab, "open"))
	}
}

// TestTimelineReload: an address opened again gives the same pixels.
func TestTimelineReload(t *testing.T) {
	tab, url := openTimeline(t, "compute_skew", "")
	for _, hash := range []string{
		"", "&step=9&align=stretched", "&align=collective&at=391900000&t0=391000000&t1=393000000&only=2%2C0", "&q=gemm&heat=wait&t0=385000000&t1=395000000",
		"&set=TP02.work%3Dpeers&step=9", "&rank=2&sel=900&open=r2&y=120&theme=dark", "&r0=300000000&r1=400000000&sort=-count&heat=off",
	} {
		var sum [2][32]byte
		for i := range sum {
			tab.Show("about:blank")
			tab.Wait(`location.href === "about:blank"`)
			tab.Show(url + "/#tab=timeline" + hash)
			ready(t, tab)
			tab.Wait(`window.__stats.missing === 0`)
			hold := tab.Eval(`location.hash`, false)
			sum[i] = sha256.Sum256(tab.Picture(false))
			if now := tab.Eval(`location.hash`, false); now != hold {
				t.Errorf("%s becomes %s by itself", hold, now)
			}
		}
		if sum[0] != sum[1] {
			t.Errorf("%s: the second picture differs", hash)
		}
	}
}
