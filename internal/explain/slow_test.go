package explain_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
)

// This file recomputes the figures with encoding/json, maps and the simplest definitions. It shares no code with the
// package, so agreement is meaningful.

// slowRank holds one file's events.
type slowRank struct {
	path   string
	steps  []slowSpan // forward annotations by start
	ops    []slowSpan // GPU work by start
	launch map[int64]slowSpan
}

type slowSpan struct {
	name, cat  string
	start, end int64 // ns since the file's base
	corr       int64
}

func (s slowSpan) comm() bool { return strings.Contains(s.name, "ncclDevKernel") }

// slowSets caches results of readSlow, which several tests share.
var slowSets sync.Map

// readSlow reads the trace files of a directory, in the order of their names.
func readSlow(t testing.TB, dir string) []*slowRank {
	t.Helper()
	if known, ok := slowSets.Load(dir); ok {
		return known.([]*slowRank)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.trace.json*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s holds no traces (error: %v)", dir, err)
	}
	slices.Sort(paths)
	var out []*slowRank
	for _, p := range paths {
		out = append(out, readSlowFile(t, p))
	}
	slowSets.Store(dir, out)
	return out
}

func readSlowFile(t testing.TB, path string) *slowRank {
	t.Helper()
	r := &slowRank{path: path, launch: map[int64]slowSpan{}}
	dec := json.NewDecoder(bytes.NewReader(packedtest.Read(t, path)))
	for { // up to the list of events; members before it are skipped as tokens
		tok, err := dec.Token()
		if err != nil {
			t.Fatalf("%s: no traceEvents: %v", path, err)
		}
		if tok == "traceEvents" {
			break
		}
	}
	if _, err := dec.Token(); err != nil { // [
		t.Fatal(err)
	}
	for dec.More() {
		var e struct {
			Ph, Cat, Name string
			TS, Dur       json.Number
			Args          struct {
				Correlation int64 `json:"correlation"`
			}
		}
		if err := dec.Decode(&e); err != nil {
			t.Fatalf("decoding an event of %s: %v", path, err)
		}
		if e.Ph != "X" {
			continue
		}
		s := slowSpan{name: e.Name, cat: e.Cat, corr: e.Args.Correlation}
		switch e.Cat {
		case "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver":
		case "user_annotation":
			if !strings.HasPrefix(e.Name, "step[") {
				continue
			}
		default:
			continue
		}
		s.start = nanos(t, e.TS)
		s.end = s.start + nanos(t, e.Dur)
		switch e.Cat {
		case "kernel", "gpu_memcpy", "gpu_memset":
			r.ops = append(r.ops, s)
		case "user_annotation":
			r.steps = append(r.steps, s)
		default:
			if old, ok := r.launch[s.corr]; !ok || s.end-s.start > old.end-old.start {
				r.launch[s.corr] = s
			}
		}
	}
	byStart := func(a, b slowSpan) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) }
	slices.SortFunc(r.steps, byStart)
	slices.SortFunc(r.ops, byStart)
	return r
}

// nanos converts decimal microseconds exactly.
func nanos(t testing.TB, n json.Number) int64 {
	whole, part, _ := strings.Cut(n.String(), ".")
	if len(part) > 3 {
		t.Fatalf("%q µs is not a whole number of ns", n)
	}
	ns, err := strconv.ParseInt(whole+part+"000"[len(part):], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// step returns the step in which an op was launched, -1 for none.
func (r *slowRank) step(o slowSpan) int {
	l, ok := r.launch[o.corr]
	if !ok {
		return -1
	}
	for n, s := range r.steps {
		if s.start <= l.start && l.start < s.end {
			return n
		}
	}
	return -1
}

// othersWait returns the wait of the ranks other than late in collectives, per step: the time before the last arrival
// summed over the step's collectives, mean over the other ranks. Collectives are matched by step and order; the first
// one is dropped. With lastOnly, only collectives at which the late rank came last count: where several ranks are late,
// the others are due to them.
func othersWait(t testing.TB, ranks []*slowRank, late int, lastOnly bool) (byStep []float64, collectives int) {
	t.Helper()
	comms := make([][][]int64, len(ranks)) // rank, step, order: start
	for i, r := range ranks {
		comms[i] = make([][]int64, len(r.steps))
		for _, o := range r.ops {
			if n := r.step(o); o.comm() && n >= 0 {
				comms[i][n] = append(comms[i][n], o.start)
			}
		}
	}
	byStep = make([]float64, len(comms[0]))
	for n := range byStep {
		for k := range comms[0][n] {
			collectives++
			if collectives == 1 {
				continue
			}
			last := int64(0)
			for i := range ranks {
				if len(comms[i][n]) != len(comms[0][n]) {
					t.Fatalf("step %d: got %d collectives on rank %d, want %d as on rank 0", n, len(comms[i][n]), i, len(comms[0][n]))
				}
				last = max(last, comms[i][n][k])
			}
			if lastOnly && comms[late][n][k] != last {
				continue
			}
			var sum int64
			for i := range ranks {
				if i != late {
					sum += last - comms[i][n][k]
				}
			}
			byStep[n] += float64(sum) / float64(len(ranks)-1)
		}
	}
	return byStep, collectives
}

func slowMedian(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
