package pftrace

import (
	"fmt"
	"slices"
	"testing"
)

// replayed is a slice that trace_processor builds from BEGIN and END.
type replayed struct {
	track      uint64
	start, end int64 // end -1: never
	depth      int
	name       string
	parent     string
}

func (r replayed) String() string {
	return fmt.Sprintf("%d:%s[%d,%d]@%d<%s", r.track, r.name, r.start, r.end, r.depth, r.parent)
}

// replay processes events as trace_processor does: sorts them by time, equal times by file position, and matches each
// END with the innermost open slice of its track.
func replay(t testing.TB, d *decoded) []replayed {
	t.Helper()
	evs := slices.Clone(d.events)
	slices.SortStableFunc(evs, func(a, b event) int {
		switch {
		case a.ts < b.ts:
			return -1
		case a.ts > b.ts:
			return 1
		}
		return 0
	})
	var out []replayed
	open := map[uint64][]int{}
	for _, e := range evs {
		st := open[e.track]
		switch e.typ {
		case 1:
			r := replayed{track: e.track, start: e.ts, end: -1, depth: len(st), name: e.name}
			if len(st) > 0 {
				r.parent = out[st[len(st)-1]].name
			}
			open[e.track] = append(st, len(out))
			out = append(out, r)
		case 2:
			if len(st) == 0 {
				t.Fatalf("END without BEGIN: %v", e)
			}
			out[st[len(st)-1]].end = e.ts
			open[e.track] = st[:len(st)-1]
		}
	}
	return out
}
