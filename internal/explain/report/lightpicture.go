package report

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// LightPicture is the data of the pictures of the speed of light in the page and in the viewer (web/light.ts). Times
// are sums over steps, in ns.
type LightPicture struct {
	Says  string      `json:"says"`
	None  bool        `json:"none"`  // there is no picture; Says gives the reason
	Parts []string    `json:"parts"` // names of the parts of bars, from the floor to the whole
	Kinds []LightKind `json:"kinds"`
	// Left is the number of ranks and kinds whose modules were left out.
	Left int `json:"left_out"`
}

// LightKind has the pictures of the steps of one kind.
type LightKind struct {
	Kind string `json:"kind"`
	// Why is the reason if some steps could not be told. If no step could be told, there are no bars.
	Why   string     `json:"why"`
	Rank  string     `json:"rank"` // the rank that waits least for others
	Bars  []LightBar `json:"bars"`
	Ranks []LightSet `json:"ranks"` // the modules of each rank
}

// LightBar is the device time of the steps on one rank.
type LightBar struct {
	Rank  string  `json:"rank"`
	Steps int     `json:"steps"`
	Told  int     `json:"told"`
	Total int64   `json:"total_ns"`
	Parts []int64 `json:"parts"` // the parts sum up to Total
}

// LightSet has the modules of the steps on one rank. Their sums extend over Steps.
type LightSet struct {
	Rank    string      `json:"rank"`
	Index   int         `json:"index"` // of the rank
	Steps   int64       `json:"steps"`
	Modules []LightItem `json:"modules"` // the most time beyond the floor first
}

// LightItem is the time of a module.
type LightItem struct {
	Module string  `json:"module"`
	Kernel string  `json:"kernel"` // main kernel, as shown
	Full   string  `json:"full"`   // its full name; the page leaves it out
	Time   int64   `json:"time_ns"`
	Floor  int64   `json:"floor_ns"`
	Attain int64   `json:"attainable_ns"`
	Least  string  `json:"floor"` // the floor of a step in words, with its bounds
	Of     float64 `json:"of_attainable"`
	Why    string  `json:"why"` // the reason if the floor is not known
	// Start and End are those of the longest run of the main kernel, since Source.StartNS. Span is the index of this run
	// in the trace of the rank, which only the viewer knows; -1: not known.
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
	Span  int32 `json:"span"`
}

// NewLightPicture returns the pictures of r, which Plain must have returned, with at most the given number of modules. It
// returns nil if the model's configuration was not given.
func NewLightPicture(r *result.Report, most int) *LightPicture {
	l := &r.Light
	if l.Model == "" {
		return nil
	}
	p := &LightPicture{
		Says: columns.Clean(capital(cmp.Or(lightOf(r), "there are no steps"))) + ".", Kinds: []LightKind{},
		Parts: []string{"floor", "start", "slow", "other", "transfer", "wait", unrecorded, "copy", "idle"},
	}
	some := false // steps could be told
	for _, kind := range kindsOf(l) {
		k := LightKind{Kind: columns.Clean(kind), Rank: columns.Clean(leastWait(l, kind).Rank), Bars: []LightBar{}, Ranks: []LightSet{}}
		told := false
		for i := range l.Steps {
			s := &l.Steps[i]
			if s.Kind != kind {
				continue
			}
			told = told || s.Told > 0
			k.Why = cmp.Or(k.Why, columns.Clean(Words(s.Why)))
			k.Bars = append(k.Bars, LightBar{columns.Clean(s.Rank), s.Steps, s.Told, s.Total,
				[]int64{s.Floor, s.Padding + s.Start, s.Slow, s.Unpriced, s.Transfer, s.Wait, s.Unknown, s.Copy, s.Idle}})
			set := lightSet(r, s)
			if n := len(set.Modules); n > most {
				p.Left++
			} else if n > 0 {
				most -= n
				k.Ranks = append(k.Ranks, set)
			}
		}
		if !told {
			k.Bars = []LightBar{}
		}
		some = some || told
		p.Kinds = append(p.Kinds, k)
	}
	if p.None = !some || Words(l.Why) != ""; p.None {
		p.Kinds = []LightKind{}
	}
	return p
}

// lightSet returns the modules of the steps of a rank.
func lightSet(r *result.Report, s *result.LightStep) LightSet {
	out := LightSet{Rank: columns.Clean(s.Rank), Index: slices.Index(r.Source.Ranks, s.Rank), Steps: int64(max(s.Told, 1)), Modules: []LightItem{}}
	var of []result.LightModule
	for _, m := range r.Light.Modules {
		if m.Rank == s.Rank && m.Kind == s.Kind {
			of = append(of, m)
		}
	}
	sorts.Stable(of, func(x, y result.LightModule) int {
		return cmp.Or(cmp.Compare(beyondFloor(&y), beyondFloor(&x)), cmp.Compare(y.Time, x.Time))
	})
	for i := range of {
		m := &of[i]
		out.Modules = append(out.Modules, LightItem{
			Module: columns.Clean(m.Module), Kernel: columns.Clean(kernel.Short(m.Kernel)), Full: columns.Clean(m.Kernel), Time: m.Time, Floor: m.Floor, Attain: m.Attain,
			Least: floorText(m, out.Steps), Of: m.OfAttainable, Why: columns.Clean(Words(m.Why)), Start: m.At.Start, End: m.At.End, Span: -1,
		})
	}
	return out
}
