package trace_test

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

func TestLabelRuns(t *testing.T) {
	for _, c := range []struct{ labels, want []string }{
		{nil, nil},
		{[]string{"TP03"}, []string{"TP03"}},
		{[]string{"TP00", "TP01"}, []string{"TP00", "TP01"}},
		{[]string{"TP09", "TP10", "TP11"}, []string{"TP09 to TP11"}},
		{[]string{"rank 0", "rank 1", "rank 2", "rank 4", "rank 5", "rank 6"}, []string{"rank 0 to rank 2", "rank 4 to rank 6"}},
		{[]string{"rank 1 DECODE", "rank 2 DECODE", "rank 3 DECODE"}, []string{"rank 1 DECODE to rank 3 DECODE"}},
		{[]string{"TP00-DP00", "TP00-DP01", "TP01-DP02"}, []string{"TP00-DP00", "TP00-DP01", "TP01-DP02"}},
		{[]string{"rank 1 or 3", "gone.json", "99999999999999999999", "100000000000000000000"},
			[]string{"rank 1 or 3", "gone.json", "99999999999999999999", "100000000000000000000"}},
	} {
		if got := trace.LabelRuns(c.labels); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.labels, got, c.want)
		}
	}
}

func TestCompareLabels(t *testing.T) {
	want := []string{"", "TP0", "TP00", "TP00-DP01", "TP1", "TP02", "TP10", "rank 1", "rank 2", "rank 10", "rank 10 DECODE", "rank 100000000000000000000"}
	for i := range want {
		for j := range want {
			if got := trace.CompareLabels(want[i], want[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%q, %q: %d", want[i], want[j], got)
			}
		}
	}
}
