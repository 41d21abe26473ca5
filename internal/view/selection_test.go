package view

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// rect is the place of an element in the window.
type rect struct{ X, Y, Width, Height float64 }

func rectOf(t *testing.T, tab *browsertest.Tab, selector string) (r rect) {
	t.Helper()
	if err := json.Unmarshal([]byte(tab.Eval(fmt.Sprintf(`JSON.stringify(document.querySelector(%q).getBoundingClientRect())`, selector), false)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// dragged presses the mouse at a point, moves it in steps to another, and lets it go there.
func dragged(t *testing.T, tab *browsertest.Tab, x0, y0, x1, y1 float64) {
	t.Helper()
	mouse(tab, "mouseMoved", x0, y0)
	mouse(tab, "mousePressed", x0, y0)
	for i := 1.0; i <= 4; i++ {
		tab.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x0 + (x1-x0)*i/4, "y": y0 + (y1-y0)*i/4, "button": "left", "buttons": 1}, nil)
	}
	mouse(tab, "mouseReleased", x1, y1)
	ready(t, tab)
}

// boxOf returns the selection's place as the timeline draws it.
func boxOf(t *testing.T, tab *browsertest.Tab) (s selection) {
	t.Helper()
	if err := json.Unmarshal([]byte(tab.Eval(`JSON.stringify(window.__stats.box())`, false)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPanel: the panel leaves the selection in view. It is resized by dragging and by keys, goes beside the rows, and
// the address keeps both, also on the way through another view.
func TestPanel(t *testing.T) {
	tab, url := openTimeline(t, "compute_skew", "&step=9")
	press(t, tab, ".", "c", "c", "c")
	if s := boxOf(t, tab); !s.Seen || param(tab, "rank") != "3" {
		t.Errorf("on rank %s the selection is at %+v", param(tab, "rank"), s)
	}
	below := rectOf(t, tab, ".tl-panel")
	dragged(t, tab, below.X+300, below.Y, below.X+300, below.Y-120)
	if now := rectOf(t, tab, ".tl-panel"); math.Abs(now.Height-below.Height-120) > 6 || !boxOf(t, tab).Seen {
		t.Errorf("dragged up by 120, the panel has %.0f of %.0f px, the selection %+v", now.Height, below.Height, boxOf(t, tab))
	}
	higher := rectOf(t, tab, ".tl-panel")
	tab.Eval(`document.querySelector(".tl-size").focus()`, false)
	strike(tab, "ArrowDown")
	strike(tab, "ArrowDown")
	ready(t, tab)
	if now := rectOf(t, tab, ".tl-panel"); math.Abs(higher.Height-now.Height-48) > 2 {
		t.Errorf("two keys make %.0f px of %.0f", now.Height, higher.Height)
	}
	if got := tab.Eval(`document.activeElement.className`, false); got != "tl-size" {
		t.Errorf("the focus is on %q", got)
	}
	if param(tab, "panel") == "" {
		t.Error("the address does not keep the size")
	}

	press(t, tab, "|")
	side, rows := rectOf(t, tab, ".tl-panel"), rectOf(t, tab, ".tl-body")
	if side.X < rows.X+rows.Width-1 || side.Height < 500 || !boxOf(t, tab).Seen {
		t.Errorf("beside the rows, the panel is at %+v, the rows at %+v", side, rows)
	}
	dragged(t, tab, side.X, side.Y+300, side.X-150, side.Y+300)
	if now := rectOf(t, tab, ".tl-panel"); math.Abs(now.Width-side.Width-150) > 6 {
		t.Errorf("dragged by 150, the panel is %.0f px wide, was %.0f", now.Width, side.Width)
	}
	kept := param(tab, "panel")
	tab.Eval(`[...document.querySelectorAll("nav a, header a")].find((a) => a.textContent === "Kernels").click()`, false)
	ready(t, tab)
	if got := param(tab, "panel"); got != kept || !strings.HasPrefix(kept, "side") {
		t.Errorf("in another view the place is %q, was %q", got, kept)
	}
	tab.Show(url + "/#tab=timeline&step=9&rank=3&sel=900&panel=side300")
	ready(t, tab)
	tab.Wait(`document.querySelector(".tl-panel dd") !== null`)
	if now := rectOf(t, tab, ".tl-panel"); math.Abs(now.Width-300) > 2 || !boxOf(t, tab).Seen {
		t.Errorf("opened by its address the panel is at %+v, the selection %+v", now, boxOf(t, tab))
	}
	tab.Size(390, 844)
	ready(t, tab)
	if now := rectOf(t, tab, ".tl-panel"); now.X < 0 || now.X+now.Width > 391 || now.Width < 350 {
		t.Errorf("on a phone the panel is at %+v", now)
	}
	if now := rectOf(t, tab, ".tl-facts"); now.X < 0 || now.X > 100 {
		t.Errorf("on a phone the facts are at %+v", now)
	}
}

// TestPositions: positions have µs in ms and all ns; durations have three digits. The details are copied as text by the
// key and by the button.
func TestPositions(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "&step=9")
	tab.Eval(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`, false)
	press(t, tab, ".")
	fact := func(name string) string {
		return tab.Eval(fmt.Sprintf(`[...document.querySelectorAll(".tl-panel dt")].find((e) => e.textContent === %q).nextElementSibling.textContent`, name), false)
	}
	var starts []int64
	for range 2 {
		text := fact("start")
		ms, rest, ok := strings.Cut(text, " ms (")
		ns, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSuffix(rest, " ns)"), ",", ""), 10, 64)
		if !ok || err != nil || ms != fmt.Sprintf("%.3f", float64(ns)/1e6) {
			t.Fatalf("start %q", text)
		}
		starts = append(starts, ns)
		press(t, tab, ".")
	}
	if starts[0] >= starts[1] {
		t.Errorf("starts %d", starts)
	}
	for _, how := range []string{"key", "button"} {
		tab.Eval(`window.copied = ""`, false)
		if how == "key" {
			press(t, tab, "y")
		} else {
			tab.Eval(`document.querySelector(".tl-panel [data-tool=y]").click()`, true)
		}
		tab.Wait(`window.copied !== ""`)
		text := tab.Eval(`window.copied`, false)
		for _, want := range []string{tab.Eval(`document.querySelector(".tl-panel h2").textContent`, false), "start: " + fact("start"), "duration: " + fact("duration"), "\nTP01\t", "The same on every rank"} {
			if !strings.Contains(text, want) {
				t.Errorf("by %s, %q lacks %q", how, text, want)
			}
		}
		if strings.Contains(text, "copy") || strings.Contains(text, "previous") {
			t.Errorf("by %s, %q has what is no detail", how, text)
		}
	}
}

// TestAlike: links and keys lead to the next span of the same name, back, and to the longest on the rank.
func TestAlike(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "&q=cudnn_generated")
	press(t, tab, "n")
	first, rank, name := param(tab, "sel"), param(tab, "rank"), selected(t, tab).Name
	for _, key := range []string{"x", "X", "L"} {
		press(t, tab, key)
		s := selected(t, tab)
		if s.Name != name || s.Rank != rank || key == "x" && s.Span == first || key == "X" && s.Span != first || !boxOf(t, tab).Seen {
			t.Errorf("%s leads from span %s of rank %s to %+v", key, first, rank, s)
		}
	}
	longest := param(tab, "sel")
	tab.Eval(`[...document.querySelectorAll(".tl-panel .tl-link")].find((b) => b.textContent === "previous").click()`, false)
	tab.Wait(fmt.Sprintf(`new URLSearchParams(location.hash.slice(1)).get("sel") !== %q`, longest))
	if s := selected(t, tab); s.Name != name {
		t.Errorf("the link leads to %+v", s)
	}
}

// sums are the lines of the panel's table by rank.
func sums(tab *browsertest.Tab) (lines []string) {
	return tab.Told(`[...document.querySelectorAll(".tl-ranksums tbody tr")].map((r) => [...r.cells].map((c) => c.textContent.trim()).filter((x) => x).join("|"))`)
}

// TestArea: a drag along a row snaps to the edges of spans and sums up all rows; a drag across rows sums up these. The
// parts of a rank are those of the steps' table, and a rank is left out by its box.
func TestArea(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "&step=9&heat=off")
	press(t, tab, ".")
	tab.Wait(`document.querySelector(".tl-panel dd") !== null`)
	press(t, tab, "f")
	s := boxOf(t, tab)
	body := rectOf(t, tab, ".tl canvas.overlay")
	y := body.Y + 18 + 8 // the first lane
	x0, x1 := body.X+s.Left*body.Width, body.X+(s.Left+s.Width)*body.Width
	start, end := tab.Eval(`String(window.__stats.selected().start_ns)`, false), tab.Eval(`String(window.__stats.selected().start_ns + window.__stats.selected().dur_ns)`, false)
	dragged(t, tab, x0+4, y, x1-4, y)
	if r0, r1 := param(tab, "r0"), param(tab, "r1"); r0 != start || r1 != end || param(tab, "area") != "" {
		t.Errorf("a drag near the edges measures %s to %s over rows %q, the span is at %s to %s", r0, r1, param(tab, "area"), start, end)
	}
	tab.Wait(`document.querySelector(".tl-ranksums") !== null`)
	if got := sums(tab); len(got) != 4 || !strings.HasPrefix(got[0], "TP00|") {
		t.Errorf("by rank: %q", got)
	}

	var step struct {
		Start int64 `json:"start_ns"`
		End   int64 `json:"end_ns"`
	}
	json.Unmarshal([]byte(tab.Eval(`JSON.stringify(window.__stats.step(9))`, false)), &step)
	tab.Eval(fmt.Sprintf(`window.__stats.look(() => ({t0: %d, t1: %d}))`, step.Start-4_000_000, step.End+4_000_000), false)
	press(t, tab, "Escape")
	body = rectOf(t, tab, ".tl canvas.overlay")
	at := func(ns int64) float64 {
		return body.X + float64(ns-step.Start+4_000_000)/float64(step.End-step.Start+8_000_000)*body.Width
	}
	dragged(t, tab, at(step.Start)-3, body.Y+20, at(step.End)+3, body.Y+70)
	near := func(name string, want int64) bool { // of the border of the step, or of a span beside it
		got, err := strconv.ParseInt(param(tab, name), 10, 64)
		return err == nil && math.Abs(float64(got-want)) < 11/body.Width*float64(step.End-step.Start+8_000_000)
	}
	if got := param(tab, "area"); got != "0-1" || !near("r0", step.Start) || !near("r1", step.End) {
		t.Errorf("across the rows of TP00: rows %q from %s to %s, the step is at %+v", got, param(tab, "r0"), param(tab, "r1"), step)
	}
	tab.Wait(`document.querySelectorAll(".tl-ranksums tbody tr:not(.tl-none)").length === 1`)
	if text := tab.Eval(`document.querySelector(".tl-panel-head").innerText`, false); !strings.Contains(text, "chosen rows") {
		t.Errorf("the panel says %q", text)
	}
	tab.Eval(`{const box = document.querySelector('.tl-ranksums input[aria-label="Sum up TP02"]'); box.focus(); box.click()}`, true)
	tab.Wait(`document.querySelectorAll(".tl-ranksums tbody tr:not(.tl-none)").length === 2`)
	ready(t, tab)
	if got := tab.Eval(`document.activeElement.getAttribute("aria-label")`, false); got != "Sum up TP02" {
		t.Errorf("after the choice the focus is on %q", got)
	}
	tab.Eval(`[...document.querySelectorAll(".tl-ranksums button")].find((b) => b.textContent === "all visible rows").click()`, true)
	tab.Wait(`document.querySelectorAll(".tl-ranksums tbody tr:not(.tl-none)").length === 4`)
	ready(t, tab)
	if param(tab, "area") != "" {
		t.Errorf("all rows: %q", param(tab, "area"))
	}
	tab.Eval(`document.querySelector('.tl-ranksums input[aria-label="Sum up TP02"]').click()`, true)
	tab.Wait(`document.querySelectorAll(".tl-ranksums tbody tr:not(.tl-none)").length === 3`)
	press(t, tab, "v")
	if param(tab, "area") == "" || param(tab, "rows") != "compact" {
		t.Errorf("without TP02, compact: %q, %q", param(tab, "area"), param(tab, "rows"))
	}
	tab.Eval(`document.activeElement.blur()`, false)
	press(t, tab, "Escape")
	if area, rows := param(tab, "area"), param(tab, "rows"); area != "" || rows != "compact" {
		t.Errorf("Escape leaves the area %q and the rows %q", area, rows)
	}
}
