package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/view/kernels"
	"github.com/stepscope/stepscope/internal/view/live"
)

// TestSmallThings: Escape lets a search go, tips go with what they were of, the map has the same figures in both views,
// whole shows the capture and no more, and keys are written as they are pressed.
func TestSmallThings(t *testing.T) {
	c := captureOf(t, "compute_skew", "0")
	c.Watched = []Watched{{Says: "the watch says <b>this</b>", More: []string{"  - and this"}}}
	url := serve(t, Options{Given: []*Capture{c}})
	tab := browsertest.Open(t, url)
	tab.Size(1280, 900)
	ready(t, tab)
	if got := tab.Eval(`document.querySelector(".answer-line").innerText`, false); !strings.HasPrefix(got, "the watch says <b>this</b>") || !strings.Contains(got, "In this window: ") {
		t.Errorf("the window of a watch begins with %q", got)
	}
	const scale = `[...document.querySelectorAll(".scale")].map((e) => e.innerText.replace(/ beyond the median rank/, "").replace(/\s+/g, " ").trim()).find((s) => s.includes("+"))`
	map1 := tab.Eval(scale, false)
	show(t, tab, url+"#tab=timeline&heat=work&q=nccl")
	if map2 := tab.Eval(scale, false); map1 != map2 || map1 == "" {
		t.Errorf("the map of the summary has %q, that of the timeline %q", map1, map2)
	}
	strike(tab, "/")
	tab.Wait(`document.activeElement.type === "search"`)
	strike(tab, "Escape")
	has(t, tab, "q", "")
	if got := tab.Eval(`document.activeElement.type + document.querySelector(".tl-tools input").value + document.querySelector(".tl-panel").hidden`, false); got != "undefinedtrue" {
		t.Errorf("after Escape: %q", got)
	}
	press(t, tab, "0")
	if got, want := tab.Eval(`document.querySelector(".length").textContent`, false), c.Report.Source.SpanNS; got != fmt.Sprintf("%.0f ms", float64(want)/1e6) {
		t.Errorf("whole shows %s of %d ns", got, want)
	}
	var left, top float64
	fmt.Sscan(tab.Eval(`(() => { const b = document.querySelector(".tl canvas.overlay").getBoundingClientRect(); return [b.left, b.top].join(" ") })()`, false), &left, &top)
	for x := left + 5; x < 1270 && tab.Eval(`String(document.querySelector("#tip:not([hidden])") !== null)`, false) != "true"; x += 9 {
		mouse(tab, "mouseMoved", x, top+24)
	}
	tab.Wait(`document.querySelector("#tip:not([hidden])") !== null`)
	press(t, tab, "w")
	tab.Wait(`document.querySelector("#tip:not([hidden])") === null`)
	press(t, tab, "?")
	if got := tab.Eval(`[...document.querySelectorAll(".keys-dialog kbd")].map((e) => e.textContent).filter((k) => k.includes("+")).join()`, false); got != "+" {
		t.Errorf("keys with +: %q", got)
	}
}

// TestFixes: a finding leads to what it suggests to change, which is then chosen, and its prediction is there.
func TestFixes(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}})
	tab := browsertest.Open(t, url)
	tab.Size(1280, 900)
	ready(t, tab)
	tab.Eval(`[...document.querySelectorAll(".finding a")].find((a) => a.textContent === "What if").click()`, false)
	tab.Wait(`document.querySelector(".fix[aria-pressed=true]") !== null && document.querySelector(".outcome .card") !== null`)
	ready(t, tab)
	if got := param(tab, "set") + " " + param(tab, "rank"); got != "TP02.work=peers 2" {
		t.Errorf("the finding sets %s", got)
	}
	if got := tab.Eval(`document.querySelector(".outcome").innerText`, false); !strings.Contains(got, "→") || !strings.Contains(got, "less than 0.1 %") {
		t.Errorf("the outcome is %q", got)
	}
	tab.Eval(`document.querySelector(".fix[aria-pressed=true]").click()`, false)
	has(t, tab, "set", "")
	for _, f := range []struct {
		of   result.Finding
		want string
	}{
		{result.Finding{Kind: result.Straggler, Cause: result.CauseHost, Names: []string{"TP01", "TP03"}}, "TP01.host=peers TP03.host=peers"},
		{result.Finding{Kind: result.Straggler, Cause: result.CauseUnknown, Names: []string{"TP01"}}, ""},
		{result.Finding{Kind: result.HostBound}, "host=0"},
		{result.Finding{Kind: result.SlowSince, Names: []string{"TP01"}}, ""},
	} {
		if got := strings.Join(f.of.Settings(), " "); got != f.want {
			t.Errorf("%s of %s sets %q, want %q", f.of.Kind, f.of.Cause, got, f.want)
		}
	}
}

// TestTouch: on a phone one finger pans sideways and scrolls up and down, two zoom, a tap selects, names take a quarter
// of the width at most, and the map comes first.
func TestTouch(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}})
	tab := browsertest.Open(t, url)
	tab.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true}, nil)
	tab.Call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true, "maxTouchPoints": 2}, nil)
	show(t, tab, url+"#tab=timeline")
	if got := tab.Eval(`(() => { const at = (s) => document.querySelector(s).getBoundingClientRect();
		return [at(".tl-gutter").width <= 98, at(".tl-map").bottom <= at(".tl-tools").top, document.documentElement.scrollWidth <= 390].join() })()`, false); got != "true,true,true" {
		t.Errorf("names are narrow, the map is first, nothing overflows: %s", got)
	}
	var x, y float64
	fmt.Sscan(tab.Eval(`(() => { const b = document.querySelector(".tl canvas.overlay").getBoundingClientRect(); return [b.left + b.width / 2, b.top + 60].join(" ") })()`, false), &x, &y)
	touch := func(kind string, at ...float64) {
		points := []map[string]any{}
		for i := 0; i+1 < len(at); i += 2 {
			points = append(points, map[string]any{"x": at[i], "y": at[i+1], "id": i})
		}
		tab.Call("Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": points}, nil)
	}
	length := func() (ns float64) {
		tab.Wait(`window.__stats.idle()`)
		fmt.Sscan(tab.Eval(`String(window.__stats.shown().t1 - window.__stats.shown().t0)`, false), &ns)
		return ns
	}
	whole := length()
	touch("touchStart", x-20, y, x+20, y)
	for d := 30.0; d <= 80; d += 10 {
		touch("touchMove", x-d, y, x+d, y)
	}
	touch("touchEnd")
	if got := length(); got < whole/6 || got > whole/3 {
		t.Errorf("fingers 40 px apart that move to 160 px show %g of %g ns", got, whole)
	}
	before := tab.Eval(`String(window.__stats.shown().t0)`, false)
	touch("touchStart", x+60, y)
	for d := 0.0; d <= 60; d += 10 {
		touch("touchMove", x+60-d, y)
	}
	touch("touchEnd")
	if got := tab.Eval(`String(window.__stats.shown().t0)`, false); got == before || param(tab, "r0") != "" {
		t.Errorf("a finger moved to the left shows from %s on, before %s; range %q", got, before, param(tab, "r0"))
	}
	touch("touchStart", x, y+90)
	for d := 0.0; d <= 140; d += 10 {
		touch("touchMove", x, y+90-d)
	}
	touch("touchEnd")
	tab.Wait(`document.querySelector(".tl-body").scrollTop + scrollY > 50`)
}

// TestPrinted: on paper the page is light, bars keep their colours, and what can be opened is open; then all is as before.
func TestPrinted(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}})
	tab := browsertest.Open(t, url+"#theme=dark")
	tab.Size(1280, 900)
	ready(t, tab)
	tab.Eval(`addEventListener("beforeprint", () => { window.__paper = [document.documentElement.dataset.theme, document.querySelectorAll("details:not([open])").length].join() })`, false)
	if pdf := tab.PDF(); len(pdf) < 10_000 {
		t.Errorf("the printed page has %d bytes", len(pdf))
	}
	if got := tab.Eval(`window.__paper + " " + document.documentElement.dataset.theme`, false); got != "light,0 dark" {
		t.Errorf("on paper, and after: %s", got)
	}
	tab.Call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	if got := tab.Eval(`getComputedStyle(document.querySelector(".split .bar i")).printColorAdjust`, false); got != "exact" {
		t.Errorf("bars are printed with colours %q", got)
	}
}

// TestKernelsTold: the rows of kernels have the modules whose main kernels they are, their floors, and their sources.
func TestKernelsTold(t *testing.T) {
	c := captureOf(t, "stacks", "0")
	c.Report.Light = lit(c)
	name := c.Report.Light.Modules[0].Kernel
	table := func(query string) (row kernels.Row, sources int) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "/?by=kernel"+query, nil)
		v, err := New(Options{Given: []*Capture{c}}).table(c, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range v.(*kernels.Table).Rows {
			if x.Full == name || x.Name == name {
				row = x
			}
			if x.Source != "" {
				sources++
			}
		}
		return row, sources
	}
	ranks := int64(len(c.Aligned.Ranks))
	if row, sources := table(""); row.Role != "gate_up_proj" || row.Floor != 20_000*ranks || sources == 0 {
		t.Errorf("%+v, %d sources", row, sources)
	}
	if row, _ := table("&rank=0&kind=decode"); row.Name != "" && row.Floor != 20_000 {
		t.Errorf("of one rank: %+v", row)
	}
	if row, _ := table("&kind=prefill"); row.Role != "" || row.Floor != 0 {
		t.Errorf("of prefill steps: %+v", row)
	}
}

// TestLiveFirst: with servers alone the page opens on Live, its plots have numbers, and an alarm that is over says so.
func TestLiveFirst(t *testing.T) {
	l := live.New(live.Options{Watched: 1e9})
	tab := browsertest.Open(t, serve(t, Options{Live: l, Root: t.TempDir()}))
	tab.Size(1280, 900)
	ready(t, tab)
	if got := tab.Eval(`document.querySelector("nav [aria-current]").textContent`, false); got != "Live" {
		t.Errorf("opens on %s", got)
	}
	l.Marks(&live.Mark{Server: "a", Kind: "alarm", Rule: "slow tokens", At: 10_000, After: 8_000, Onset: 9_000, Text: "slow"})
	l.Marks(&live.Mark{Server: "a", Kind: "alarm", Rule: "other", At: 11_000, After: 8_000, Onset: 9_000, Text: "other"})
	tab.Wait(`document.querySelectorAll(".marks .alarm").length === 2`)
	l.Marks(&live.Mark{Server: "a", Kind: "over", Rule: "slow tokens", At: 20_000, Text: "slow tokens is over"})
	tab.Wait(`document.querySelectorAll(".marks .alarm").length === 1`)
	if got := tab.Eval(`JSON.stringify([...document.querySelectorAll(".marks .past .text")].map((e) => e.textContent))`, false); !strings.Contains(got, "over at ") || !strings.Contains(got, "slow") {
		t.Errorf("the alarm that is over says %s", got)
	}
	var texts []string
	if err := json.Unmarshal([]byte(tab.Eval(`JSON.stringify([...document.querySelectorAll(".marks .alarm .text")].map((e) => e.textContent))`, false)), &texts); err != nil || len(texts) != 1 || texts[0] != "other" {
		t.Errorf("alarms that last: %q (%v)", texts, err)
	}
}
