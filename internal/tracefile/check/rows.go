package check

import "github.com/stepscope/stepscope/internal/tracefile/chromejson"

// rows keeps the latest event of each row, to find violations of the invariants that package read lists. In files
// written by a profiler, the events of each row are in order. In other files rows finds fewer violations.
type rows struct {
	last map[string]*latest
	key  []byte
}

// latest is the latest GPU op or API call of a row.
type latest struct{ start, end, id int64 }

// Tolerances, ns.
const (
	runsOnLeast  = 1_000
	setBackLeast = 100_000
)

func (r *rows) of(e *chromejson.Event) (l *latest, known bool) {
	r.key = append(append(append(r.key[:0], e.Text(e.PID)...), 0), e.Text(e.TID)...)
	if l = r.last[string(r.key)]; l != nil {
		return l, true
	}
	if r.last == nil {
		r.last = map[string]*latest{}
	}
	l = &latest{}
	if len(r.last) < 4096 { // a broken file may have any number of rows
		r.last[string(r.key)] = l
	}
	return l, false
}

// runsOn reports whether the previous GPU op on the row of e ends after e ends.
func (r *rows) runsOn(e *chromejson.Event, start, end int64) bool {
	l, known := r.of(e)
	was := *l
	*l = latest{start: start, end: end}
	return known && start >= was.start && was.end > end+runsOnLeast
}

// setBack reports whether e has a higher id but an earlier time than the previous API call on the same row.
func (r *rows) setBack(e *chromejson.Event, start, id int64) bool {
	l, known := r.of(e)
	was := *l
	*l = latest{start: start, id: id}
	return known && id > was.id && start < was.start-setBackLeast
}
