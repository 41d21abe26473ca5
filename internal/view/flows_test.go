package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// panelText returns the text of the panel of the timeline.
func panelText(tab *browsertest.Tab) string {
	return tab.Eval(`document.querySelector(".tl-panel").innerText`, false)
}

// TestTimelineFlows: < and > go from a kernel to its launch and its op, and back. The panel shows the way, and all args
// of the file, of which a trace keeps only some.
func TestTimelineFlows(t *testing.T) {
	tab, _ := openTimeline(t, "graph_work", "")
	press(t, tab, ".")
	press(t, tab, ".")
	kernel := panelText(tab)
	for _, want := range []string{"registers per thread", "shared memory", "est. achieved occupancy %", "args in the file", "launch "} {
		if !strings.Contains(kernel, want) {
			t.Errorf("the panel of a kernel has no %q: %s", want, kernel)
		}
	}
	at := param(tab, "sel")
	press(t, tab, "<")
	launch := panelText(tab)
	if param(tab, "sel") == at || !strings.Contains(launch, "cuda_runtime") || !strings.Contains(launch, "Launched by it") {
		t.Fatalf("< leads from the kernel to %s", launch)
	}
	press(t, tab, ">")
	if got := param(tab, "sel"); got == "" || strings.Contains(panelText(tab), "cuda_runtime") {
		t.Errorf("> leads from the launch to %s", panelText(tab))
	}
	tab.Eval(`history.back()`, false)
	tab.Wait(fmt.Sprintf(`document.querySelector(".tl-panel").innerText === %q`, launch))
}

// TestTimelineAwaited: from a collective > leads to the rank that came last, where < leads to the cause.
func TestTimelineAwaited(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "&step=9&q=nccl")
	press(t, tab, "n")
	for range 6 { // to a collective that waits
		if strings.Contains(panelText(tab), "waits for TP02") {
			break
		}
		press(t, tab, "n")
	}
	if text := panelText(tab); !strings.Contains(text, "waits for TP02") {
		t.Fatalf("no wait for TP02: %s", text)
	}
	press(t, tab, ">")
	if text := panelText(tab); param(tab, "rank") != "2" || !strings.Contains(text, "TP02, this one") {
		t.Errorf("> leads to rank %s: %s", param(tab, "rank"), text)
	}
	press(t, tab, "<")
	if text := panelText(tab); param(tab, "rank") != "2" || !strings.Contains(text, "Launched by it") {
		t.Errorf("< leads to %s", text)
	}
}

// TestTimelineBack: the back button takes back zooms, one gesture at a time, but not panning.
func TestTimelineBack(t *testing.T) {
	tab, _ := openTimeline(t, "compute_skew", "")
	length := func() string { return tab.Eval(`document.querySelector(".tl-tools .length").innerText`, false) }
	entries := func() (n int) {
		fmt.Sscan(tab.Eval(`String(history.length)`, false), &n)
		return n
	}
	zoom := func(keys string) {
		for _, key := range keys {
			tab.Eval(fmt.Sprintf(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, key), false)
		}
		tab.Wait(`window.__stats.idle()`)
		ready(t, tab)
	}
	whole, before := length(), entries()
	zoom("wwww")
	once := length()
	tab.Eval(`new Promise((done) => setTimeout(done, 750)).then(() => document.body.dataset.paused = "1")`, false)
	tab.Wait(`document.body.dataset.paused === "1"`)
	zoom("ww")
	twice := length()
	zoom("ddd")
	if whole == once || once == twice || length() != twice {
		t.Fatalf("zoomed from %s to %s to %s, then %s", whole, once, twice, length())
	}
	if n := entries() - before; n != 2 {
		t.Errorf("two gestures have %d places in the history", n)
	}
	for _, want := range []string{once, whole} {
		tab.Eval(`history.back()`, false)
		tab.Wait(fmt.Sprintf(`document.querySelector(".tl-tools .length").innerText === %q`, want))
	}
	tab.Eval(`history.forward()`, false)
	tab.Wait(fmt.Sprintf(`document.querySelector(".tl-tools .length").innerText === %q`, once))
}
