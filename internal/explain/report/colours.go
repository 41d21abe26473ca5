package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// OverviewColour explains a part of the bars that takes more than colourShare of the time of all ranks.
type OverviewColour struct {
	Kind    string `json:"kind"` // kind of steps; "all": every kind
	Part    string `json:"part"` // one of Overview.Parts
	Text    string `json:"text"`
	Finding int    `json:"finding"` // index of the finding about it; -1: there is none
}

// Shares from which a part is explained, and from which a step or a kind of steps is named as its place.
const (
	colourShare = 0.1
	placeShare  = 0.3
	kindShare   = 0.6
)

// colours explains the large parts of the time of all ranks, for each kind of steps, the largest part first.
func (o *Overview) colours(r *result.Report) []OverviewColour {
	out := []OverviewColour{}
	for _, row := range o.Times {
		if row.Rank >= 0 || row.Total <= 0 {
			continue
		}
		from := len(out)
		for i, ns := range row.Parts {
			if share := ratio(ns, row.Total); share >= colourShare {
				out = append(out, newColour(r, row.Kind, o.Parts[i], share))
			}
		}
		sorts.Stable(out[from:], func(a, b OverviewColour) int {
			return cmp.Compare(row.Parts[slices.Index(o.Parts, b.Part)], row.Parts[slices.Index(o.Parts, a.Part)])
		})
	}
	return out
}

func newColour(r *result.Report, kind, part string, share float64) OverviewColour {
	c := OverviewColour{Kind: kind, Part: part, Finding: -1}
	var more []string
	say := func(f fact.Fact) { more = append(more, columns.Clean(Words(f))) }
	switch part {
	case "compute":
		if class, of := mostWork(r, kind); class != "" {
			say(fact.Of("colour_class", "share", of, "class", class))
		}
	case "wait":
		var late float64
		c.Finding, late = lateness(r, kind)
		if c.Finding >= 0 {
			say(fact.Of("colour_late", "share", late, "ranks", r.Findings[c.Finding].Names))
		} else if last := mostLast(r); last != nil && kind == allRanks {
			say(fact.Of("colour_last", "rank", last.Name, "n", last.Last, "of", last.Collectives))
		}
	case "transfer":
		c.Finding = findingOf(r, result.CommBound, kind)
	case "host", "sync", "launch":
		c.Finding = findingOf(r, result.HostBound, kind)
	}
	byStep, byKind, total := map[int]int64{}, map[string]int64{}, int64(0)
	each(r, kind, part, func(s *result.Step, _ int, ns int64) {
		byStep[s.Step] += ns
		byKind[s.Kind] += ns
		total += ns
	})
	if step, ns := topOf(byStep); len(byStep) > 3 && ratio(ns, total) >= placeShare {
		if work := part == "compute" || part == "transfer" || part == "copy"; step == r.Steps[0].Step && !work {
			say(fact.Of("colour_first", "share", ratio(ns, total)))
		} else {
			say(fact.Of("colour_step", "share", ratio(ns, total), "step", step))
		}
	} else if name, ns := topOf(byKind); len(byKind) > 1 && ratio(ns, total) >= kindShare {
		say(fact.Of("colour_kind", "share", ratio(ns, total), "kind", name))
	}
	text := ""
	if len(more) > 0 {
		text = "; " + strings.Join(more, "; ")
	}
	c.Text = columns.Clean(Words(fact.Of("time_"+part, "share", share, "more", text)))
	return c
}

// each calls do with a part of the time of each rank in each step of a kind.
func each(r *result.Report, kind, part string, do func(s *result.Step, rank int, ns int64)) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if kind != allRanks && s.Kind != kind {
			continue
		}
		for k := range s.Ranks {
			do(s, s.Ranks[k].Rank, partOf(&s.Ranks[k].Time, part))
		}
	}
}

// partOf returns a part of a time by its name in Overview.Parts.
func partOf(t *result.Time, part string) int64 {
	p := split(t)
	for i, ns := range []int64{p.compute, p.transfer, p.wait, p.unrecorded, p.copy} {
		if timeSegments[i] == part {
			return ns
		}
	}
	for _, idle := range idleParts(&t.IdleBy) {
		if idle.name == part {
			return idle.ns
		}
	}
	return 0
}

// lateness returns the finding about late ranks in whose steps the other ranks wait most, and the share of the whole
// wait that they wait then. It returns -1 if that is less than placeShare.
func lateness(r *result.Report, kind string) (at int, share float64) {
	at = -1
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Kind != result.Straggler || f.FirstStep < 0 || len(f.Ranks) == 0 {
			continue
		}
		var all, then int64
		each(r, kind, "wait", func(s *result.Step, rank int, ns int64) {
			all += ns
			in := s.Step >= f.FirstStep && (f.LastStep < 0 || s.Step <= f.LastStep)
			if len(f.Steps) > 0 {
				in = slices.Contains(f.Steps, s.Step)
			}
			if in && !slices.Contains(f.Ranks, rank) {
				then += ns
			}
		})
		if of := ratio(then, all); of >= placeShare && of > share {
			at, share = i, of
		}
	}
	return at, share
}

// mostLast returns the rank that arrives last at most collectives, or nil if no collectives could be compared.
func mostLast(r *result.Report) (most *result.RankRow) {
	for i := range r.Ranks {
		if row := &r.Ranks[i]; row.Last > 0 && (most == nil || row.Last > most.Last) {
			most = row
		}
	}
	return most
}

// mostWork returns the class of kernels that computes longest, and its share in the compute time of its kind of steps.
func mostWork(r *result.Report, kind string) (class string, share float64) {
	var all, most int64
	for i := range r.Classes {
		c := &r.Classes[i]
		if c.Kind != kind || c.Class == "communication" || c.Class == "copy" {
			continue
		}
		if all += c.Total; c.Total > most {
			class, most = c.Class, c.Total
		}
	}
	return class, ratio(most, all)
}

// findingOf returns the index of the first finding of a kind about steps of a kind; -1: there is none.
func findingOf(r *result.Report, name, kind string) int {
	return slices.IndexFunc(r.Findings, func(f result.Finding) bool {
		return f.Kind == name && (kind == allRanks || strings.HasSuffix(f.ID, "-"+kind))
	})
}

// topOf returns the key with the largest value, of equal ones the least key.
func topOf[K cmp.Ordered](of map[K]int64) (key K, most int64) {
	for k, v := range of {
		if v > most || v == most && k < key {
			key, most = k, v
		}
	}
	return key, most
}
