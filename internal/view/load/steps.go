package load

import (
	"net/http"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// Steps holds the steps recorded by servers during a load.
type Steps struct {
	By    string   `json:"steps_by"` // how requests were matched to steps: request ids, time
	Rep   int      `json:"rep"`      // repetition during which steps were recorded
	Kinds []string `json:"kinds"`
	Names []string `json:"names"`
	Lanes []Lane   `json:"lanes"`
	TTFT  Slow     `json:"ttft"`
	ITL   Slow     `json:"itl"`
	Notes []string `json:"notes"`
}

// Lane is one data-parallel rank of a server. Its steps are given as one column per property, with times on the
// run's clock.
type Lane struct {
	Server  string       `json:"server"`
	Capture string       `json:"capture"` // id of the capture that contains the ranks
	DP      int          `json:"dp_rank"`
	Windows []bench.Span `json:"windows"`
	From    []int64      `json:"from"`
	To      []int64      `json:"to"`
	Kind    []int        `json:"kind"`  // index in Steps.Kinds
	Name    []int        `json:"name"`  // index in Steps.Names
	Batch   []int        `json:"batch"` // number of the load's requests in the step
	// Shift is the capture's time at time 0 of the run. It is added to convert the run's time to the capture's time.
	Shift int64 `json:"shift"`
}

// Slow sums up the slow end of one latency.
type Slow struct {
	N     int               `json:"n"`
	P99   int64             `json:"p99_ns"`
	Below bool              `json:"below"`
	Cases []int             `json:"cases"` // record index of each request, slowest first
	Parts []report.WaitPart `json:"parts"` // parts of the wait, summed over all cases
}

func (v *Views) steps(req *http.Request) (any, error) {
	o, err := v.open(req, "run")
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	j, err := v.join(req.Context(), o)
	if err != nil {
		return nil, err
	}
	out := &Steps{By: j.By, Rep: j.Run, Kinds: []string{}, Names: []string{}, Lanes: []Lane{}, Notes: []string{}}
	kinds, names := index{}, index{}
	for k, l := range j.lanes {
		in := j.captures[l.Server]
		to := Lane{Server: l.Server, Capture: in.id, DP: l.DP, Windows: l.Windows, From: []int64{}, To: []int64{}, Kind: []int{}, Name: []int{}, Batch: []int{}}
		for i, s := range l.Steps {
			to.From, to.To = append(to.From, s.From), append(to.To, s.To)
			to.Kind, to.Name = append(to.Kind, kinds.of(s.Kind.String(), &out.Kinds)), append(to.Name, names.of(s.Name, &out.Names))
			to.Batch = append(to.Batch, len(j.Batch(waits.Place{Lane: k, Step: i})))
			if i == 0 {
				to.Shift = s.Start - in.origin - s.From
			}
		}
		out.Lanes = append(out.Lanes, to)
	}
	records := o.load.Runs[j.Run].Records
	at := map[[2]int]int{}
	for i := range records {
		at[[2]int{records[i].Index, records[i].Turn}] = i
	}
	slow := func(t *waits.Tail) Slow {
		s := Slow{N: t.N, P99: t.P99, Below: t.Below, Cases: []int{}, Parts: report.WaitParts(&t.Sum)}
		for _, c := range t.Cases {
			s.Cases = append(s.Cases, at[[2]int{c.Index, c.Turn}])
		}
		return s
	}
	out.TTFT, out.ITL = slow(&j.slow.TTFT), slow(&j.slow.ITL)
	if text := report.SlowCauses(j.slow); text != "" {
		out.Notes = append(out.Notes, text+".")
	}
	out.Notes = append(out.Notes, j.lacks...)
	for _, list := range [][]fact.Fact{j.slow.Late, j.slow.Notes} {
		for _, f := range list {
			out.Notes = append(out.Notes, report.Words(f))
		}
	}
	return out, nil
}

// Step lists the requests in one step of a lane.
type Step struct {
	With []Met `json:"with"`
}

// Met is a request in a step.
type Met struct {
	Index int    `json:"index"` // index of its record
	ID    string `json:"id"`
}

// step lists the requests in the step that the parameters lane and step select.
func (v *Views) step(req *http.Request) (any, error) {
	o, err := v.open(req, "run")
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	j, err := v.join(req.Context(), o)
	if err != nil {
		return nil, err
	}
	lane, err := number(req, "lane", -1, int64(len(j.lanes)))
	if err != nil {
		return nil, err
	}
	n, err := number(req, "step", -1, int64(len(j.lanes[lane].Steps)))
	if err != nil {
		return nil, err
	}
	out := &Step{With: []Met{}}
	for _, i := range j.Batch(waits.Place{Lane: int(lane), Step: int(n)}) {
		out.With = append(out.With, Met{i, columns.Clean(o.load.Runs[j.Run].Records[i].ID)})
	}
	return out, nil
}

// index assigns consecutive numbers to distinct texts.
type index map[string]int

func (x index) of(text string, list *[]string) int {
	i, ok := x[text]
	if !ok {
		i = len(*list)
		x[text], *list = i, append(*list, text)
	}
	return i
}
