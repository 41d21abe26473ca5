package judge

import (
	"slices"
	"testing"
)

func TestStretches(t *testing.T) {
	for _, c := range []struct {
		yes   string
		least int
		want  []stretch
	}{
		{"", 2, nil},
		{"......", 2, nil},
		{"..xx..", 2, []stretch{{2, 3}}},
		{"..x...", 2, nil},
		{"..x...", 1, []stretch{{2, 2}}},
		{"xxxxxx", 2, []stretch{{0, 5}}},
		{"....xxxx", 2, []stretch{{4, 7}}},
		{"..xxx.xxx", 2, []stretch{{2, 8}}},                  // an isolated gap does not divide
		{"x..xxxxx", 2, []stretch{{3, 7}}},                   // nor does an isolated yes before it count
		{"xxx......xxx", 2, []stretch{{0, 2}, {9, 11}}},      // far apart
		{"xx.x.x.xx", 2, []stretch{{0, 8}}},                  // mostly yes
		{"x.x.x.x.x", 2, nil},                                // every other step is not a stretch
		{"xx...xx.xx", 2, []stretch{{0, 1}, {5, 9}}},         //
		{"xxxx.xx..x", 2, []stretch{{0, 6}}},                 // the tail lowers the sum
		{".xxxxxx.....xxxxxxx.", 3, []stretch{{1, 18}}},      // two long ones with a shorter gap
		{".xxx.....xxxxxxx.", 3, []stretch{{1, 3}, {9, 15}}}, // the gap is longer than the first
		{"xxxxx....................xxx", 3, []stretch{{0, 4}, {25, 27}}},
	} {
		yes := make([]bool, len(c.yes))
		for i := range yes {
			yes[i] = c.yes[i] == 'x'
		}
		if got := stretches(yes, c.least); !slices.Equal(got, c.want) {
			t.Errorf("series %s: got stretches %v, want %v", c.yes, got, c.want)
		}
	}
}

// TestStretchesMaximal checks the segments against their definition (Ruzzo and Tompa): every proper beginning and end
// of a segment has a positive sum, and they are the longest such segments. Brute force on all short series.
func TestStretchesMaximal(t *testing.T) {
	const n = 11
	for bits := range 1 << n {
		yes := make([]bool, n)
		sum := make([]int, n+1)
		for i := range yes {
			yes[i] = bits>>i&1 == 1
			sum[i+1] = sum[i] - 1
			if yes[i] {
				sum[i+1] = sum[i] + 1
			}
		}
		positive := func(a, b int) bool { // [a, b)
			for i := a + 1; i <= b; i++ {
				if sum[i] <= sum[a] || sum[b] <= sum[i-1] {
					return false
				}
			}
			return true
		}
		var want []stretch
		for a := range n {
			for b := n; b > a; b-- {
				if !positive(a, b) {
					continue
				}
				if k := len(want) - 1; k < 0 || b-1 > want[k].last {
					want = append(want, stretch{a, b - 1})
				}
				break
			}
		}
		want = slices.DeleteFunc(want, func(s stretch) bool { return sum[s.last+1]-sum[s.first] < 2 })
		if got := stretches(yes, 2); !slices.Equal(got, want) {
			t.Fatalf("series %v: got stretches %v, want %v", yes, got, want)
		}
	}
}
