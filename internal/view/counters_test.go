package view

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/trace"
)

// counted returns the capture compute_skew with allocations on two ranks, and samples of a server and of a GPU.
func counted(t *testing.T, id string) *Capture {
	t.Helper()
	in := window.Input{Paths: []string{filepath.Join("..", "..", "testdata", "traces", "compute_skew")}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	var from, to int64
	for i := range read.Traces[0].Spans {
		if s := &read.Traces[0].Spans[i]; s.Cat == trace.Kernel {
			if from == 0 {
				from = s.Start
			}
			to = max(to, s.End())
		}
	}
	for rank := range 2 {
		for i := range int64(100) {
			p := trace.MemoryPoint{Time: from + i*(to-from)/100, Bytes: 1, Allocated: 40e9 + i*1e6, Reserved: 60e9, GPU: true}
			if rank == 1 && i == 75 {
				p.Allocated = 71e9
			}
			read.Traces[rank].Memory = append(read.Traces[rank].Memory, p)
		}
	}
	read.Light.Contexts = &trace.Contexts{Pool: 1000, Samples: []trace.ContextSample{
		{At: from, DP: -1, Running: 12, High: 250}, {At: (from + to) / 2, DP: -1, Running: 31, High: 500},
	}}
	read.GPUs = []trace.GPUState{{At: from - 1, Host: "h1", SM: 1980, Power: -1}, {At: to - 1, Host: "h1", SM: 1200, Power: -1}}
	c, err := NewCapture(id, read, nil, false, light.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// atoi returns a number in an address.
func atoi(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTimelineCounters: what was recorded has a row each, with its peak; a click on the peak goes to its moment and its
// rank; k hides the rows. What was not recorded has none.
func TestTimelineCounters(t *testing.T) {
	c := counted(t, "0")
	url := serve(t, Options{Given: []*Capture{c}})
	tab := browsertest.Open(t, url+"/#tab=timeline")
	tab.Size(1280, 900)
	ready(t, tab)
	tab.Wait(`!document.querySelector(".tl-counters").hidden`)
	text := tab.Eval(`document.querySelector(".tl-counters").innerText`, false)
	for _, want := range []string{"GPU memory allocated", "peak 71.0 GB, TP01", "GPU memory reserved", "running requests", "peak 31", "KV cache in use", "peak 50.0 %", "GPU clock (SM)", "peak 1,980 MHz"} {
		if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if strings.Contains(text, "power") {
		t.Errorf("a row of what was not recorded: %q", text)
	}
	tab.Eval(`document.querySelector(".tl-counter button").click()`, false)
	ready(t, tab)
	tl, err := c.Timeline()
	if err != nil {
		t.Fatal(err)
	}
	at := tl.Counters(0, 1, 1, -1).Counters[0].At
	if shown := atoi(t, param(tab, "t0")); param(tab, "rank") != "1" || shown > at || atoi(t, param(tab, "t1")) < at {
		t.Errorf("the peak at %d leads to %s", at, tab.Eval(`location.hash`, false))
	}
	press(t, tab, "K")
	if tab.Eval(`String(document.querySelector(".tl-counters").hidden)`, false) != "true" || param(tab, "counters") != "off" {
		t.Error("k does not hide the counters")
	}
	if misfits := tab.Misfits(); len(misfits) > 0 {
		t.Errorf("misfits: %q", misfits)
	}
}
