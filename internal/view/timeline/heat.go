package timeline

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Measure is a quantity shown in the heatmap of ranks and steps.
type Measure struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Unit   string `json:"unit"`   // ns or count
	Beyond bool   `json:"beyond"` // the distance from the step's median rank matters, not the value itself
	// Floor is the least value that fills the colour scale, so that noise stays pale.
	Floor float64 `json:"floor"`

	of func(s *result.Step, r *result.StepRank) float64
}

// Measures lists the available measures.
var Measures = []Measure{
	{"work", "own work", "ns", true, 0, func(_ *result.Step, r *result.StepRank) float64 { return float64(r.Compute) }},
	{"host", "host gap", "ns", true, 0, func(_ *result.Step, r *result.StepRank) float64 { return float64(r.HostGap) }},
	{"wait", "wait in collectives", "ns", false, 0, func(_ *result.Step, r *result.StepRank) float64 { return float64(r.CommWait) }},
	{"tokens", "new tokens", "count", false, 0, nil},
	{"length", "length of the step", "ns", true, 0, func(_ *result.Step, r *result.StepRank) float64 { return float64(r.Period) }},
}

// Telling returns the measure that shows the first finding about some ranks and steps most clearly or, if there is
// none, that of the first finding.
func Telling(rep *result.Report) string {
	if of := marked(rep); len(of) > 0 {
		return of[0].Measure
	}
	if len(rep.Findings) > 0 && result.KindOf(rep.Findings[0].Kind).Class != result.Lack {
		return rep.Findings[0].Measure()
	}
	return "work"
}

// Marked is a finding about some ranks and steps, which the heatmap outlines.
type Marked struct {
	ID      string `json:"id"`
	Measure string `json:"measure"`
	Ranks   []int  `json:"ranks"`
	First   int    `json:"first"`
	Last    int    `json:"last"`
}

// marked returns the findings that the heatmap can outline, the most important first.
func marked(rep *result.Report) []Marked {
	out := []Marked{}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.FirstStep >= 0 && len(f.Ranks) > 0 {
			out = append(out, Marked{f.ID, f.Measure(), f.Ranks, f.FirstStep, max(f.FirstStep, f.LastStep)})
		}
	}
	return out
}

// measures returns the available measures with their floors. These and the medians are those of the maps of a report, so
// that all maps of a capture have the same figures.
func (t *Timeline) measures() []Measure {
	of := func(value func(*result.StepRank) int64) float64 {
		var all []int64
		for i := range t.report.Steps {
			for j := range t.report.Steps[i].Ranks {
				if v := value(&t.report.Steps[i].Ranks[j]); v > 0 {
					all = append(all, v)
				}
			}
		}
		return float64(metric.LowerMedian(all)) / 10
	}
	out := slices.Clone(Measures)
	work, length := of(func(r *result.StepRank) int64 { return r.Compute }), of(func(r *result.StepRank) int64 { return r.Total })
	for i := range out {
		switch m := &out[i]; {
		case m.ID == "work":
			m.Floor = work
		case m.Unit == "ns":
			m.Floor = length
		}
	}
	return out
}

// Heat returns a measure of all ranks and steps as float64 values: the values of each rank in turn, followed by the
// median over ranks for each step. NaN means that the rank does not have the step, or that the value is missing.
func (t *Timeline) Heat(measure string) ([]byte, error) {
	at := slices.IndexFunc(Measures, func(m Measure) bool { return m.ID == measure })
	if at < 0 {
		var ids []string
		for _, m := range Measures {
			ids = append(ids, m.ID)
		}
		return nil, fmt.Errorf("measure=%s: want one of %s", measure, strings.Join(ids, ", "))
	}
	m := &Measures[at]
	ranks, steps := len(t.ranks), len(t.report.Steps)
	values := slices.Repeat([]float64{math.NaN()}, (ranks+1)*steps)
	for n := range t.report.Steps {
		s := &t.report.Steps[n]
		var have []int64
		put := func(rank int, v float64) {
			values[rank*steps+n] = v
			have = append(have, int64(v))
		}
		if m.of != nil {
			for i := range s.Ranks {
				put(s.Ranks[i].Rank, m.of(s, &s.Ranks[i]))
			}
		} else {
			for rank, r := range t.ranks {
				if i := n - r.First; i >= 0 && i < len(r.Steps) && r.Steps[i].Info.Tokens >= 0 {
					put(rank, float64(r.Steps[i].Info.Tokens))
				}
			}
		}
		if len(have) > 0 {
			values[ranks*steps+n] = float64(metric.LowerMedian(have))
		}
	}
	out := make([]byte, 0, 8*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out, nil
}
