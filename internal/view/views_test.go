package view

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
	"github.com/stepscope/stepscope/internal/testing/loadtest"
	"github.com/stepscope/stepscope/internal/view/kernels"
	"github.com/stepscope/stepscope/internal/view/live"
	"github.com/stepscope/stepscope/trace"
)

var screenshots = flag.String("screenshots", "", "write pictures of all views to this directory, light and dark")

// views are addresses that cover all views.
var views = []struct{ name, hash string }{
	{"summary", "#tab=summary"},
	{"summary-selected", "#tab=summary&map=host&sel=0"},
	{"kernels", "#tab=kernels"},
	{"timeline", "#tab=timeline"},
	{"timeline-span", "#tab=timeline&step=9&rank=0&sel=10000"},
	{"timeline-stretched", "#tab=timeline&step=9&align=stretched&heat=wait"},
	{"timeline-range", "#tab=timeline&step=9&align=step&only=2%2C0&r0=420000000&r1=470000000"},
	{"timeline-counters", "#tab=timeline&c=counted&rank=1&only=1%2C0"},
	{"query", "#tab=query&sql=SELECT+rank,+step,+name,+start_ns,+dur_ns+FROM+spans+WHERE+class+%3D+%27gemm%27+ORDER+BY+dur_ns+DESC+LIMIT+50"},
	{"light", "#tab=light"},
	{"light-rank", "#tab=light&rank=2&kind=prefill"},
	{"whatif", "#tab=whatif"},
	{"whatif-set", "#tab=whatif&rank=2&set=TP02.host%3Dpeers%7Ccollective%3D0.5%7Cclass:gemm%3D1.5"},
	{"kernels-op", "#tab=kernels&by=op&kind=decode&q=mm"},
	{"kernels-frame", "#tab=kernels&by=frame&c=stacks"},
	{"kernels-against", "#tab=kernels&kind=decode&sort=-diff&vs=against"},
	{"bench", "#tab=bench&run=RUN"},
	{"bench-request", "#tab=bench&run=RUN&req=1"},
	{"bench-against", "#tab=bench&run=RUN&vs=BEFORE"},
	{"live", "#tab=live"},
	{"runs", "#tab=runs"},
}

// everything returns a viewer with all its content at once: captures, a benchmark run, another to compare with, a
// running server.
func everything(t *testing.T) (o Options, run, before string) {
	t.Helper()
	root := t.TempDir()
	older, newer := loadtest.Keep(t, root, loadtest.Sample(), false), loadtest.Keep(t, root, loadtest.Sample(), true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		for dp := range 2 {
			fmt.Fprintf(w, "sglang:num_running_reqs{dp_rank=\"%d\"} %d\nsglang:num_queue_reqs{dp_rank=\"%[1]d\"} 1\nsglang:token_usage{dp_rank=\"%[1]d\"} 0.25\n", dp, 12+dp)
		}
	}))
	t.Cleanup(server.Close)
	l := live.New(live.Options{Targets: []torch.Target{{URL: server.URL, Name: "decode-0", Role: "decode"}, {URL: "http://127.0.0.1:9", Name: "decode-1", Role: "decode"}},
		Record: func(context.Context, int, *progress.Console, *torch.Progress) (string, error) {
			return "", errors.New("no such window")
		}})
	first := captureOf(t, "compute_skew", "0")
	first.Report.Light = lit(first)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { l.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return Options{
		Given: []*Capture{first, captureOf(t, "balanced", "against"), captureOf(t, "stacks", "stacks"), counted(t, "counted")},
		Root:  root, Run: newer, Live: l, Say: &progress.Console{W: io.Discard},
		Open: func(context.Context, string) (*Capture, error) {
			return &Capture{ID: newer.ID(), Traces: []*trace.Trace{loadtest.Trace()}, Report: &result.Report{}, Kernels: kernels.New(&match.Aligned{}, nil)}, nil
		},
	}, newer.ID(), older.ID()
}

// TestViewsFit: each view is readable at 1280 pixels, in light and dark, and accessible, and nothing is cut off on a
// telephone or on a large screen.
func TestViewsFit(t *testing.T) {
	o, run, before := everything(t)
	url := serve(t, o)
	tab := browsertest.Open(t, url)
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			hash := strings.NewReplacer("RUN", run, "BEFORE", before).Replace(v.hash)
			picture := func(width int, scheme string) {
				if *screenshots == "" {
					return
				}
				if err := os.WriteFile(filepath.Join(*screenshots, fmt.Sprintf("%s-%d-%s.png", v.name, width, scheme)), tab.Picture(false), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, scheme := range []string{"light", "dark"} {
				tab.Size(1280, 900)
				show(t, tab, url+"/"+hash+"&theme="+scheme)
				if strings.Contains(hash, "tab=live") {
					tab.Wait(`document.querySelectorAll(".ranks tbody tr").length === 2 && document.querySelector(".lost") !== null`)
				}
				for _, what := range append(tab.Misfits(), tab.Barriers()...) {
					t.Errorf("%s: %s", scheme, what)
				}
				picture(1280, scheme)
				for _, size := range [][2]int{{390, 844}, {2560, 1440}} {
					if scheme == "dark" && *screenshots == "" {
						continue // as wide as in light
					}
					tab.Size(size[0], size[1])
					tab.Eval(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`, false)
					ready(t, tab)
					for _, what := range tab.Misfits() {
						// The timeline needs room: on a telephone its texts may be cut off.
						if size[0] > 400 || !strings.HasPrefix(v.name, "timeline") || strings.HasPrefix(what, "the page is") {
							t.Errorf("%d pixels wide: %s", size[0], what)
						}
					}
					picture(size[0], scheme)
				}
			}
		})
	}
}

// TestMarks: the newest finding of a watch is on top, and earlier ones stay unchanged, so that they are not read out
// again.
func TestMarks(t *testing.T) {
	l := live.New(live.Options{Watched: time.Second})
	url := serve(t, Options{Live: l})
	tab := browsertest.Open(t, url+"#tab=live")
	tab.Wait(`document.querySelector(".marks")?.textContent === "Nothing yet."`)
	mark := func(i int) {
		l.Marks(&live.Mark{Server: "a", Kind: "note", At: int64(i), Text: fmt.Sprint("text ", i)})
	}
	above := func(text string) {
		tab.Wait(fmt.Sprintf(`document.querySelector(".marks li .text")?.textContent === %q`, text))
	}
	mark(1)
	above("text 1")
	tab.Eval(`window.__first = document.querySelector(".marks li")`, false)
	mark(2)
	above("text 2")
	if got := tab.Eval(`String(document.querySelector(".marks").lastElementChild === window.__first)`, false); got != "true" {
		t.Error("the list was rewritten")
	}
	for i := 3; i <= 70; i++ {
		if mark(i); i%20 == 0 || i == 70 { // a page that lags too far behind starts over
			above(fmt.Sprint("text ", i))
		}
	}
	if got := tab.Eval(`[document.querySelectorAll(".marks li").length, document.querySelector(".marks li:last-child .text").textContent].join()`, false); got != "60,text 11" {
		t.Errorf("listed %s", got)
	}
}

// show opens an address anew, and waits until it is complete.
func show(t *testing.T, tab *browsertest.Tab, url string) {
	t.Helper()
	tab.Show("about:blank")
	tab.Wait(`location.href === "about:blank"`)
	tab.Show(url)
	ready(t, tab)
}
