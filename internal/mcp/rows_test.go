package mcp

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestTogether: ranks belong together if collectives connect them.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []string
		want   []int
	}{
		{"two replicas", []string{"A, B", "C, D"}, []int{0, 0, 2, 2}},
		{"a chain", []string{"A, B", "C, D", "B, C"}, []int{0, 0, 0, 0}},
		{"one rank alone", []string{"B, D, C"}, []int{0, 1, 1, 1}},
		{"no collectives", nil, []int{0, 1, 2, 3}},
	} {
		r := &result.Report{}
		r.Source.Ranks = []string{"A", "B", "C", "D"}
		for _, g := range c.groups {
			r.Collectives = append(r.Collectives, result.CollectiveRow{Group: fact.Name(g), Size: strings.Count(g, ",") + 1})
		}
		if got := together(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLatest: ranks of one replica are not compared with those of another.
func TestLatest(t *testing.T) {
	r := &result.Report{}
	r.Source.Ranks = []string{"A", "B", "C", "D"}
	r.Collectives = []result.CollectiveRow{{Group: fact.Name("A, B"), Size: 2}, {Group: fact.Name("C, D"), Size: 2}}
	st := result.Step{Kind: "decode"}
	for rank, wait := range []int64{2000, 3000, 0, 26_000_000} {
		p := result.StepRank{Rank: rank}
		p.ExposedWait = wait
		st.Ranks = append(st.Ranks, p)
	}
	r.Steps = []result.Step{st}
	rows := latest(r, collectivesIn{})
	if len(rows) != 2 || !strings.HasPrefix(rows[0], "0 | decode | A | 3.00 µs | 2.00 µs") || !strings.HasPrefix(rows[1], "0 | decode | C | 26.0 ms | 0 ns") {
		t.Errorf("%q", rows)
	}
}

// TestMissing: each table of a capture names the ranks without a file.
func TestMissing(t *testing.T) {
	for missing, want := range map[string]string{"": "", "TP01": "no file of TP01"} {
		r := &result.Report{}
		r.Source.Ranks = []string{"TP00", "TP02"}
		if missing != "" {
			r.Source.Missing = []string{missing}
		}
		if got := (&analysis{}).begin(r).String(); strings.Contains(got, "no file of") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("missing %q: %q", missing, got)
		}
	}
}
