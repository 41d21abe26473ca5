package waits

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Lane is one data-parallel rank of a server. All ranks of the data-parallel rank run the same steps together.
type Lane struct {
	Server  string       // "": the only server
	DP      int          // -1: not data-parallel
	Windows []bench.Span // recorded periods, in the run's time
	Steps   []Step       // in time order, without overlaps
}

// Step is one forward step, from its start on the server to the end of its work on the device.
type Step struct {
	From  int64 // start, in the run's time
	To    int64 // end, in the run's time
	Start int64 // start as in the trace, ns since the epoch
	Kind  trace.StepKind
	Name  string
}

// Place identifies a step of a lane.
type Place struct {
	Lane int `json:"lane"`
	Step int `json:"step"`
}

// Lanes returns the lanes of all servers with their recorded steps.
func (j *Joined) Lanes() []Lane {
	out := []Lane{}
	for _, l := range j.lanes {
		to := Lane{Server: l.server.name, DP: l.dp, Windows: []bench.Span{}, Steps: make([]Step, len(l.steps))}
		for _, w := range l.windows {
			to.Windows = append(to.Windows, bench.Span{From: j.at(w.from), To: j.at(w.to)})
		}
		for i, s := range l.steps {
			to.Steps[i] = Step{j.at(s.from), j.at(s.to), s.from - l.shift, s.kind, s.name}
		}
		out = append(out, to)
	}
	return out
}

// at is the inverse of wall.
func (j *Joined) at(wall int64) int64 {
	at := wall - j.run.StartWall
	if d := j.run.Duration; d > 0 && j.run.Drift != 0 {
		at = int64(math.Round(float64(at) / (1 + float64(j.run.Drift)/float64(d))))
	}
	return at
}

// Served holds the explained latencies of one request.
type Served struct {
	TTFT *Case   // nil: the first token did not arrive in a recorded window
	Gaps []Case  // times between events with text that ended in a recorded window
	In   []Place // recorded steps of the request
}

// Request explains the latencies of the i-th record, fast or slow.
func (j *Joined) Request(i int) Served {
	out := Served{Gaps: []Case{}, In: append([]Place{}, j.places()[i]...)}
	r := &j.records[i]
	if s, ok := ttft(r); ok {
		if c, ok := j.explain(&s); ok {
			out.TTFT = &c
		}
	}
	for _, s := range gaps(r) {
		if c, ok := j.explain(&s); ok {
			out.Gaps = append(out.Gaps, c)
		}
	}
	return out
}

// Batch returns the indices of the records that were in a step.
func (j *Joined) Batch(p Place) []int {
	j.places()
	return j.batch[p]
}

// places returns the steps of each record. If steps name their requests, these are the steps that name the record's
// request. If steps do not, these are the steps that produced the record's tokens.
func (j *Joined) places() [][]Place {
	if j.in != nil {
		return j.in
	}
	j.in, j.batch = make([][]Place, len(j.records)), map[Place][]int{}
	for i := range j.records {
		j.in[i] = j.placesOf(&j.records[i])
		for _, p := range j.in[i] {
			j.batch[p] = append(j.batch[p], i)
		}
	}
	return j.in
}

func (j *Joined) placesOf(r *bench.Record) (in []Place) {
	if j.byID {
		for k, l := range j.lanes {
			for _, step := range l.of[r.ID] {
				in = append(in, Place{k, step})
			}
		}
		return in
	}
	all := gaps(r)
	if s, ok := ttft(r); ok {
		all = append(all, s)
	}
	for i := range all {
		if l, own, _, _ := j.cameOf(&all[i], j.wall(all[i].from), j.wall(all[i].to)); l != nil {
			for _, step := range own {
				in = append(in, Place{slices.Index(j.lanes, l), step})
			}
		}
	}
	sorts.By(in, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Step, b.Step)) })
	return slices.Compact(in)
}
