package match

import (
	"testing"
)

// TestWait checks Wait and Possible: at holds start and end on each rank.
func TestWait(t *testing.T) {
	for _, c := range []struct {
		name     string
		at       [][2]int64
		possible bool
		waits    []int64
		last     int64
	}{
		{"together", [][2]int64{{10, 20}, {10, 20}}, true, []int64{0, 0}, 10},
		{"one late", [][2]int64{{10, 40}, {30, 40}}, true, []int64{20, 0}, 30},
		{"three", [][2]int64{{10, 41}, {30, 40}, {25, 42}}, true, []int64{20, 0, 5}, 30},
		{"ends as the last begins", [][2]int64{{10, 30}, {30, 40}}, true, []int64{20, 0}, 30},
		{"ended before the last began", [][2]int64{{10, 29}, {30, 40}}, false, []int64{19, 0}, 30},
		{"far apart", [][2]int64{{10, 20}, {3000, 3010}}, false, []int64{10, 0}, 3000},
	} {
		var m Match
		for i, x := range c.at {
			m.At = append(m.At, Part{Rank: int32(i), Start: x[0], End: x[1]})
		}
		m.close()
		if m.Possible() != c.possible || m.Last != c.last {
			t.Errorf("%s: got possible %v, last arrival %d, want %v, %d", c.name, m.Possible(), m.Last, c.possible, c.last)
		}
		for i, p := range m.At {
			if p.Wait != c.waits[i] {
				t.Errorf("%s: rank %d: got wait %d, want %d", c.name, i, p.Wait, c.waits[i])
			}
		}
	}
}
