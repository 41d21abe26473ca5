package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/testing/loadtest"
	"github.com/stepscope/stepscope/internal/view/kernels"
	"github.com/stepscope/stepscope/trace"
)

// told returns the text that a script in the page returns.
func told(tab *browsertest.Tab, script string) string {
	return tab.Eval("(() => {"+script+"})()", true)
}

// clickAt clicks on a canvas at a moment of the run, in ms, and at a height in CSS pixels. The run of loadtest lasts
// 401 ms, in bins of 1 ms; its plots begin 64 pixels from the left and end 8 from the right.
func clickAt(tab *browsertest.Tab, label string, at, y float64) {
	told(tab, fmt.Sprintf(`
		const c = document.querySelector('canvas[aria-label="%s"]'), box = c.getBoundingClientRect();
		const at = {clientX: box.left + 64 + (box.width - 72) * %f / 401, clientY: box.top + %f, bubbles: true};
		for (const [type, Kind] of [["pointerdown", PointerEvent], ["pointerup", PointerEvent], ["click", MouseEvent]]) c.dispatchEvent(new Kind(type, at));`, label, at, y))
}

// TestBenchmark: dots, bars and steps lead to their requests and waits; the address holds the state; two runs can be
// compared; hostile names stay text.
func TestBenchmark(t *testing.T) {
	root := t.TempDir()
	before := loadtest.Keep(t, root, loadtest.Sample(), false)
	records := loadtest.Sample()
	const evil = `"><img src=x onerror=alert(1)>`
	records[3].ID, records[4].Error = evil, evil
	run := loadtest.Keep(t, root, records, true)
	url := serve(t, Options{
		Root: root, Run: run, Say: &progress.Console{W: io.Discard},
		Open: func(context.Context, string) (*Capture, error) {
			return &Capture{
				ID: run.ID(), Traces: []*trace.Trace{loadtest.Trace()}, Report: &result.Report{}, Kernels: kernels.New(&match.Aligned{}, nil),
			}, nil
		},
	})
	tab := browsertest.Open(t, "about:blank")
	tab.Size(1280, 900)
	at := func() map[string]string {
		var got map[string]string
		if err := json.Unmarshal([]byte(tab.Eval(`JSON.stringify(Object.fromEntries(new URLSearchParams(location.hash.slice(1))))`, false)), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	panel := func() string {
		ready(t, tab)
		return strings.Join(strings.Fields(tab.Eval(`document.querySelector(".panel")?.innerText ?? ""`, false)), " ")
	}
	tab.Show(url + "/#tab=bench")
	ready(t, tab)
	if got := told(tab, `return [...document.querySelectorAll(".card b")].map((b) => b.textContent).join()`); got != "3.57/s,21.4/s,29.0 ms,n/a,n/a,n/a" { // figures that the window affected are missing
		t.Errorf("the cards: %s", got)
	}
	if got := told(tab, `return [...document.querySelectorAll("canvas")].filter((c) => c.dataset.drawn === "1").length + " " + document.querySelectorAll(".run canvas").length`); got != "6 6" {
		t.Errorf("drawn and present: %s", got)
	}

	clickAt(tab, "Requests as bars over time", 60, 6+9*1.5) // the second of three rows: b
	if got := panel(); at()["req"] != "1" || !strings.Contains(got, "Request 1 × b TTFT 29.0 ms queue 10.0 msprefill 18.0 msreply 1.00 ms") ||
		!strings.Contains(got, "Requests in the same steps 0×2") || !strings.Contains(got, "steps: 3 of steps 1–3 show in the timeline") {
		t.Errorf("%v: %s", at(), got)
	}
	link := told(tab, `return document.querySelector(".panel a").getAttribute("href")`)
	// Its steps from 12 to 110 ms; the capture begins at the epoch.
	if !strings.HasPrefix(link, "#tab=timeline&c="+run.ID()+"&") || !strings.Contains(link, "&t0=1763750000007") || !strings.Contains(link, "&t1=1763750000114") {
		t.Errorf("the timeline is at %s", link)
	}
	told(tab, `document.querySelector(".panel .chip").click()`)
	if got := panel(); at()["req"] != "0" || !strings.Contains(got, "Request 0") {
		t.Errorf("%v: %s", at(), got)
	}
	clickAt(tab, "Recorded steps over time", 105, 6+9) // the fourth step
	if got := panel(); at()["pass"] != "3" || at()["req"] != "" || !strings.Contains(got, "step[DECODE bs=2]") || !strings.Contains(got, "Requests in this step 0 1") {
		t.Errorf("%v: %s", at(), got)
	}
	told(tab, `dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}))`)
	if got := panel(); got != "" {
		t.Errorf("Escape leaves %s", got)
	}
	// The dot of d's first token: 50 ms, sent at 300. Only the plot knows its height, so the column is tried.
	for y := 10.0; y < 190 && at()["req"] == ""; y += 6 {
		clickAt(tab, "Latency of requests by send time", 300, y)
	}
	if got := panel(); at()["req"] != "3" || !strings.Contains(got, evil) || !strings.Contains(got, "served outside the captured window") {
		t.Errorf("%v: %s", at(), got)
	}
	told(tab, `dispatchEvent(new KeyboardEvent("keydown", {key: "j"}))`)
	if got := panel(); at()["req"] != "4" || !strings.Contains(got, "failed: refused: "+evil) {
		t.Errorf("%v: %s", at(), got)
	}
	if got := told(tab, `return document.querySelectorAll("img").length`); got != "0" {
		t.Errorf("a name became %s elements", got)
	}

	// The address holds everything visible.
	told(tab, `dispatchEvent(new KeyboardEvent("keydown", {key: "c"}))`)
	ready(t, tab)
	tab.Wait(`location.hash.includes("b0=0&b1=212000000")`) // the window from 0 to 200 ms, with a margin
	told(tab, `dispatchEvent(new KeyboardEvent("keydown", {key: "k"}))`)
	settled := func() string { // plots to the pixel, and texts; rounded corners depend on the browser's tiles

		ready(t, tab)
		tab.Eval(`new Promise((done) => setTimeout(done, 300))`, false) // finer bins arrive once the window rests
		ready(t, tab)
		return told(tab, `return [...document.querySelectorAll("canvas")].map((c) => c.toDataURL()).join() + document.body.innerText`)
	}
	first, address := settled(), tab.Eval("location.href", false)
	tab.Show("about:blank")
	tab.Wait(`location.href === "about:blank"`)
	tab.Show(address)
	if again := settled(); again != first {
		t.Errorf("%s differs when opened again", address)
	}

	tab.Show("about:blank")
	tab.Wait(`location.href === "about:blank"`)
	tab.Show(url + "/#tab=bench&vs=" + before.ID())
	ready(t, tab)
	if got := told(tab, `return document.querySelector(".compared").innerText`); !strings.Contains(got, "A\n"+before.ID()) || !strings.Contains(got, "B\n"+run.ID()) {
		t.Errorf("the comparison: %s", got)
	}
	if got := told(tab, `return document.querySelector(".choices select").value`); got != before.ID() {
		t.Errorf("compared with %s", got)
	}
	for _, width := range []int{1280, 390} {
		tab.Size(width, 844)
		if got := told(tab, `return [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll")).map((e) => e.outerHTML.slice(0, 80)).join()`); got != "" {
			t.Errorf("beyond %d px: %s", width, got)
		}
	}
	ready(t, tab)
}

// TestBenchmarks: without a run there is the list of runs, or instructions to create one.
func TestBenchmarks(t *testing.T) {
	root := t.TempDir()
	url := serve(t, Options{Root: root, Say: &progress.Console{W: io.Discard}})
	tab := browsertest.Open(t, url+"/#tab=bench")
	ready(t, tab)
	if got := tab.Eval(`document.querySelector("main").innerText`, false); !strings.Contains(got, "stepscope bench serving") {
		t.Errorf("no runs: %s", got)
	}
	run := loadtest.Keep(t, root, loadtest.Sample(), false)
	tab.Show("about:blank")
	tab.Wait(`location.href === "about:blank"`)
	tab.Show(url + "/#tab=bench")
	ready(t, tab)
	told(tab, `document.querySelector("main a").click()`)
	ready(t, tab)
	if got := tab.Eval(`location.hash + " " + document.querySelector("main h2").innerText`, false); got != "#tab=bench&run="+run.ID()+" Benchmark of tiny" {
		t.Errorf("%s", got)
	}
}
