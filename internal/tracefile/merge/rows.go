package merge

import (
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Rows keeps the latest event of each row, to find violations of the invariants of package trace. In files written by a
// profiler, the events of each row are in order. In other files Rows finds fewer violations.
type Rows struct {
	last map[string]*latest
	key  []byte
}

// latest is the latest GPU op or API call of a row.
type latest struct {
	start, end, id int64
	known          bool // whether start, end and id are set
	calls, steps   trace.Nest
}

func (r *Rows) of(e *chromejson.Event) *latest {
	r.key = append(append(append(r.key[:0], e.Text(e.PID)...), 0), e.Text(e.TID)...)
	if l := r.last[string(r.key)]; l != nil {
		return l
	}
	if r.last == nil {
		r.last = map[string]*latest{}
	}
	l := &latest{}
	if len(r.last) < 4096 { // a broken file may have any number of rows
		r.last[string(r.key)] = l
	}
	return l
}

// RunsOn reports whether the previous GPU op on the row of e ends after e ends.
func (r *Rows) RunsOn(e *chromejson.Event, start, end int64) bool {
	l := r.of(e)
	was := *l
	l.start, l.end, l.known = start, end, true
	return was.known && start >= was.start && was.end > end+trace.RunsOnLeast
}

// SetBack reports whether e has a higher id but an earlier time than the previous API call on the same row.
func (r *Rows) SetBack(e *chromejson.Event, start, id int64) bool {
	l := r.of(e)
	was := *l
	l.start, l.id, l.known = start, id, true
	return was.known && id > was.id && start < was.start-trace.SetBackLeast
}

// Crosses reports whether the op, API call or step e crosses an earlier one on the same row.
func (r *Rows) Crosses(e *chromejson.Event, start, end int64) bool {
	switch string(e.Text(e.Cat)) {
	case "cpu_op", "cuda_runtime", "cuda_driver":
		return r.of(e).calls.Crosses(start, end)
	case "user_annotation":
		if _, step := trace.ParseStep(string(e.Text(e.Name))); step {
			return r.of(e).steps.Crosses(start, end)
		}
	}
	return false
}

// possible counts the violations of invariants in an event, and reports whether the event has a possible time. An event
// without a possible time would stretch the timeline over days.
func (p *part) possible(e *chromejson.Event) bool {
	start, ok := chromejson.ParseMicros(e.Text(e.TS))
	switch {
	case !ok || e.Ph == 'M':
		return true
	case trace.Away(start, p.MidTS):
		p.odd.Add(trace.NoteDaysAway, 1)
		return false
	case e.Ph != 'X':
		return true
	}
	dur, ok := chromejson.ParseMicros(e.Text(e.Dur))
	if ok && dur < 0 {
		p.odd.Add(trace.NoteNegative, 1)
		dur = 0
	}
	if ok && p.rows.Crosses(e, start, start+dur) {
		p.odd.Add(trace.NoteCross, 1)
	}
	switch string(e.Text(e.Cat)) {
	case "kernel", "gpu_memcpy", "gpu_memset":
		if ok && p.rows.RunsOn(e, start, start+dur) {
			p.odd.Add(trace.NoteRunsOn, 1)
		}
	case "cuda_runtime", "cuda_driver":
		if id, known := e.ArgInt(chromejson.ArgCorrelation); known && id > 0 && p.rows.SetBack(e, start, id) {
			p.odd.Add(trace.NoteSetBack, 1)
		}
	}
	return true
}
