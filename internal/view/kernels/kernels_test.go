package kernels

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/window"
)

func workOf(t *testing.T, name string) *Work {
	t.Helper()
	in := window.Input{Paths: []string{filepath.Join("..", "..", "..", "testdata", "traces", name)}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	w := read.Prepare(nil)
	opt := read.Options()
	opt.Layers = true
	if _, err := w.Analyze(opt); err != nil {
		t.Fatal(err)
	}
	return New(w.Aligned(), read.Traces)
}

// TestSums: every grouping contains all work exactly once, and ranks and kinds of steps add up to it.
func TestSums(t *testing.T) {
	for _, name := range []string{"stacks", "compute_skew", "graphs"} {
		w := workOf(t, name)
		whole := int64(0)
		for _, r := range w.a.Ranks {
			for i := range r.Ops {
				whole += r.Ops[i].End - r.Ops[i].Start
			}
		}
		for _, by := range w.Groups() {
			all := Query{By: by, Rank: -1}
			if got := w.Table(all, nil); got.Total+got.Wait != whole {
				t.Errorf("%s by %s: the table has %d and %d of %d ns", name, by, got.Total, got.Wait, whole)
			}
			f := w.Flame(all, nil)
			if f.Total[0] != whole {
				t.Errorf("%s by %s: the flame has %d of %d ns", name, by, f.Total[0], whole)
			}
			below := make([]int64, len(f.Total))
			for n := 1; n < len(f.Parent); n++ {
				if int(f.Parent[n]) >= n {
					t.Fatalf("%s by %s: node %d precedes its parent", name, by, n)
				}
				below[f.Parent[n]] += f.Total[n]
			}
			for n, b := range below {
				if b > f.Total[n] {
					t.Errorf("%s by %s: below node %d of %d ns are %d", name, by, n, f.Total[n], b)
				}
			}
			sum := int64(0)
			for rank := range w.a.Ranks {
				for _, kind := range []string{"prefill", "decode", "mixed", "denoising", "other", "idle"} {
					table := w.Table(Query{By: by, Rank: rank, Kind: kind}, nil)
					sum += table.Total + table.Wait
				}
			}
			if sum > whole || sum < whole*9/10 {
				t.Errorf("%s by %s: ranks and kinds sum up to %d of %d ns", name, by, sum, whole)
			}
		}
	}
}

// TestOnly: a kernel run by one rank alone is marked, unless only that rank is selected.
func TestOnly(t *testing.T) {
	w := workOf(t, "graph_work")
	only := func(rank int, kind string) (names []string) {
		for _, r := range w.Table(Query{By: Kernel, Rank: rank, Kind: kind}, nil).Rows {
			if r.Only != "" {
				names = append(names, r.Only+" "+r.Name)
			}
		}
		return names
	}
	for _, kind := range []string{"", "decode"} {
		if got := only(-1, kind); len(got) != 1 || !strings.HasPrefix(got[0], "TP01 vectorized_elementwise_kernel<8, AUnaryFunctor") {
			t.Errorf("steps of kind %q: %q", kind, got)
		}
	}
	if got := append(only(1, ""), only(-1, "prefill")...); len(got) != 0 {
		t.Errorf("for one rank, or if all run it: %q", got)
	}
}

// TestGroups: a capture with stacks has frames and layers; one without has neither, and reports why.
func TestGroups(t *testing.T) {
	w := workOf(t, "stacks")
	if got := w.Groups(); !slices.Contains(got, Frame) || !slices.Contains(got, Op) {
		t.Errorf("groups %q", got)
	}
	rows := w.Table(Query{By: Frame, Rank: -1}, nil).Rows
	if !slices.ContainsFunc(rows, func(r Row) bool {
		return r.Name == "make_traces.py(42): mlp" && 0 < r.Self && r.Self < r.Total
	}) {
		t.Errorf("mlp does not launch both directly and through its callees: %+v", rows)
	}
	if err := workOf(t, "compute_skew").Check(Query{By: Frame, Rank: -1}); err == nil || !strings.Contains(err.Error(), "without Python stacks") {
		t.Error(err)
	}
	if err := w.Check(Query{By: Class, Rank: 99}); err == nil {
		t.Error("there is a rank 99")
	}
}

// TestAgainst: a capture compared with itself has no differences; compared with another, it shows rows and nodes of
// both.
func TestAgainst(t *testing.T) {
	skew, balanced := workOf(t, "compute_skew"), workOf(t, "balanced")
	for _, by := range []Group{Class, Kernel, Op} {
		q := Query{By: by, Rank: -1, Kind: "decode"}
		same := skew.Table(q, skew)
		for _, r := range same.Rows {
			if r.Total != r.Total2 || r.Count != r.Count2 || r.Self != r.Self2 {
				t.Errorf("by %s: %+v", by, r)
			}
		}
		f := skew.Flame(q, skew)
		if !slices.Equal(f.Total, f.Other) || f.Steps != f.Steps2 {
			t.Errorf("by %s: the flame differs from itself", by)
		}
		a, b, both := skew.Flame(q, nil), balanced.Flame(q, nil), skew.Flame(q, balanced)
		if both.Total[0] != a.Total[0] || both.Other[0] != b.Total[0] || both.Steps2 != b.Steps {
			t.Errorf("by %s: %d and %d of %d and %d ns", by, both.Total[0], both.Other[0], a.Total[0], b.Total[0])
		}
		table := skew.Table(q, balanced)
		if table.Total+table.Wait != a.Total[0] || table.Total2+table.Wait2 != b.Total[0] {
			t.Errorf("by %s: the table has %d and %d of %d and %d ns", by, table.Total+table.Wait, table.Total2+table.Wait2, a.Total[0], b.Total[0])
		}
		if text, err := json.Marshal([]any{f, table}); err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%v: %s", err, text)
		}
	}
}

// TestWaits: the time in which a collective waits for the last rank is not that of its kernel. Most of it is waiting where
// a rank is late, and the rest takes about as long on every rank.
func TestWaits(t *testing.T) {
	w := workOf(t, "compute_skew")
	rows := w.Table(Query{By: Kernel, Rank: -1}, nil).Rows
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Class == "communication" })
	if r := rows[at]; r.Wait < 2*r.Total || r.Spread > 1 || r.Median >= r.Max || r.Slow == "" || r.Slow == r.Fast {
		t.Errorf("%+v", r)
	}
	for _, r := range rows {
		if r.Class != "communication" && r.Wait != 0 {
			t.Errorf("%s waits for %d ns", r.Name, r.Wait)
		}
	}
	classes := w.Table(Query{By: Class, Rank: -1}, nil).Rows
	of := func(name string) int64 {
		return classes[slices.IndexFunc(classes, func(r Row) bool { return r.Name == name })].Total
	}
	if of(Waiting) != rows[at].Wait || of("communication") != rows[at].Total {
		t.Errorf("by class, %d of waiting and %d of communication", of(Waiting), of("communication"))
	}
	f := w.Flame(Query{By: Class, Rank: -1}, nil)
	for n, name := range f.Name {
		if f.Names[name] == Waiting && (f.Total[n] != rows[at].Wait || f.Class[name] != "wait") {
			t.Errorf("the flame has %d ns of waiting in class %q", f.Total[n], f.Class[name])
		}
	}
	if alone := w.Table(Query{By: Kernel, Rank: 2}, nil).Rows; slices.ContainsFunc(alone, func(r Row) bool { return r.Slow != "" && r.Slow != r.Fast }) {
		t.Error("one rank is slower than itself")
	}
}
