package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// Shares of device time above which a common cost is worth a finding.
const (
	hostShare     = 0.25
	hostShareHigh = 0.5
	commShare     = 0.15
	lostShare     = 0.05 // of GPU work without a launch
)

var severities = []string{"high", "medium", "low", "info"}

// Findings says what is to be said of a capture, the important ones first. It goes by
// the tables in rep.
func Findings(a *match.Aligned, blames []*Domain, layers *tables.LayerWork, hostOps map[string][]int64, rep *result.Report) (all []result.Finding) {
	for _, d := range blames {
		of := stragglers(a, d)
		all = append(all, of...)
		all = append(all, unexplained(slowTransfers(a, d, rep), of)...)
	}
	late := slices.ContainsFunc(all, func(f result.Finding) bool { return f.Kind == result.Straggler || f.Kind == result.CommBound })
	all = append(all, common(a, blames, rep)...)
	all = append(all, slowSteps(a, blames, rep, all)...)
	all = append(all, slower(a, rep, hostOps, all)...)
	all = append(all, slowLayers(a, layers)...)
	all = append(all, data(a, rep)...)
	blamed := slices.ContainsFunc(all, func(f result.Finding) bool { return f.Kind == result.SlowStep && len(f.Ranks) > 0 })
	if !late && !blamed {
		all = append(all, balanced(a, blames, rep)...)
	}
	for i := range all {
		f := &all[i]
		f.ID = cmp.Or(f.ID, fmt.Sprintf("%s-%d", f.Kind, f.FirstStep))
		f.ID = strings.ReplaceAll(strings.ToLower(f.ID), " ", "-")
		f.Names = []string{}
		for _, r := range f.Ranks {
			f.Names = append(f.Names, a.Ranks[r].Label)
		}
		result.NoNil(f)
	}
	slices.SortStableFunc(all, func(x, y result.Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severities, x.Severity), slices.Index(severities, y.Severity)),
			result.First(x.Kind == result.Straggler, y.Kind == result.Straggler),
			result.First(!x.Passing, !y.Passing),
			cmp.Compare(y.CostNSPerStep, x.CostNSPerStep),
			cmp.Compare(x.ID, y.ID))
	})
	return all
}

// timeOf is the row of all ranks for a kind.
func timeOf(rep *result.Report, kind string) *result.TimeRow {
	for i := range rep.Times {
		if t := &rep.Times[i]; t.Rank == "all" && t.Kind == kind {
			return t
		}
	}
	return nil
}

// common finds what costs all ranks alike: hosts that cannot keep the devices
// busy, and communication that nothing hides.
func common(a *match.Aligned, blames []*Domain, rep *result.Report) []result.Finding {
	var out []result.Finding
	for _, kind := range a.Kinds {
		t := timeOf(rep, kind)
		if t == nil || t.Total == 0 || t.Steps == 0 {
			continue
		}
		late := t.IdleBy.Late()
		working := t.Total - t.IdleBy.Between
		if s := metric.Share(late, working); s > hostShare {
			f := result.Finding{
				Kind: result.HostBound, Severity: "medium", FirstStep: -1, LastStep: -1, Cause: result.CauseHost,
				CostNSPerStep: late / int64(t.Steps), ID: "host_bound-" + kind,
				Title: fmt.Sprintf("%s steps are host-bound: the devices idle %s of the time waiting for launches, and are busy %s",
					kind, metric.Percent(s), metric.Percent(metric.Share(t.Busy(), working))),
			}
			if s > hostShareHigh {
				f.Severity = "high"
			}
			f.Evidence = append(f.Evidence, result.Evidence{
				Text: fmt.Sprintf("idle a step and rank: %s host, %s sync, %s launch calls",
					metric.Duration(t.IdleBy.Host/int64(t.Steps)), metric.Duration(t.IdleBy.Sync/int64(t.Steps)), metric.Duration(t.IdleBy.Launch/int64(t.Steps))),
				Value: float64(late) / float64(t.Steps), Unit: "ns", Step: -1,
			})
			l, calls := &rep.CPU.Launch, 0
			if l.Calls > 0 {
				for i := range rep.Steps {
					if s := &rep.Steps[i]; s.Kind == kind {
						for j := range s.Ranks {
							calls += s.Ranks[j].Launches
						}
					}
				}
				f.Evidence = append(f.Evidence, result.Evidence{
					Text: fmt.Sprintf("%.0f launch calls a step and rank, %d of %d in graphs over the whole capture",
						float64(calls)/float64(t.Steps), l.GraphCalls, l.Calls),
					Value: float64(calls) / float64(t.Steps), Unit: "count", Step: -1,
				})
			}
			shown := 0
			for _, g := range rep.Gaps {
				if g.Host != "" && g.Step >= 0 && rep.Steps[g.Step].Kind == kind && shown < 2 {
					shown++
					f.Evidence = append(f.Evidence, result.Evidence{
						Text: fmt.Sprintf("%s, step %d: %s idle before %s; the launching thread: %s",
							a.Ranks[g.Rank].Label, g.Step, metric.Duration(g.Dur), kernel.Short(g.After), g.Host),
						Value: float64(g.Dur), Unit: "ns", Name: g.Host, Step: g.Step,
					})
				}
			}
			out = append(out, f)
		}
		move := t.ExposedComm - t.ExposedWait - unpaired(a, kind)
		if s := metric.Share(move, t.Total); s > commShare {
			counted := "waiting not counted"
			if slices.ContainsFunc(blames, func(d *Domain) bool { return partial(a, d, rep) }) {
				counted = "or in waiting for ranks that are missing"
			}
			out = append(out, result.Finding{
				Kind: result.CommBound, Severity: "medium", FirstStep: -1, LastStep: -1, Cause: result.CauseCommunication,
				CostNSPerStep: move / int64(t.Steps), ID: "comm_bound-" + kind,
				Title: fmt.Sprintf("%s steps spend %s in transfers that no compute hides, %s", kind, metric.Percent(s), counted),
				Evidence: []result.Evidence{{
					Text: fmt.Sprintf("a step and rank: %s of communication exposed, %s of it waiting; %s hidden under compute",
						metric.Duration(t.ExposedComm/int64(t.Steps)), metric.Duration(t.ExposedWait/int64(t.Steps)), metric.Duration(t.HiddenComm/int64(t.Steps))),
					Value: float64(move) / float64(t.Steps), Unit: "ns", Step: -1,
				}},
			})
		}
	}
	l := &rep.CPU.Launch
	if l.Calls > 0 && metric.Share(l.Shorter, l.Calls) > 0.5 && hostIsLate(rep) {
		out = append(out, result.Finding{
			Kind: result.LaunchBound, Severity: "low", FirstStep: -1, LastStep: -1, Cause: result.CauseHost, ID: result.LaunchBound,
			CostNSPerStep: l.ShorterTime / int64(max(1, timeOf(rep, "all").Steps)),
			Title: fmt.Sprintf("%s of the launched kernels are shorter than the call that launches them; CUDA graphs would save most of those calls",
				metric.Percent(metric.Share(l.Shorter, l.Calls))),
			Evidence: []result.Evidence{{
				Text:  fmt.Sprintf("%s launches, median call %s; those of shorter kernels took %s in all", metric.Count(l.Calls), metric.Duration(l.Median), metric.Duration(l.ShorterTime)),
				Value: float64(l.Shorter), Peers: float64(l.Calls), Unit: "count", Step: -1,
			}},
		})
	}
	return out
}

// unpaired is the time of collectives that could not be compared over ranks:
// how much of it was waiting is unknown.
func unpaired(a *match.Aligned, kind string) (sum int64) {
	for _, d := range a.Domains {
		if len(d.Ranks) < 2 {
			continue
		}
		for _, r := range d.Ranks {
			for i := range r.Ops {
				o := &r.Ops[i]
				if !o.Comm() || o.Step < 0 || r.Steps[o.Step].Info.Kind.String() != kind {
					continue
				}
				if kernel.Synchronising(r.Colls[o.Coll].Op) && (r.Match[i] < 0 || !d.Matches[r.Match[i]].Possible()) {
					sum += o.End - o.Start
				}
			}
		}
	}
	return sum
}

// hostIsLate tells whether hosts keep devices waiting over the whole capture.
func hostIsLate(rep *result.Report) bool {
	t := timeOf(rep, "all")
	return t != nil && metric.Share(t.IdleBy.Late(), t.Total-t.IdleBy.Between) > hostShare
}

// culprit is the rank that cost the others most in a step, and why.
func culprit(blames []*Domain, step int) (who *match.Rank, cause int, cost int64) {
	for _, d := range blames {
		for i, steps := range d.late {
			l := &steps[step]
			split := l.split()
			most := slices.Max(split[:])
			if l.cost > cost && most > 0 {
				who, cause, cost = d.Ranks[i], slices.Index(split[:], most), l.cost
			}
		}
	}
	return who, cause, cost
}

// slowSteps reports steps that no straggler explains.
func slowSteps(a *match.Aligned, blames []*Domain, rep *result.Report, known []result.Finding) []result.Finding {
	var out []result.Finding
	for i := range rep.Steps {
		s := &rep.Steps[i]
		if !s.Slow {
			continue
		}
		took := took(a, s)
		excess := took - took/(1+s.SlowBy)
		if slices.ContainsFunc(known, func(f result.Finding) bool {
			return f.Kind == result.Straggler && f.FirstStep <= s.Step && s.Step <= f.LastStep && 2*float64(f.CostNSPerStep) > excess
		}) {
			continue
		}
		f := result.Finding{
			Kind: result.SlowStep, Severity: "low", FirstStep: s.Step, LastStep: s.Step, Passing: true,
			CostNSPerStep: int64(excess), ID: fmt.Sprintf("slow_step-%d", s.Step),
			Title: fmt.Sprintf("step %d (%s) took %s, %s its like: %s",
				s.Step, s.Name, metric.Duration(took), timesLike(s.SlowBy), cmp.Or(s.Why, "no part of it stands out")),
		}
		if r, cause, cost := culprit(blames, s.Step); r != nil && 2*float64(cost) > excess {
			f.Ranks, f.Cause = []int{r.Index}, causeNames[cause]
			f.Title += fmt.Sprintf("; %s made the others wait %s (cause: %s)", r.Label, metric.Duration(cost), f.Cause)
		}
		out = append(out, f)
	}
	// A capture in which many steps are slow has no typical step; the few
	// worst say as much.
	slices.SortStableFunc(out, func(x, y result.Finding) int { return cmp.Compare(y.CostNSPerStep, x.CostNSPerStep) })
	return out[:min(len(out), 5)]
}

// timesLike says how much longer something took, before "its like".
func timesLike(by float64) string {
	if by < 9 {
		return metric.Percent(by) + " more than"
	}
	return metric.Count(int64(1+by)) + " times as long as"
}

// data says what the capture lacks.
func data(a *match.Aligned, rep *result.Report) []result.Finding {
	var out []result.Finding
	add := func(severity, id, title string) {
		out = append(out, result.Finding{Kind: result.Data, Severity: severity, FirstStep: -1, LastStep: -1, ID: id, Title: title})
	}
	s := &rep.Source
	if a.HostOnly {
		add("medium", "data-host", "no GPU work was recorded: only the host side can be told, and steps by their time there")
	}
	for i := range rep.Layers.Totals {
		switch t := &rep.Layers.Totals[i]; {
		case t.InRange == 0 && t.Graphs == 0 && t.Kind != prep.KindName(prep.OutsideSteps) && t.Kind != trace.IdleStep.String():
			add("low", "data-layers-"+t.Kind, fmt.Sprintf("%s steps have no layer-wise ranges, as replayed graphs have none: to see their layers, run the server with --disable-cuda-graph", t.Kind))
		case metric.Share(t.Graphs, t.GPU) > lostShare:
			add("low", "data-layers-"+t.Kind, fmt.Sprintf("%s of the GPU time of %s steps is in replayed graphs, which emit no layer-wise ranges: to see their layers, run the server with --disable-cuda-graph",
				metric.Percent(metric.Share(t.Graphs, t.GPU)), t.Kind))
		}
	}
	if t := timeOf(rep, "all"); t != nil && metric.Share(t.IdleBy.Between, t.Total) > hostShare {
		text := "no step was under way, and nothing tells whether there were requests"
		if 2*t.IdleBy.None > t.IdleBy.Between {
			text = "no request was under way: the devices waited for requests, unless some were in a queue, which the traces do not show"
		}
		add("info", "data-between", fmt.Sprintf("for %s of the time %s", metric.Percent(metric.Share(t.IdleBy.Between, t.Total)), text))
	}
	if len(s.Missing) > 0 {
		add("medium", "data-missing", fmt.Sprintf("%d ranks are missing (%s): what they did and who waited for them is unknown", len(s.Missing), strings.Join(s.Missing, ", ")))
	}
	for _, r := range a.Ranks {
		if !r.Source.Complete {
			text := fmt.Sprintf("the file of %s ends early: it has GPU work of %d whole steps; from step %d on no rank is compared with others", r.Label, len(r.Steps), r.First+len(r.Steps))
			if len(r.Steps) < match.HardlyAny {
				text = fmt.Sprintf("the file of %s ends early: it has hardly any GPU work, so the rank is taken as missing", r.Label)
			}
			add("medium", "data-cut-"+r.Label, text)
		}
		if n := r.Devices; n > 1 {
			add("low", "data-devices-"+r.Label, fmt.Sprintf("the file of %s has work of %d devices: they are looked at as one", r.Label, n))
		}
		if len(r.Ops) == 0 && !a.HostOnly {
			add("medium", "data-empty-"+r.Label, fmt.Sprintf("%s has no GPU work in its file", r.Label))
		}
	}
	if len(a.Ranks) > 1 && a.Steps <= leastSteps {
		add("low", "data-steps", fmt.Sprintf("%d of %d steps that it takes to call a rank late: the capture is short, or its steps have no names (steps by: %s)", a.Steps, leastSteps+1, s.StepRule))
	}
	l := &rep.CPU.Launch
	total := 0
	for _, r := range a.Ranks {
		total += len(r.Ops)
	}
	if metric.Share(l.Unlaunched, total) > lostShare {
		add("low", "data-launches", fmt.Sprintf("%s of the GPU work has no recorded launch: its idle time cannot be explained", metric.Percent(metric.Share(l.Unlaunched, total))))
	}
	if l.EmptyGraphs > 0 {
		add("medium", "data-graphs", fmt.Sprintf("%d graph launches have no GPU work in the trace: the recording lost it, so busy time is too low and idle time too high", l.EmptyGraphs))
	}
	for i := range rep.Classes {
		if c := &rep.Classes[i]; c.Kind == "all" && c.Class == string(kernel.GroupOther) && c.Share > 0.1 {
			add("low", "data-classes", fmt.Sprintf("%s of the GPU time is in kernels of no known class", metric.Percent(c.Share)))
		}
	}
	return out
}

// balanced says that no rank is late, and by which measure.
func balanced(a *match.Aligned, blames []*Domain, rep *result.Report) []result.Finding {
	compared, collectives := 0, 0
	in := map[int]bool{} // steps in which ranks were compared
	for _, d := range a.Domains {
		n := 0
		for i := range d.Matches {
			if m := &d.Matches[i]; !m.First && m.Possible() {
				n++
				in[m.Step] = true
			}
		}
		if n > 0 {
			compared += len(d.Ranks)
			collectives += n
		}
	}
	if compared < 2 || a.Steps <= leastSteps {
		return nil
	}
	if 2*len(in) < a.Steps {
		return []result.Finding{{
			Kind: result.Data, Severity: "low", FirstStep: -1, LastStep: -1, ID: "data-compared",
			Title: fmt.Sprintf("whether a rank is late cannot be told: only %d of %d steps have collectives that could be compared over ranks", len(in), a.Steps),
		}}
	}
	var worst *result.RankRow
	for i := range rep.Ranks {
		if r := &rep.Ranks[i]; worst == nil || r.Caused > worst.Caused {
			worst = r
		}
	}
	limit := lateLimit(a, a.Steps-1)
	which := "no rank"
	if slices.ContainsFunc(blames, func(d *Domain) bool { return partial(a, d, rep) }) {
		which = "no recorded rank"
	}
	return []result.Finding{{
		Kind: result.Balanced, Severity: "info", FirstStep: -1, LastStep: -1, ID: result.Balanced,
		Title: fmt.Sprintf("balanced: %s keeps the others waiting for more than %s of a step (and %s) in %d steps or more",
			which, metric.Percent(lateShare), metric.Duration(lateFloor), leastSteps),
		Evidence: []result.Evidence{{
			Text: fmt.Sprintf("%s collectives compared over %d ranks; the latest rank, %s, costs the others %s a step (median)",
				metric.Count(collectives), compared, worst.Name, metric.Duration(worst.Caused)),
			Value: float64(worst.Caused), Peers: float64(limit), Unit: "ns", Step: -1,
		}},
	}}
}
