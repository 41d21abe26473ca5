package judge

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
)

func TestApproachKeys(t *testing.T) {
	var a approach
	for range 3 {
		for key := range int32(4 * fewKeys) {
			a.at(&prep.Op{Key: key, Name: key / 2}).count++
		}
	}
	if len(a.keys) != 4*fewKeys {
		t.Fatalf("%d keys of %d", len(a.keys), 4*fewKeys)
	}
	for i, k := range a.keys {
		if k.key != int32(i) || k.name != k.key/2 || k.count != 3 {
			t.Errorf("key %d: %+v", i, k)
		}
	}
}

// TestApproachGrids compares kernels of one name that have other grids on the two ranks.
func TestApproachGrids(t *testing.T) {
	late := approach{keys: []approachKey{{key: 1, name: 9, count: 3, busy: 30}, {key: 2, name: 9, count: 2, busy: 40}, {key: 5, name: 7, count: 1, busy: 6}}}
	peer := approach{keys: []approachKey{{key: 3, name: 9, count: 4, busy: 40}, {key: 4, name: 9, count: 2, busy: 10}, {key: 6, name: 8, count: 1, busy: 2}}}
	l := lateness{extra: map[int32]extra{}}
	late.against(&peer, &l)
	// Three of kernel 1 against three of kernel 3; then one of kernel 2 against the fourth of kernel 3, and one against
	// the first of kernel 4. What remains is one of kernel 4, and the kernels that only one rank has.
	want := map[int32]extra{1: {ns: 0}, 2: {ns: 10 + 15}, 4: {count: -1, ns: -5}, 5: {count: 1, ns: 6}, 6: {count: -1, ns: -2}}
	for key, w := range want {
		if got := l.extra[key]; got != w {
			t.Errorf("kernel %d: %+v, want %+v", key, got, w)
		}
	}
	if got, want := l.excess[byWork], int64(25-5+6-2); got != want {
		t.Errorf("excess %d, want %d", got, want)
	}
}
