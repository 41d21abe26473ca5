package check

import "github.com/stepscope/stepscope/internal/tracefile/chromejson"

// rows keeps the latest event of each row, to find violations of the invariants that package read lists. Rows are in
// order in files as profilers write them; in others fewer violations are found.
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
	if len(r.last) < 4096 { // a broken file may have any number
		r.last[string(r.key)] = l
	}
	return l, false
}

// runsOn reports whether the GPU op before e on its row ends after e does.
func (r *rows) runsOn(e *chromejson.Event, start, end int64) bool {
	l, known := r.of(e)
	was := *l
	*l = latest{start: start, end: end}
	return known && start >= was.start && was.end > end+runsOnLeast
}

// setBack reports whether e has a later id than the API call before it on its row, but an earlier time.
func (r *rows) setBack(e *chromejson.Event, start, id int64) bool {
	l, known := r.of(e)
	was := *l
	*l = latest{start: start, id: id}
	return known && id > was.id && start < was.start-setBackLeast
}
