package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/runs"
)

// TestBatchesFinish checks how a run ends, and which batch its figures are from.
func TestBatchesFinish(t *testing.T) {
	at := func(size int, overall float64, profiled bool) bench.Batch {
		return bench.Batch{BatchSize: size, InputLen: 1, OutputLen: 1, Profiled: profiled, Figures: []bench.BatchFigure{
			{Metric: "prefill_latency", Unit: bench.NS, Value: 2e6}, {Metric: "prefill_throughput", Unit: bench.PerSecond, Value: 7},
			{Metric: "overall_throughput", Unit: bench.PerSecond, Value: overall},
		}}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	slow := []bench.Batch{at(1, 10, false), at(2, 30, false), at(4, 20, false), at(8, 90, true)}
	for name, c := range map[string]struct {
		ctx     context.Context
		batches []bench.Batch
		cause   error
		lose    bool // their file cannot be written
		status  runs.Status
		numbers string
		err     string
	}{
		"complete": {ctx: t.Context(), batches: slow, status: runs.Complete,
			numbers: "prefill throughput 7 tok/s, overall throughput 30 tok/s, batch size 2 , prefill latency 2 ms, batches 3 "},
		"recorded alone": {ctx: t.Context(), batches: slow[3:], status: runs.Complete,
			numbers: "prefill throughput 7 tok/s, overall throughput 90 tok/s, batch size 8 , prefill latency 2 ms, batches 1 "},
		"interrupted":       {ctx: ended, cause: context.Canceled, status: runs.Interrupted},
		"failed":            {ctx: t.Context(), cause: errors.New("the server is gone"), status: runs.Failed},
		"could not be kept": {ctx: t.Context(), batches: slow, lose: true, status: runs.Failed, err: "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runs.Create(t.TempDir(), runs.About{Kind: "bench", Tool: "bench one-batch"}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if c.lose {
				if err := os.Mkdir(r.Path(runs.BatchesFile), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			b := &Batches{Store: r}
			for _, x := range c.batches {
				b.Add(x, nil)
			}
			err = b.finish(c.ctx, c.cause)
			if c.lose {
				if err == nil || strings.Count(err.Error(), c.err) != 1 || len(b.kept) > 0 {
					t.Error(err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			m := r.Manifest()
			var numbers []string
			for _, n := range m.Numbers {
				text, _ := json.Marshal(n.Value)
				numbers = append(numbers, n.Name+" "+string(text)+" "+n.Unit)
			}
			if got := strings.Join(numbers, ", "); m.Status != c.status || got != c.numbers || (m.Error != "") != (c.status == runs.Failed) {
				t.Errorf("%s (%s): %s", m.Status, m.Error, got)
			}
		})
	}
}
