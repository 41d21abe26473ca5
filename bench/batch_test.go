package bench_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/gate"
)

// batch is a batch of 8 sequences with the prefill time in ms and the times of its decode steps in µs.
func batch(output int, prefill, step float64) bench.Batch {
	b := bench.Batch{BatchSize: 8, InputLen: 128, OutputLen: output, Figures: []bench.BatchFigure{
		{Metric: "prefill_latency", Unit: bench.NS, Value: prefill * 1e6},
		{Metric: "prefill_throughput", Unit: bench.PerSecond, Higher: true, Value: 8 * 128e3 / prefill},
	}}
	if step > 0 {
		b.Figures = append(b.Figures, bench.BatchFigure{Metric: "decode_latency", Unit: bench.NS, Value: step * 1e3})
	}
	return b
}

func TestCompareBatches(t *testing.T) {
	one := []bench.Batch{batch(21, 100, 500)}
	four := func(ms float64) []bench.Batch {
		return []bench.Batch{batch(21, ms, 0), batch(21, ms+1, 0), batch(21, ms+2, 0), batch(21, ms+3, 0)}
	}
	recorded := batch(21, 900, 0)
	recorded.Profiled = true
	for name, c := range map[string]struct {
		a, b        []bench.Batch
		rows        string // "metric per verdict", of each row
		regressions string
		notes       string // a substring of each
	}{
		"once: a change is no verdict, but a limit holds for it": {
			a: one, b: []bench.Batch{batch(21, 120, 700)},
			rows:        "prefill_latency repeat too few samples, prefill_throughput repeat too few samples, decode_latency repeat too few samples",
			regressions: "8 × 128 + 21: prefill latency: +20.0 % (not tested: too few samples)|8 × 128 + 21: prefill throughput: -16.7 % (not tested: too few samples)|8 × 128 + 21: decode latency: +40.0 % (not tested: too few samples)",
			notes:       "fewer than 4 times on a side are not tested: their changes may be chance; repeat a batch size",
		},
		"the other way round nothing is worse": {
			a: []bench.Batch{batch(21, 120, 700)}, b: one,
			rows:  "prefill_latency repeat too few samples, prefill_throughput repeat too few samples, decode_latency repeat too few samples",
			notes: "fewer than 4 times",
		},
		"given four times: tested by these": {
			a: four(100), b: four(120),
			rows:        "prefill_latency repeat worse, prefill_throughput repeat worse",
			regressions: "8 × 128 + 21: prefill latency: +19.7 %|8 × 128 + 21: prefill throughput: -16.5 %",
		},
		"given four times, and hardly apart": {
			a: four(100), b: four(101), rows: "prefill_latency repeat same, prefill_throughput repeat same",
		},
		"sizes and figures of one side alone": {
			a: append(four(100), batch(5, 1, 0)), b: append([]bench.Batch{batch(9, 1, 0)}, batch(21, 101, 300)),
			rows:  "prefill_latency repeat too few samples, prefill_throughput repeat too few samples, decode_latency repeat only one side has it",
			notes: "only A has the batch 8 × 128 + 5|only B has the batch 8 × 128 + 9|fewer than 4 times",
		},
		"a pass that was recorded does not count beside one that was not": {
			a: append([]bench.Batch{recorded}, four(100)...), b: append(four(101), recorded), rows: "prefill_latency repeat same, prefill_throughput repeat same",
		},
		"but where there is no other": {
			a: []bench.Batch{recorded}, b: []bench.Batch{batch(21, 900, 0)},
			rows:  "prefill_latency repeat too few samples, prefill_throughput repeat too few samples",
			notes: "A was profiled while it was measured|fewer than 4 times",
		},
		"all requests of a data set": {
			a:     []bench.Batch{{Figures: []bench.BatchFigure{{Metric: "total_throughput", Unit: bench.PerSecond, Higher: true, Value: 100}}}},
			b:     []bench.Batch{{Figures: []bench.BatchFigure{{Metric: "total_throughput", Unit: bench.PerSecond, Higher: true, Value: 50}}}},
			rows:  "total_throughput repeat too few samples",
			notes: "may be chance", regressions: "of all requests: total throughput: -50.0 % (not tested: too few samples)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := bench.CompareBatches(bench.Batches{ID: "a", Batches: c.a}, bench.Batches{ID: "b", Batches: c.b}, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}})
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, d := range got.Rows {
				rows = append(rows, d.Metric+" "+d.Per+" "+d.Verdict)
			}
			if s := strings.Join(rows, ", "); s != c.rows {
				t.Errorf("rows\n%s\nwant\n%s", s, c.rows)
			}
			if s := strings.Join(got.Regressions, "|"); s != c.regressions {
				t.Errorf("regressions\n%s\nwant\n%s", s, c.regressions)
			}
			want := strings.Split(c.notes, "|")
			if c.notes == "" {
				want = nil
			}
			if len(got.Notes) != len(want) {
				t.Fatalf("notes %q, want %q", got.Notes, want)
			}
			for i, n := range got.Notes {
				if !strings.Contains(n, want[i]) {
					t.Errorf("note %q, want %q", n, want[i])
				}
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
	_, err := bench.CompareBatches(bench.Batches{ID: "a", Batches: one}, bench.Batches{ID: "b", Batches: []bench.Batch{batch(9, 1, 0), batch(5, 1, 0)}}, bench.CompareOptions{})
	if err == nil || err.Error() != "the runs have no batch size in common: a has 8 × 128 + 21, b has 8 × 128 + 9, 8 × 128 + 5" {
		t.Error(err)
	}
}

// TestCompareBatchesProfiled: batches that a profiler recorded, against batches without a profiler, are a mismatch.
func TestCompareBatchesProfiled(t *testing.T) {
	plain, recorded := []bench.Batch{batch(21, 100, 500)}, []bench.Batch{batch(21, 100, 500)}
	recorded[0].Profiled = true
	for _, c := range []struct {
		a, b []bench.Batch
		want string
	}{
		{plain, plain, ""}, {recorded, recorded, ""},
		{plain, recorded, "profiler: off against on (--profile)"}, {recorded, plain, "profiler: on (--profile) against off"},
	} {
		got, err := bench.CompareBatches(bench.Batches{ID: "a", Batches: c.a}, bench.Batches{ID: "b", Batches: c.b}, bench.CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, u := range got.Unlike {
			said += u.String()
		}
		if said != c.want || got.Refused {
			t.Errorf("got %q, refused %v; want %q", said, got.Refused, c.want)
		}
	}
}
