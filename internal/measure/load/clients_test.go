package load

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// clientCase holds event streams and the figures that another tool's client computed from them
// (scripts/fixtures/clients.py and aiperf.py).
type clientCase struct {
	Tool, Version, Date, Backend, SLO string
	Duration                          int64
	Figures                           map[string]float64
	Requests                          []struct {
		Sent   int64
		Events [][2]any // time in ns, data
	}
}

// TestFiguresOfOtherClients checks that the figures under another tool's names equal those of the tool itself.
func TestFiguresOfOtherClients(t *testing.T) {
	var cases []clientCase
	for _, name := range []string{"clients", "aiperf"} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var some []clientCase
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, some...)
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.Tool, " ", c.Version, " of ", c.Date, ", ", c.Backend), func(t *testing.T) {
			records := make([]bench.Record, len(c.Requests))
			for i, r := range c.Requests {
				records[i] = replayed(t, c.Backend, r.Sent, r.Events)
			}
			var err error
			var o bench.Options
			if c.SLO != "" {
				if o.SLO, err = bench.ParseSLO(c.SLO); err != nil {
					t.Fatal(err)
				}
			}
			figures, err := bench.Compat(c.Tool, records, &bench.Run{Backend: c.Backend, Duration: c.Duration}, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(figures) != len(c.Figures) {
				t.Errorf("%d figures, the tool has %d", len(figures), len(c.Figures))
			}
			for _, f := range figures {
				if want, ok := c.Figures[f.Name]; !ok || math.Abs(f.Value-want) > 1e-6*max(want, 1) { // its clock is a float64 of seconds
					t.Errorf("%s = %v, the tool has %v", f.Name, f.Value, want)
				}
			}
		})
	}
}

// replayed returns the record of a request whose events arrived at the given times.
func replayed(t *testing.T, name string, sent int64, events [][2]any) bench.Record {
	t.Helper()
	b, err := backend(name)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Backend: name, Stream: true}
	opt.defaults()
	f := &flight{run: &run{opt: &opt, target: &target{Backend: b, opt: &opt}}, recs: make([]bench.Record, 1), req: &workload.Request{OutputLen: 1}}
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	f.open(0)
	f.rec.Sent = sent
	f.feed([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), sent)
	for _, e := range events {
		f.user = int64(e[0].(float64))
		f.feed(fmt.Appendf(nil, "data: %s\n\n", e[1]), f.user)
	}
	f.land(nil)
	if f.rec.Failure != "" {
		t.Fatalf("%s: %s", f.rec.Failure, f.rec.Error)
	}
	return *f.rec
}
