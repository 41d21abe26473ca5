package pftrace

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
)

func TestLanes(t *testing.T) {
	type span struct{ start, end int64 }
	tests := []struct {
		name  string
		spans []span
		want  []int
	}{
		{"apart", []span{{0, 5}, {5, 9}, {20, 30}}, []int{0, 0, 0}},
		{"nested", []span{{0, 10}, {0, 5}, {5, 10}, {6, 7}}, []int{0, 0, 0, 0}},
		{"overlap, then room again", []span{{0, 10}, {8, 15}, {12, 20}, {20, 21}}, []int{0, 1, 0, 0}},
		{"three at once", []span{{0, 10}, {5, 15}, {7, 20}, {16, 18}}, []int{0, 1, 2, 0}},
		{"child overlaps child", []span{{0, 100}, {10, 30}, {20, 40}, {30, 50}}, []int{0, 0, 1, 0}},
		{"empty slices", []span{{0, 0}, {0, 0}, {0, 10}, {5, 5}, {10, 10}}, []int{0, 0, 0, 0, 0}},
		{"shorter first at equal starts", []span{{0, 5}, {0, 10}}, []int{0, 1}},
		{"late", []span{{0, 10}, {20, 30}, {10, 12}, {12, 14}, {30, 31}}, []int{0, 0, 1, 1, 0}},
		{"a misfit forgets nothing", []span{{0, 100}, {0, 10}, {20, 200}, {5, 50}}, []int{0, 0, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var l Lanes
			var got []int
			for _, s := range tt.spans {
				i, ok := l.Place(s.start, s.end)
				if !ok {
					t.Fatalf("no lane for %v", s)
				}
				got = append(got, i)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("lanes %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLanesBounds(t *testing.T) {
	var l Lanes
	for i := range int64(MaxLanes) {
		if lane, ok := l.Place(i, 1000+i); lane != int(i) || !ok {
			t.Fatalf("slice %d on lane %d, %v", i, lane, ok)
		}
	}
	if _, ok := l.Place(MaxLanes, 5000); ok {
		t.Errorf("more than %d lanes", MaxLanes)
	}
	l = Lanes{}
	for i := range int64(maxDepth + 1) {
		lane, _ := l.Place(i, 5000-i)
		if want := int(i) / maxDepth; lane != want {
			t.Fatalf("slice at depth %d on lane %d, want %d", i, lane, want)
		}
	}
}

// FuzzTrackWriter checks that trace_processor's reading returns every slice with its start and end, in any order of
// input, and that sorted, nested slices stay on one lane with their innermost encloser as parent.
func FuzzTrackWriter(f *testing.F) {
	f.Add([]byte{0, 10, 0, 5, 5, 5, 5, 0, 10, 0, 10, 3}, true)
	f.Add([]byte{0, 10, 8, 10, 12, 4, 3, 3, 0, 20, 0, 0, 0, 0}, true)
	f.Add([]byte{9, 4, 3, 10, 3, 4, 0, 3, 0, 9, 13, 0, 9, 4}, false)
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), false)
	f.Fuzz(func(t *testing.T, in []byte, sorted bool) {
		type span struct{ start, end int64 }
		var spans []span
		for i := 0; i+1 < len(in) && len(spans) < MaxLanes; i += 2 {
			start := int64(in[i] % 32)
			spans = append(spans, span{start, start + int64(in[i+1]%16)})
		}
		if sorted {
			slices.SortStableFunc(spans, func(a, b span) int {
				return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
			})
		}
		var buf bytes.Buffer
		w := NewWriter(&buf)
		tw := w.Spans(Track{UUID: 1, Name: "t"})
		for i, s := range spans {
			if !tw.Add(&Event{TS: s.start, Dur: s.end - s.start, Name: fmt.Appendf(nil, "%d", i)}) {
				t.Fatal("not written")
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got := replay(t, decode(t, buf.Bytes()))
		if len(got) != len(spans) {
			t.Fatalf("%d slices, want %d", len(got), len(spans))
		}
		for _, r := range got {
			var i int
			fmt.Sscan(r.name, &i)
			if spans[i].start != r.start || spans[i].end != r.end {
				t.Errorf("slice %d is %v, want %v of %v", i, r, spans[i], spans)
			}
			if !sorted || tw.lanes.Len() > 1 {
				continue
			}
			// With equal start and end, the later one is the child; an empty slice at an end lies outside.
			parent := ""
			for j := range i {
				if s := spans[j]; s.start <= r.start && s.end >= r.end && s.end > r.start {
					parent = fmt.Sprint(j)
				}
			}
			if r.parent != parent {
				t.Errorf("parent of slice %d is %q, want %q in %v", i, r.parent, parent, spans)
			}
		}
	})
}
