package timeline

import (
	"slices"
	"testing"
)

// TestCounterColumns: a column has the lowest and the highest value in it, among them the value that it begins with;
// columns without a new value are left out.
func TestCounterColumns(t *testing.T) {
	s := values{name: "TP00", rank: 0}
	for _, p := range [][2]int64{{-5, 3}, {10, 9}, {12, 1}, {55, 4}, {99, 8}, {100, 50}} {
		s.add(p[0], float64(p[1]))
	}
	got := s.columns(0, 100, 10)
	for what, of := range map[string][2][]float64{
		"low": {got.Low, {3, 1, 1, 4}}, "high": {got.High, {3, 9, 4, 8}}, "last": {got.Last, {3, 1, 4, 8}},
	} {
		if !slices.Equal(of[0], of[1]) {
			t.Errorf("%s: %v, want %v", what, of[0], of[1])
		}
	}
	if !slices.Equal(got.At, []int{0, 1, 5, 9}) {
		t.Errorf("columns %v", got.At)
	}
	if late := s.columns(200, 300, 10); len(late.At) != 1 || late.Last[0] != 50 {
		t.Errorf("after the last value: %+v", late)
	}
	if early := s.columns(-100, -50, 10); len(early.At) != 0 {
		t.Errorf("before the first value: %+v", early)
	}
}

// TestCounterSummary: many series are summarised; that of the peak and that of the rank of interest stay.
func TestCounterSummary(t *testing.T) {
	c := counter{Counter: Counter{ID: "x"}}
	for rank := range 65 {
		s := values{name: "rank", rank: rank}
		s.add(0, float64(rank))
		s.add(50, float64(100-rank))
		c.series = append(c.series, s)
	}
	c.peak(0, 100)
	if c.Peak != 100 || c.Rank != 0 || c.At != 50 {
		t.Errorf("peak %v of %d at %d", c.Peak, c.Rank, c.At)
	}
	// The value that applies at the beginning of an interval counts, and no value after its end.
	early := c
	if early.peak(10, 40); early.Peak != 64 || early.Rank != 64 || early.At != 10 {
		t.Errorf("peak from 10 to 40: %v of %d at %d", early.Peak, early.Rank, early.At)
	}
	tl := &Timeline{counters: []counter{c}}
	of := tl.Counters(0, 100, 10, 7).Counters[0]
	if len(of.Series) != 5 || of.All != 65 || of.Series[3].Rank != 0 || of.Series[4].Rank != 7 {
		t.Fatalf("%d series of %d", len(of.Series), of.All)
	}
	for i, want := range []struct {
		v  []float64
		at []int
	}{{[]float64{64, 100}, []int{0, 5}}, {[]float64{32, 68}, []int{0, 5}}, {[]float64{0, 36}, []int{0, 6}}} {
		if s := of.Series[i]; !slices.Equal(s.Last, want.v) || !slices.Equal(s.At, want.at) {
			t.Errorf("%s: %v at %v, want %v", s.Name, s.Last, s.At, want)
		}
	}
}
