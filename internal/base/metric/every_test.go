package metric

import "testing"

func TestEvery(t *testing.T) {
	for _, c := range []struct {
		at   []int64
		want int64
	}{
		{nil, 0},
		{[]int64{5, 105}, 0},
		{[]int64{5, 105, 205, 305}, 100},
		{[]int64{5, 106, 204, 305}, 101},
		{[]int64{0, 100, 300, 400}, 100}, // one was missed
		{[]int64{0, 100, 700}, 0},        // five were missed: no evidence
		{[]int64{0, 100, 250}, 0},
		{[]int64{3, 3, 3}, 0},
	} {
		if got := Every(c.at); got != c.want {
			t.Errorf("%v: %d, want %d", c.at, got, c.want)
		}
	}
}
