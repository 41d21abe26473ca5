package retime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

const us = 1000

func captures(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "traces", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no captures", err)
	}
	if root := os.Getenv("STEPSCOPE_DATA"); root != "" {
		for _, s := range []string{"sglang_plain", "sglang_moe", "sglang_stack", "sglang_stage"} {
			dirs = append(dirs, filepath.Join(root, "traces", s))
		}
	}
	return dirs
}

func readDir(t testing.TB, dir string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	ts, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return ts
}

func run(t testing.TB, m *retime.Model) []*trace.Trace {
	t.Helper()
	ts, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func findings(t testing.TB, ts []*trace.Trace) (out []string) {
	t.Helper()
	r, err := explain.Analyze(ts, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %s %v %s %d-%d %d: %s", f.Severity, f.Kind, f.Ranks, f.Cause, f.FirstStep, f.LastStep, f.CostNSPerStep, report.Words(f.Title)))
	}
	return out
}

// TestUnchanged checks that without changes nothing moves: each span begins and ends to the nanosecond where it did,
// and the findings are the same.
func TestUnchanged(t *testing.T) {
	for _, dir := range captures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			old := readDir(t, dir)
			m := retime.New(old)
			got := run(t, m)
			for i := range old {
				if len(got[i].Spans) != len(old[i].Spans) {
					t.Fatalf("rank %d: %d spans, want %d", i, len(got[i].Spans), len(old[i].Spans))
				}
				off := 0
				for k := range old[i].Spans {
					if a, b := &old[i].Spans[k], &got[i].Spans[k]; *a != *b {
						if off++; off < 5 {
							t.Errorf("rank %d span %d %s: %+v, want %+v", i, k, old[i].Strings.Get(a.Name), *b, *a)
						}
					}
				}
				if off > 0 {
					t.Errorf("rank %d: %d of %d spans have moved", i, off, len(old[i].Spans))
				}
			}
			if a, b := findings(t, old), findings(t, got); !slices.Equal(a, b) {
				t.Errorf("found %q, want %q", b, a)
			}
			late, n := 0, 0
			for _, o := range m.Ops {
				if n++; o.Late > 10*us {
					late++
				}
			}
			t.Logf("%d of %d ops begin more than 10 µs later than explained", late, n)
		})
	}
}

// waits returns each rank's wait in collectives, by step.
func waits(t testing.TB, ts []*trace.Trace) [][]int64 {
	t.Helper()
	r, err := explain.Analyze(ts, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]int64, len(ts))
	for i := range out {
		out[i] = make([]int64, len(r.Steps))
		for _, s := range r.Steps {
			for _, p := range s.Ranks {
				if p.Rank == i {
					out[i][s.Step] = p.CommWait
				}
			}
		}
	}
	return out
}

// TestEffects checks that each change has the expected cost in the expected place.
func TestEffects(t *testing.T) {
	graphs := readDir(t, filepath.Join("..", "..", "..", "testdata", "traces", "graphs"))
	base := waits(t, graphs)
	own := func(m *retime.Model, step int) (ns int64) { // compute of rank 2
		for _, o := range m.Ops {
			if o.Rank == 2 && o.Step == step && o.Meet == nil {
				ns += o.Dur
			}
		}
		return ns
	}
	last := len(base[0]) - 1
	for _, c := range []struct {
		name   string
		change func(m *retime.Model)
		from   int
		more   func(step int) int64 // extra wait of the other ranks
		share  float64              // tolerance
	}{
		{"host", func(m *retime.Model) {
			for n := 6; n <= last; n++ {
				m.Pause(2, n, 500*us)
			}
		}, 6, func(int) int64 { return 500 * us }, 0.1},
		{"kernels", func(m *retime.Model) {
			m.Stretch(1.5, func(o *retime.Op) bool { return o.Rank == 2 && o.Step >= 4 })
		}, 4, func(n int) int64 { return own(retime.New(graphs), n) / 2 }, 0.1},
		{"transfers", func(m *retime.Model) {
			for _, meet := range m.Meets {
				meet.Transfer += 50 * us
			}
		}, 0, func(int) int64 { return 0 }, 0},
		{"one kernel more after each", func(m *retime.Model) {
			for _, o := range slices.Clone(m.Ops) {
				if o.Rank == 2 && o.Step >= 5 && o.Meet == nil && o.InGraph {
					m.Add(o, "extra")
				}
			}
		}, 5, func(n int) int64 { return own(retime.New(graphs), n) }, 0.25},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := retime.New(graphs)
			c.change(m)
			got := waits(t, run(t, m))
			for n := 1; n <= last; n++ {
				want := int64(0)
				if n >= c.from {
					want = c.more(n)
				}
				for _, i := range []int{0, 1, 3} {
					// The head start of rank 2 in some collectives is used up first.
					if more := got[i][n] - base[i][n]; abs(more-want) > int64(c.share*float64(want))+60*us {
						t.Errorf("step %d rank %d waits %d µs more, want %d", n, i, more/us, want/us)
					}
				}
				if more := got[2][n] - base[2][n]; more > 20*us {
					t.Errorf("step %d: rank 2, which is late, waits %d µs more", n, more/us)
				}
			}
		})
	}
}

// TestBack checks that kernels made twice as long, and halved again in the result, are unchanged.
func TestBack(t *testing.T) {
	for _, dir := range captures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			old := readDir(t, dir)
			scale := func(ts []*trace.Trace, by float64) []*trace.Trace {
				m := retime.New(ts)
				m.Stretch(by, func(o *retime.Op) bool { return o.Rank == 0 })
				return run(t, m)
			}
			got := scale(scale(old, 2), 0.5)
			for i := range old {
				length := func(ts []*trace.Trace) (first, last int64) {
					first = 1 << 62
					for _, s := range ts[i].Spans {
						if s.Cat.OnGPU() {
							first, last = min(first, s.Start), max(last, s.End())
						}
					}
					return first, last
				}
				a0, a1 := length(old)
				b0, b1 := length(got)
				t.Logf("rank %d: %d µs, was %d", i, (b1-b0)/us, (a1-a0)/us)
				if off := (b1 - b0) - (a1 - a0); abs(off) > (a1-a0)/100 {
					t.Errorf("rank %d: %d µs long, was %d", i, (b1-b0)/us, (a1-a0)/us)
				}
			}
		})
	}
}

// TestResample checks that drawn values were measured, that a seed gives one window, another seed another, and that no
// rank is slower than the others over many windows.
func TestResample(t *testing.T) {
	graphs := readDir(t, filepath.Join("..", "..", "..", "testdata", "traces", "graphs"))
	measured := map[string]map[int64]bool{}
	for _, o := range retime.New(graphs).Ops {
		if measured[o.Name] == nil {
			measured[o.Name] = map[int64]bool{}
		}
		measured[o.Name][o.Dur] = true
	}
	took := make([]int64, len(graphs))
	window := func(seed uint64) []*trace.Trace {
		m := retime.New(graphs)
		m.Resample(rand.New(rand.NewPCG(seed, 0)))
		for _, o := range m.Ops {
			if o.Meet == nil {
				took[o.Rank] += o.Dur
			}
			if !measured[o.Name][o.Dur] {
				t.Fatalf("%s of %d ns was never measured", o.Name, o.Dur)
			}
		}
		return run(t, m)
	}
	first, again, other := window(1), window(1), window(2)
	for i := range graphs {
		if !slices.Equal(first[i].Spans, again[i].Spans) {
			t.Errorf("rank %d: one seed gives two windows", i)
		}
		if slices.Equal(first[i].Spans, other[i].Spans) {
			t.Errorf("rank %d: two seeds give one window", i)
		}
	}
	for seed := range uint64(20) {
		window(seed + 3)
	}
	for i, ns := range took {
		if off := ns - took[0]; abs(off) > took[0]/50 {
			t.Errorf("rank %d computes for %d µs, rank 0 for %d", i, ns/us, took[0]/us)
		}
	}
}

func abs(x int64) int64 { return max(x, -x) }
