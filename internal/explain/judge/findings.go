package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// capture is the input of the rules.
type capture struct {
	*match.Aligned
	blames  []*Domain
	layers  *tables.LayerWork
	hostOps map[string][]int64
	rep     *result.Report
	found   []result.Finding // findings of earlier rules
}

// rule produces findings. Titles and evidence of findings are facts, which hold only figures and names. The wording is
// in package report.
type rule struct {
	kinds []string // kinds of its findings
	find  func(c *capture) []result.Finding
}

// rules holds all rules. Later rules see the findings of earlier rules.
var rules = slices.Concat(lateRules, unevenRules, commonRules, coldRules, slowRules, stageRules, layerRules, dataRules, balancedRules)

// Kinds holds the kinds of the findings of all rules.
var Kinds = func() (all []string) {
	for _, r := range rules {
		all = append(all, r.kinds...)
	}
	return append(all, result.Limits)
}()

var severities = []string{"high", "medium", "low", "info"}

// Findings returns the findings of a capture, in no particular order. It also uses the tables in rep.
func Findings(a *match.Aligned, blames []*Domain, layers *tables.LayerWork, hostOps map[string][]int64, rep *result.Report) []result.Finding {
	c := &capture{Aligned: a, blames: blames, layers: layers, hostOps: hostOps, rep: rep}
	for _, r := range rules {
		c.found = append(c.found, r.find(c)...)
	}
	for i := range c.found {
		f := &c.found[i]
		f.Severity = cmp.Or(f.Severity, result.KindOf(f.Kind).Severity)
	}
	c.profilers()
	for i := range c.found {
		f := &c.found[i]
		f.ID = strings.ReplaceAll(strings.ToLower(f.ID), " ", "-")
		if !f.At.Known() {
			f.At = c.place(f)
		}
		f.Names = []string{}
		for _, r := range f.Ranks {
			f.Names = append(f.Names, a.Ranks[r].Label)
		}
		result.NoNil(f)
	}
	return c.found
}

// place returns the time of a finding's steps, on the finding's first rank that has them.
func (c *capture) place(f *result.Finding) result.Place {
	var r *match.Rank
	for _, q := range c.Ranks {
		has := f.FirstStep >= max(q.First, 0) && f.FirstStep < q.First+len(q.Steps)
		if has && (len(f.Ranks) == 0 || slices.Contains(f.Ranks, q.Index)) && (r == nil || len(f.Ranks) > 0 && q.Index == f.Ranks[0]) {
			r = q
		}
	}
	if r == nil {
		return result.Place{Rank: -1}
	}
	first, last := f.FirstStep-r.First, min(max(f.FirstStep, f.LastStep)-r.First, len(r.Steps)-1)
	x := prep.Interval{Start: r.Steps[first].Start, End: r.Steps[last].Start + r.Period(last)}
	return c.interval(r, x, r.Steps[first].Track, r.Steps[first].Name)
}

// interval returns the place of a span on a rank.
func (c *capture) interval(r *match.Rank, x prep.Interval, track trace.TrackID, span string) result.Place {
	p := result.Place{Start: r.Wall(x.Start) - c.Origin, End: r.Wall(x.End) - c.Origin, Rank: r.Index, Span: span}
	if int(track) < len(r.Threads) {
		p.Track = r.Threads[track]
	}
	return p
}

// id joins the parts of a finding's ID.
func id(parts ...any) string { return strings.Join(strings.Fields(fmt.Sprintln(parts...)), "-") }

// whole returns a finding about the capture as a whole rather than about some of its steps.
func whole(kind, severity, id string, title fact.Fact, evidence ...result.Evidence) result.Finding {
	return result.Finding{Kind: kind, Severity: severity, ID: id, FirstStep: -1, LastStep: -1, Title: title, Evidence: evidence, At: result.Place{Rank: -1}}
}

// proof returns evidence with a value, the unit of the value, and the number with which the value is compared.
func proof(unit string, value, against float64, text fact.Fact) result.Evidence {
	return result.Evidence{Text: text, Value: value, Peers: against, Unit: unit, Step: -1}
}

// timeOf returns the row for steps of a kind, summed over all ranks.
func timeOf(rep *result.Report, kind string) *result.TimeRow {
	for i := range rep.Times {
		if t := &rep.Times[i]; t.Rank == "all" && t.Kind == kind {
			return t
		}
	}
	return nil
}

// partial reports whether ranks that take part in collectives are missing from the capture.
func (c *capture) partial() bool {
	return slices.ContainsFunc(c.Domains, func(d *match.Domain) bool { return lacksRanks(c.Aligned, d, c.rep) })
}

// lostRank reports whether the recording lost so much GPU work of a rank that the rank cannot be compared.
func (c *capture) lostRank() bool {
	return !c.HostOnly && slices.ContainsFunc(c.Ranks, func(r *match.Rank) bool { return r.AsGoodAsMissing() && len(r.Ops)+r.Lost > 0 })
}

// lacksRanks reports whether ranks of a domain's groups are missing from the capture.
func lacksRanks(a *match.Aligned, d *match.Domain, rep *result.Report) bool {
	if len(rep.Source.Missing) > 0 {
		return true
	}
	for _, r := range d.Ranks {
		if len(r.Cut) > 0 || r.AsGoodAsMissing() && !a.HostOnly {
			return true
		}
	}
	if len(d.Ranks) == 1 && slices.ContainsFunc(d.Ranks[0].Ops, func(o prep.Op) bool { return o.Comm() }) {
		return true // the peer of the send or receive is missing
	}
	size := 0
	for _, r := range d.Ranks {
		for i := range r.Colls {
			size = max(size, r.Colls[i].Size)
		}
	}
	if size > 0 {
		return size > len(d.Ranks)
	}
	return d.Ranks[0].Source.World.Size > len(a.Ranks)
}
