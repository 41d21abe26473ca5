package judge

import (
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// commonRules find costs common to all ranks: hosts that cannot keep the devices busy, and communication without
// overlapping compute.
var commonRules = []rule{
	{[]string{result.HostBound, result.CommBound}, commonCosts},
	{[]string{result.LaunchBound}, launchBound},
}

// Shares of device time above which a common cost becomes a finding.
const (
	hostShare     = 0.25
	hostShareHigh = 0.5
	opShare       = 0.25 // share of all CPU ops above which the largest CPU op is named
	commShare     = 0.15
)

func commonCosts(c *capture) (out []result.Finding) {
	for _, kind := range c.Kinds {
		steps := c.stepTimes(kind)
		if len(steps) == 0 {
			continue
		}
		if s := lateShareOf(steps); s > hostShare && !c.starved() {
			out = append(out, hostBound(c, kind, steps, s))
		}
		if s := usual(steps, func(t *stepTime) float64 { return metric.Share(t.moved(), t.Total) }); s > commShare {
			out = append(out, commBound(c, kind, steps, s))
		}
	}
	return out
}

// lateShareOf returns the share of a usual step in which devices are idle because hosts are late.
func lateShareOf(steps []stepTime) float64 {
	return usual(steps, func(t *stepTime) float64 { return metric.Share(t.IdleBy.Late(), t.due()) })
}

func hostBound(c *capture, kind string, steps []stepTime, share float64) result.Finding {
	part := func(of func(i *result.Idle) int64) int64 {
		return int64(usual(steps, func(t *stepTime) float64 { return t.mean(of(&t.IdleBy)) }))
	}
	late := part((*result.Idle).Late)
	busy := usual(steps, func(t *stepTime) float64 { return metric.Share(t.Busy(), t.due()) })
	f := whole(result.HostBound, "", id(result.HostBound, kind),
		fact.Of("host_bound", "kind", c.rep.Said(kind), "idle", share, "busy", busy),
		proof("ns", float64(late), 0, fact.Of("idle_by", "host", part(func(i *result.Idle) int64 { return i.Host }),
			"sync", part(func(i *result.Idle) int64 { return i.Sync }), "launch", part(func(i *result.Idle) int64 { return i.Launch }))))
	f.Cause, f.CostNSPerStep, f.Steps = result.CauseHost, late, c.stepsOf(kind)
	// In a window without steps, devices may be idle because the server starts up or has no requests.
	if share > hostShareHigh && !c.rep.Uncut() {
		f.Severity = "high"
	}
	if l := &c.rep.CPU.Launch; l.Calls > 0 {
		each := usual(steps, func(t *stepTime) float64 { return t.mean(int64(t.launches)) })
		f.Evidence = append(f.Evidence, proof("count", each, 0, fact.Of("launch_calls", "n", each, "graphs", l.GraphCalls, "calls", l.Calls)))
	}
	if ops := c.rep.CPU.Ops; len(ops) > 0 && ops[0].Share > opShare {
		says := fact.Of("host_op", "op", ops[0].Name, "share", ops[0].Share)
		if _, step := trace.ParseStep(ops[0].Name); step {
			says = fact.Of("host_no_op", "op", ops[0].Name, "share", ops[0].Share)
		}
		e := proof("ratio", ops[0].Share, 0, says)
		e.Name = fact.Name(ops[0].Name)
		f.Evidence = append(f.Evidence, e)
	}
	shown := 0
	for _, g := range c.rep.Gaps {
		if g.Host.String() != "" && g.Step >= 0 && c.rep.Steps[g.Step].Kind == kind && shown < 2 {
			shown++
			e := proof("ns", float64(g.Dur), 0, fact.Of("idle_before", "rank", c.Ranks[g.Rank].Label, "step", g.Step, "ns", g.Dur, "kernel", g.After, "did", g.Host))
			e.Name, e.Step = g.Host, g.Step
			f.Evidence = append(f.Evidence, e)
		}
	}
	return f
}

// moved returns the time of transfers without overlapping compute.
func (t *stepTime) moved() int64 { return t.Transfer() - t.unpaired }

func commBound(c *capture, kind string, steps []stepTime, share float64) result.Finding {
	counted := fact.Of("without_waiting")
	if c.partial() {
		counted = fact.Of("with_missing")
	}
	part := func(of func(t *stepTime) int64) int64 {
		return int64(usual(steps, func(t *stepTime) float64 { return t.mean(of(t)) }))
	}
	move := part((*stepTime).moved)
	f := whole(result.CommBound, "", id(result.CommBound, kind),
		fact.Of("comm_bound", "kind", c.rep.Said(kind), "share", share, "counted", counted),
		proof("ns", float64(move), 0, fact.Of("exposed", "exposed", part(func(t *stepTime) int64 { return t.ExposedComm }),
			"wait", part(func(t *stepTime) int64 { return t.ExposedWait }), "hidden", part(func(t *stepTime) int64 { return t.HiddenComm }))))
	f.Cause, f.CostNSPerStep, f.Steps = result.CauseCommunication, move, c.stepsOf(kind)
	return f
}

// stepsOf returns the steps of one kind.
func (c *capture) stepsOf(kind string) (steps []int) {
	for i, k := range c.KindOf {
		if k.String() == kind {
			steps = append(steps, i)
		}
	}
	return steps
}

func launchBound(c *capture) []result.Finding {
	l, all := &c.rep.CPU.Launch, timeOf(c.rep, "all")
	if c.replays() {
		return nil
	}
	if l.Calls == 0 || metric.Share(l.Shorter, l.Calls) <= 0.5 || all == nil || lateShareOf(c.stepTimes("all")) <= hostShare {
		return nil
	}
	f := whole(result.LaunchBound, "", result.LaunchBound, fact.Of("launch_bound", "share", metric.Share(l.Shorter, l.Calls)),
		proof("count", float64(l.Shorter), float64(l.Calls), fact.Of("launches", "calls", l.Calls, "median", l.Median, "shorter", l.ShorterTime)))
	// The median excludes single calls that blocked, which graphs would not save.
	f.Cause, f.CostNSPerStep = result.CauseHost, min(l.ShorterTime, int64(l.Shorter)*l.Median)/int64(max(1, all.Steps))
	return []result.Finding{f}
}

// replays reports whether most decode steps already replay graphs.
func (c *capture) replays() bool {
	steps, with := 0, 0
	for _, r := range c.Ranks {
		for i := range r.Steps {
			if s := &r.Steps[i]; s.Info.Kind == trace.Decode && s.Launches > 0 {
				steps++
				if s.Graphs > 0 {
					with++
				}
			}
		}
	}
	return 2*with > steps
}

// rankStep is a rank's part of a step.
type rankStep struct{ rank, step int }

// unpairedIn returns, by rank and step, the time without compute in sends, receives, and collectives that could not be
// compared between ranks. It is unknown how much of this time was waiting.
func unpairedIn(c *capture) map[rankStep]int64 {
	sums := map[rankStep]int64{}
	for _, d := range c.Domains {
		lacks := make([]bool, c.Steps)
		for n := range lacks {
			lacks[n] = d.Lacking(n) > 0
		}
		compared := make([]bool, len(d.Matches))
		for i := range d.Matches {
			compared[i] = d.Matches[i].Possible() && !lacks[d.Matches[i].Step]
		}
		for _, r := range d.Ranks {
			var told, rest []prep.Interval // told: compute and comparable collectives; rest: all other communication
			var steps []int
			known := func(i int) bool {
				return kernel.Synchronising(r.Colls[r.Ops[i].Coll].Op) && (len(d.Ranks) == 1 || r.Match[i] >= 0 && compared[r.Match[i]])
			}
			for i := range r.Ops {
				if o := &r.Ops[i]; o.Comm() && o.Step >= 0 && !known(i) {
					rest, steps = append(rest, prep.Interval{Start: o.Start, End: o.End - r.Edge[int32(i)]}), append(steps, int(o.Step)+r.First)
				}
			}
			if rest == nil {
				continue
			}
			for i := range r.Ops {
				if o := &r.Ops[i]; o.Comm() && known(i) || !o.Comm() && o.Class != kernel.Copy {
					told = append(told, prep.Interval{Start: o.Start, End: o.End})
				}
			}
			told = prep.Union(told)
			reach := int64(0) // end of the ops so far, so that overlapping ops count once
			for k, x := range rest {
				if from := max(x.Start, reach); from < x.End {
					sums[rankStep{r.Index, steps[k]}] += x.End - from - prep.Overlap(told, from, x.End)
					reach = x.End
				}
			}
		}
	}
	return sums
}
