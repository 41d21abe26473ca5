package view

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/testing/loadtest"
)

// TestTimelineLoad: above the rows of a capture is the load at that time, on the capture's clock; a range lists its
// requests in progress, each linked to the benchmark.
func TestTimelineLoad(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	in := window.Input{Paths: []string{filepath.Join("..", "..", "testdata", "traces", "graphs")}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	// The capture begins 50 ms after the load.
	const began = 1_763_750_000_050_000_000
	first := read.Traces[0].Spans[0].Start
	for _, r := range read.Traces {
		for i := range r.Spans {
			first = min(first, r.Spans[i].Start)
		}
	}
	for _, r := range read.Traces {
		for i := range r.Spans {
			r.Spans[i].Start += began - first
		}
	}
	c, err := NewCapture(run.ID(), read, nil, false, light.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Load = run.ID()
	url := serve(t, Options{
		Root: root, Run: run, Given: []*Capture{c}, Say: &progress.Console{W: io.Discard},
		Open: func(context.Context, string) (*Capture, error) { return c, nil },
	})
	tab := browsertest.Open(t, url+"/#tab=timeline&r0=0&r1=30000000")
	tab.Size(1280, 900)
	tab.Wait(`document.querySelector(".tl-load")?.hidden === false`)
	ready(t, tab)
	legend := tab.Eval(`document.querySelector(".tl-load .legend").innerText`, false)
	for _, want := range []string{"requests in progress, up to 3 ", "tokens per second, up to 2,000/s", "in the server's queue, up to 4"} {
		if !strings.Contains(legend, want) {
			t.Errorf("the lines are %q, without %q", legend, want)
		}
	}
	tab.Wait(`document.querySelector(".tl-requests a") !== null`)
	// From 50 to 80 ms of the load a and b are in progress; c is sent at 105 ms.
	if got := tab.Eval(`[...document.querySelectorAll(".tl-requests a")].map((a) => a.textContent).join()`, false); got != "0,1" {
		t.Errorf("requests in progress: %s", got)
	}
	tab.Eval(`document.querySelectorAll(".tl-requests a")[1].click()`, false)
	tab.Wait(`location.hash.includes("tab=bench")`)
	ready(t, tab)
	if param(tab, "req") != "1" || !strings.HasPrefix(param(tab, "b0"), "50") || !strings.HasPrefix(param(tab, "b1"), "80") {
		t.Errorf("the request is at %s", tab.Eval(`location.hash`, false))
	}
}
