package explain_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// tally is a count and a sum of durations.
type tally struct {
	count int
	total int64
}

// TestTotalsMatchFile recomputes the report's sums from the files with slow_test.go: they agree to the nanosecond.
func TestTotalsMatchFile(t *testing.T) {
	classOf := map[string]string{}
	for _, c := range []struct {
		set         string
		collectives int
	}{
		{"graphs", 132}, {"stacks", 16}, {"graph_work", 180}, {"compute_skew", 168}, {"balanced", 120}, {"g_mixed", 260}, {"g_device_r1", 208},
	} {
		t.Run(c.set, func(t *testing.T) {
			dir := filepath.Join(explaintest.Traces, c.set)
			ranks := readSlow(t, dir)
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))

			byName, byClass, all := map[string]tally{}, map[string]tally{}, tally{}
			for _, s := range ranks {
				for _, o := range s.ops {
					class := "copy"
					if o.cat == "kernel" {
						class = classOf[o.name]
						if class == "" {
							class = string(kernel.Classify(o.name, o.cat).Group())
							classOf[o.name] = class
						}
					}
					byName[o.name] = byName[o.name].plus(o)
					byClass[class] = byClass[class].plus(o)
					all = all.plus(o)
				}
			}
			var gotAll tally
			for _, k := range r.Kernels {
				if k.Kind != "all" {
					continue
				}
				if got := (tally{k.Count, k.Total}); got != byName[k.Name] {
					t.Errorf("kernel %s: got %+v, want %+v as in the files", k.Name, got, byName[k.Name])
				}
				gotAll.count += k.Count
				gotAll.total += k.Total
				delete(byName, k.Name)
			}
			for name := range byName {
				t.Errorf("the report lacks kernel %s", name)
			}
			if gotAll != all {
				t.Errorf("all kernels: got %+v, want %+v as in the files", gotAll, all)
			}
			for _, k := range r.Classes {
				if k.Kind != "all" {
					continue
				}
				if got := (tally{k.Count, k.Total}); got != byClass[k.Class] {
					t.Errorf("class %s: got %+v, want %+v as in the files", k.Class, got, byClass[k.Class])
				}
				delete(byClass, k.Class)
			}
			for class := range byClass {
				t.Errorf("the report lacks class %s", class)
			}
			if _, n := othersWait(t, ranks, 0, false); n != c.collectives {
				t.Errorf("got %d collectives in the files, want %d", n, c.collectives)
			}
			count, matched := 0, 0
			for _, row := range r.Collectives {
				count += row.Count
				matched += row.Matched
			}
			if count != c.collectives || matched != c.collectives {
				t.Errorf("got %d collectives, %d matched, want %d", count, matched, c.collectives)
			}
			for i, s := range ranks {
				checkDevice(t, r, i, s)
			}
		})
	}
}

func (x tally) plus(o slowSpan) tally { return tally{x.count + 1, x.total + o.end - o.start} }

// checkDevice compares one device's shares of time with unions of intervals, and its steps' counts with the file.
func checkDevice(t *testing.T, r *result.Report, rank int, s *slowRank) {
	t.Helper()
	from, to := int64(0), int64(0)
	kernels := make([]int, len(s.steps))
	for _, o := range s.ops {
		n := s.step(o)
		if n < 0 {
			continue
		}
		if o.cat == "kernel" {
			kernels[n]++
		}
		if from == 0 {
			from = o.start
		}
		to = max(to, o.end)
	}
	cover := func(want func(slowSpan) bool) (sum int64) {
		reach := from
		for _, o := range s.ops {
			if want(o) {
				a, b := max(o.start, reach), min(o.end, to)
				sum += max(0, b-a)
				reach = max(reach, b)
			}
		}
		return sum
	}
	isCopy := func(o slowSpan) bool { return o.cat == "gpu_memcpy" }
	computes := func(o slowSpan) bool { return !o.comm() && !isCopy(o) }
	compute := cover(computes)
	withComm := cover(func(o slowSpan) bool { return computes(o) || o.comm() })
	busy := cover(func(slowSpan) bool { return true })
	want := result.Time{
		Total: to - from, Compute: compute, ExposedComm: withComm - compute, ExposedCopy: busy - withComm, Idle: to - from - busy,
		HiddenComm: cover(slowSpan.comm) - (withComm - compute),
	}
	at := slices.IndexFunc(r.Times, func(row result.TimeRow) bool { return row.Rank == r.Source.Ranks[rank] && row.Kind == "all" })
	got := r.Times[at].Time
	got.CommWait, got.ExposedWait, got.Unrecorded, got.IdleBy = 0, 0, 0, result.Idle{}
	if got != want {
		t.Errorf("rank %d: got %+v, want %+v as in the file", rank, got, want)
	}
	for n := range kernels {
		for _, p := range r.Steps[n].Ranks {
			if p.Rank == rank && p.Kernels != kernels[n] {
				t.Errorf("rank %d step %d: got %d kernels, want %d as in the file", rank, n, p.Kernels, kernels[n])
			}
		}
	}
}
