package judge

import (
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// What costs all ranks alike: hosts that cannot keep the devices busy, and
// communication that nothing hides.
var commonRules = []rule{
	{[]string{result.HostBound, result.CommBound}, commonCosts},
	{[]string{result.LaunchBound}, launchBound},
}

// Shares of device time above which a common cost is worth a finding.
const (
	hostShare     = 0.25
	hostShareHigh = 0.5
	commShare     = 0.15
)

func commonCosts(c *capture) (out []result.Finding) {
	for _, kind := range c.Kinds {
		t := timeOf(c.rep, kind)
		if t == nil || t.Total == 0 || t.Steps == 0 {
			continue
		}
		if s := metric.Share(t.IdleBy.Late(), t.Total-t.IdleBy.Between); s > hostShare && !c.starved() {
			out = append(out, hostBound(c, kind, t, s))
		}
		if move := t.ExposedComm - t.ExposedWait - unpaired(c, kind); metric.Share(move, t.Total) > commShare {
			out = append(out, commBound(c, kind, t, move))
		}
	}
	return out
}

func hostBound(c *capture, kind string, t *result.TimeRow, share float64) result.Finding {
	late, steps := t.IdleBy.Late(), int64(t.Steps)
	f := whole(result.HostBound, "medium", id(result.HostBound, kind),
		fact.Of("host_bound", "kind", kind, "idle", share, "busy", metric.Share(t.Busy(), t.Total-t.IdleBy.Between)),
		proof("ns", float64(late)/float64(steps), 0, fact.Of("idle_by", "host", t.IdleBy.Host/steps, "sync", t.IdleBy.Sync/steps, "launch", t.IdleBy.Launch/steps)))
	f.Cause, f.CostNSPerStep = result.CauseHost, late/steps
	if share > hostShareHigh {
		f.Severity = "high"
	}
	if l := &c.rep.CPU.Launch; l.Calls > 0 {
		calls := 0
		for i := range c.rep.Steps {
			if s := &c.rep.Steps[i]; s.Kind == kind {
				for j := range s.Ranks {
					calls += s.Ranks[j].Launches
				}
			}
		}
		each := float64(calls) / float64(steps)
		f.Evidence = append(f.Evidence, proof("count", each, 0, fact.Of("launch_calls", "n", each, "graphs", l.GraphCalls, "calls", l.Calls)))
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

func commBound(c *capture, kind string, t *result.TimeRow, move int64) result.Finding {
	counted := fact.Of("without_waiting")
	if c.partial() {
		counted = fact.Of("with_missing")
	}
	steps := int64(t.Steps)
	f := whole(result.CommBound, "medium", id(result.CommBound, kind),
		fact.Of("comm_bound", "kind", kind, "share", metric.Share(move, t.Total), "counted", counted),
		proof("ns", float64(move)/float64(steps), 0, fact.Of("exposed", "exposed", t.ExposedComm/steps, "wait", t.ExposedWait/steps, "hidden", t.HiddenComm/steps)))
	f.Cause, f.CostNSPerStep = result.CauseCommunication, move/steps
	return f
}

func launchBound(c *capture) []result.Finding {
	l, all := &c.rep.CPU.Launch, timeOf(c.rep, "all")
	if c.replays() {
		return nil
	}
	if l.Calls == 0 || metric.Share(l.Shorter, l.Calls) <= 0.5 || all == nil || metric.Share(all.IdleBy.Late(), all.Total-all.IdleBy.Between) <= hostShare {
		return nil
	}
	f := whole(result.LaunchBound, "low", result.LaunchBound, fact.Of("launch_bound", "share", metric.Share(l.Shorter, l.Calls)),
		proof("count", float64(l.Shorter), float64(l.Calls), fact.Of("launches", "calls", l.Calls, "median", l.Median, "shorter", l.ShorterTime)))
	// By the median: one call that blocked is nothing that graphs would save.
	f.Cause, f.CostNSPerStep = result.CauseHost, min(l.ShorterTime, int64(l.Shorter)*l.Median)/int64(max(1, all.Steps))
	return []result.Finding{f}
}

// replays tells whether most decode steps replay graphs already.
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

// unpaired is the time of collectives that could not be compared over ranks, and of
// sends and receives: how much of it was waiting is unknown.
func unpaired(c *capture, kind string) (sum int64) {
	for _, d := range c.Domains {
		for _, r := range d.Ranks {
			for i := range r.Ops {
				o := &r.Ops[i]
				if !o.Comm() || o.Step < 0 || r.Steps[o.Step].Info.Kind.String() != kind {
					continue
				}
				if !kernel.Synchronising(r.Colls[o.Coll].Op) || len(d.Ranks) > 1 && (r.Match[i] < 0 || !d.Matches[r.Match[i]].Possible()) {
					sum += o.End - o.Start
				}
			}
		}
	}
	return sum
}
