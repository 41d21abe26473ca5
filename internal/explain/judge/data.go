package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// dataRules report gaps in the capture.
var dataRules = []rule{{[]string{result.Data}, dataFindings}}

// lostShare is the share of GPU work or time above which missing information is reported.
const lostShare = 0.05

// edgeShare is the share of a window's time in collectives with unrecorded ranks above which this is reported.
const edgeShare = 0.1

// leftOut is the maximum share of impossible collectives in a capture that may be called balanced.
const leftOut = 0.1

// idleReplica reports whether the rank belongs to a data-parallel replica without work. No rank of such a replica
// launched anything, whereas a rank with the same TP and PP coordinates in another replica did. This does not apply to
// DP attention: its ranks make every step together, and no two of them have the same coordinates.
func (c *capture) idleReplica(r *match.Rank) bool {
	of, busy := r.Source.Rank, false
	if of.DP < 0 {
		return false
	}
	for _, other := range c.Ranks {
		at := other.Source.Rank
		nothing := len(other.Ops)+len(other.Calls)+other.Lost+len(other.Steps) == 0
		if at.DP == of.DP && !nothing {
			return false
		}
		if at.DP != of.DP && at.TP == of.TP && at.PP == of.PP && len(other.Calls) > 0 {
			busy = true
		}
	}
	return busy
}

func dataFindings(c *capture) (out []result.Finding) {
	out = doubtful(c)
	add := func(severity, id string, title fact.Fact) { out = append(out, whole(result.Data, severity, id, title)) }
	if c.HostOnly {
		add("medium", "data-host", noGPU(c))
	}
	if steps := askedSteps(c); steps.Key != "" {
		add("info", "data-asked", steps)
	}
	for i := range c.rep.Layers.Totals {
		t := &c.rep.Layers.Totals[i]
		switch in := metric.Share(t.Graphs-t.Placed, t.GPU); {
		case t.InModule+t.InRange == 0 && t.Graphs == 0 && t.Kind != prep.KindName(prep.OutsideSteps) && t.Kind != trace.IdleStep.String():
			add("low", id("data-layers", t.Kind), fact.Of("data-layers.none", "kind", c.rep.Said(t.Kind)))
		case slices.ContainsFunc(c.rep.Layers.Graphs, func(g result.GraphLayers) bool { return g.Kind == t.Kind }):
		case in > lostShare:
			add("low", id("data-layers", t.Kind), fact.Of("data-layers.graphs", "share", in, "kind", c.rep.Said(t.Kind)))
		}
	}
	for _, g := range c.rep.Layers.Graphs {
		if !g.Known {
			add("low", id("data-layers", g.Kind), fact.Of("data-layers.refused", "kind", c.rep.Said(g.Kind), "covered", g.Covered, "unsure", g.Unsure, "why", g.Why))
		}
	}
	if t := timeOf(c.rep, "all"); t != nil {
		switch between := metric.Share(t.IdleBy.Between, t.Total); {
		case between <= hostShare:
		case 2*t.IdleBy.None > t.IdleBy.Between:
			add("info", "data-between", fact.Of("data-between.none", "share", between))
		default:
			add("info", "data-between", fact.Of("data-between.untold", "share", between))
		}
	}
	if t := timeOf(c.rep, "all"); t != nil {
		if share := metric.Share(t.Unrecorded, t.Total); share > edgeShare {
			add("info", "data-first", fact.Of("data-first", "ns", t.Unrecorded/int64(len(c.Ranks)), "share", share))
		}
	}
	if missing := c.rep.Source.Missing; len(missing) > 0 {
		add("medium", "data-missing", fact.Of("data-missing", "ranks", missing))
	}
	work := 0
	for _, r := range c.Ranks {
		work += len(r.Ops)
		if !r.Source.Complete {
			cut := fact.Of("data-cut", "rank", r.Label, "steps", len(r.Steps), "from", r.First+len(r.Steps))
			if len(r.Steps) < match.HardlyAny {
				cut = fact.Of("data-cut.hardly", "rank", r.Label)
			} else if n, first := r.CutStage(); first {
				cut = fact.Of("data-cut.stage", "rank", r.Label, "steps", n)
			}
			add("medium", id("data-cut", r.Label), cut)
		}
		if n := len(r.Devices); n > 1 {
			if slices.ContainsFunc(r.Notes, func(n trace.Note) bool { return n.Kind == trace.NoteDevices }) {
				add("medium", id("data-devices", r.Label), fact.Of("data-devices.together", "rank", r.Label, "n", n))
			} else {
				add("low", id("data-devices", r.Label), fact.Of("data-devices", "rank", r.Label, "n", n))
			}
		}
		if n := late(r); mistimed(r) {
			add("medium", id("data-times", r.Label), fact.Of("data-times", "rank", r.Label, "n", n))
		}
		if r.Captured > len(r.Calls) {
			add("info", id("data-captured", r.Label), fact.Of("data-captured", "rank", r.Label, "n", r.Captured, "of", r.Captured+r.Lost+len(r.Calls)))
		}
		lost := lostWork(r)
		switch {
		case c.HostOnly:
		case len(lost.Steps) > 0 || r.AsGoodAsMissing() && r.Lost > 0 || lost.Title.Key == "data-lost.few":
			// Ranks that lost work in the same steps, as at the end of a window, share a finding.
			same := func(f result.Finding) bool {
				return f.Title.Key == "data-lost.steps" && f.Title.Key == lost.Title.Key && slices.Equal(f.Steps, lost.Steps)
			}
			if i := slices.IndexFunc(out, same); i >= 0 {
				out[i].Ranks = append(out[i].Ranks, r.Index)
				out[i].Title = out[i].Title.With("ranks", append(slices.Clone(out[i].Title.Get("ranks").([]string)), r.Label))
				continue
			}
			out = append(out, lost)
		case len(r.Ops) > 0:
		case c.idleReplica(r):
			add("info", id("data-idle", r.Label), fact.Of("data-idle", "rank", r.Label))
		default:
			add("medium", id("data-empty", r.Label), fact.Of("data-empty", "rank", r.Label))
		}
	}
	for _, kind := range c.Kinds {
		if t := timeOf(c.rep, kind); t != nil {
			if share := metric.Share(sends(c, kind), t.Total); share > commShare {
				add("info", id("data-sends", kind), fact.Of("data-sends", "kind", c.rep.Said(kind), "share", share))
			}
		}
	}
	for _, d := range c.Domains {
		first, end := d.Common()
		begin, last := first, end // the steps that at least one rank has
		for _, r := range d.Ranks {
			if len(r.Steps) > 0 {
				begin, last = min(begin, r.First), max(last, r.First+len(r.Steps))
			}
		}
		for _, r := range d.Ranks {
			to := r.First + len(r.Steps)
			if len(r.Steps) > 0 && len(r.Cut) == 0 && r.Rule != trace.Uncut && (r.First > begin && r.First == first || to < last && to == end) {
				add("low", id("data-apart", r.Label), fact.Of("data-apart", "rank", r.Label, "first", r.First, "last", to-1, "begin", begin, "end", last-1))
			}
		}
		if n := d.Impossible(); float64(n) > leftOut*float64(len(d.Matches)) {
			add("medium", id("data-clocks", d.Ranks[0].Label), fact.Of("data-clocks", "n", n, "of", len(d.Matches)))
		}
	}
	if len(c.Ranks) > 1 && c.Steps <= leastSteps {
		add("low", "data-steps", fact.Of("data-steps", "steps", c.Steps, "least", leastSteps+1, "rule", c.rep.Source.StepRule))
	}
	for _, of := range []struct{ rule, severity, words string }{
		{trace.ByModules, "info", "modules"}, {trace.ByPattern, "info", "pattern"}, {trace.ByGraphs, "low", "graphs"},
	} {
		if strings.Contains(c.rep.Source.StepRule, of.rule) {
			add(of.severity, id("data-rule", of.words), fact.Of("data-rule."+of.words))
		}
	}
	if len(c.Ranks) == 1 && c.rep.Uncut() { // with more ranks, data-steps reports this
		add("info", "data-rule", fact.Of("data-rule.none"))
	}
	l := &c.rep.CPU.Launch
	if lost := metric.Share(l.Unlaunched, work); lost > lostShare {
		add("low", "data-launches", fact.Of("data-launches", "share", lost))
	}
	if l.EmptyGraphs > 0 && !slices.ContainsFunc(out, func(f result.Finding) bool { return strings.HasPrefix(f.ID, "data-lost") }) {
		add("medium", "data-graphs", fact.Of("data-graphs", "n", l.EmptyGraphs))
	}
	for i := range c.rep.Classes {
		if row := &c.rep.Classes[i]; row.Kind == "all" && row.Class == string(kernel.GroupOther) && row.Share > 0.1 {
			add("low", "data-classes", fact.Of("data-classes", "share", row.Share))
		}
	}
	return append(out, lightFindings(&c.rep.Light)...)
}

// late returns the number of GPU ops of a rank that end after the synchronisation that waited for them.
func late(r *match.Rank) (n int64) {
	for _, note := range r.Notes {
		if note.Kind == trace.NoteLateOps {
			n += note.Count
		}
	}
	return n
}

// mistimedShare is the share of such ops above which the times of all GPU work are in doubt.
const mistimedShare = 0.01

// mistimed reports whether the times of a rank's GPU work are wrong. Some AMD recordings stamp kernels late, so that work
// of one step appears in a later one.
func mistimed(r *match.Rank) bool { return float64(late(r)) > mistimedShare*float64(len(r.Ops)) }

// lostWork reports the launches of a rank without GPU work, with evidence for each kind of steps. Its Steps are the steps
// that count as not measured.
func lostWork(r *match.Rank) result.Finding {
	type sums struct {
		steps                         []int
		of, n, launches, ops, kernels int
	}
	kinds := map[string]*sums{}
	f := whole(result.Data, "medium", id("data-lost", r.Label), fact.Fact{})
	f.Ranks = []int{r.Index}
	lost, ops, kernels := 0, 0, 0
	for i := range r.Steps {
		s := &r.Steps[i]
		k := kinds[s.Info.Kind.String()]
		if k == nil {
			k = &sums{}
			kinds[s.Info.Kind.String()] = k
		}
		k.of++
		k.n, k.launches, lost = k.n+s.Lost, k.launches+s.Lost+s.Launches, lost+s.Lost
		k.ops, k.kernels = k.ops+s.LostOps, k.kernels+s.LostOps+s.Kernels
		ops, kernels = ops+s.LostOps, kernels+s.LostOps+s.Kernels
		if s.Unmeasured() {
			k.steps = append(k.steps, i+r.First)
			f.Steps = append(f.Steps, i+r.First)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[kind]
		if len(k.steps) > 0 && k.n > 0 {
			f.Evidence = append(f.Evidence, proof("count", float64(k.n), float64(k.launches),
				fact.Of("lost_steps", "kind", kind, "steps", k.steps, "n", len(k.steps), "all", k.of, "lost", k.n, "launches", k.launches)))
		}
		if len(k.steps) > 0 && k.ops > 0 {
			f.Evidence = append(f.Evidence, proof("count", float64(k.ops), float64(k.kernels),
				fact.Of("lost_replays", "kind", kind, "steps", k.steps, "n", len(k.steps), "all", k.of, "lost", k.ops, "kernels", k.kernels)))
		}
	}
	if n := len(f.Steps); n > 0 {
		f.FirstStep, f.LastStep = f.Steps[0], f.Steps[n-1]
	}
	lost = max(lost, r.Lost) // lost includes graphs, and r.Lost includes launches outside of steps
	f.Title = fact.Of("data-lost", "rank", r.Label, "n", lost, "of", lost+len(r.Calls))
	switch {
	case r.AsGoodAsMissing() && ops > 0:
		f.Title = fact.Of("data-lost.replays", "rank", r.Label, "n", ops, "of", kernels)
	case !r.AsGoodAsMissing() && len(f.Steps) == 0 && float64(ops) > fewLost*float64(kernels):
		f.Title = fact.Of("data-lost.few", "rank", r.Label, "n", ops, "of", kernels)
	case !r.AsGoodAsMissing():
		f.Title = fact.Of("data-lost.steps", "ranks", []string{r.Label}, "n", len(f.Steps), "of", len(r.Steps))
	}
	return f
}

// fewLost is the share of a rank's kernels in CUDA graph replays above which their loss is reported.
const fewLost = 0.01

// doubtful finds ranks with a lateness that clock error could explain. The only sign of such lateness is that these
// ranks seem to leave collectives later than ranks with other clocks.
func doubtful(c *capture) (out []result.Finding) {
	for _, d := range c.blames {
		begin, end := d.Common()
		for i, r := range d.Ranks {
			var by []int64
			for n := max(begin, 1); n < end; n++ {
				if l, limit := &d.late[i][n], lateLimit(c.Aligned, n); l.cost <= limit && l.cost+l.doubt > limit {
					by = append(by, l.doubt)
				}
			}
			if len(by) >= max(leastRecurring, (end-begin)/10) {
				ns := int64(metric.MedianInPlace(by))
				f := whole(result.Data, "low", id("data-offsets", r.Label), fact.Of("data-offsets", "rank", r.Label, "ns", ns, "n", len(by), "of", end-begin, "within", c.Within))
				f.Ranks = []int{r.Index}
				out = append(out, f)
			}
		}
	}
	return out
}

// noGPU reports that no GPU work was recorded, with advice if a GPU was used.
func noGPU(c *capture) fact.Fact {
	calls, listed := 0, false
	for _, r := range c.Ranks {
		calls, listed = calls+r.APICalls, listed || r.Source.HasGPU
	}
	switch {
	case calls > 0:
		return fact.Of("data-host.used", "n", calls)
	case listed:
		return fact.Of("data-host.listed")
	}
	return fact.Of("data-host")
}

// askedSteps reports files of SGLang diffusion with a number of denoising steps that differs from the number in the
// file name.
func askedSteps(c *capture) (none fact.Fact) {
	for _, r := range c.Ranks {
		asked, _ := trace.AskedSteps(r.Source.Path)
		n := len(r.Steps)
		if asked == 0 || n == 0 || r.Rule != trace.ByProfiler {
			continue
		}
		last, recorded := &r.Steps[n-1], n
		why := fact.Of("asked_more", "name", last.Name)
		switch {
		case last.Info.Kind != trace.Denoising:
			recorded, why = n-1, fact.Of("asked_after", "name", last.Name)
		case n <= asked:
			why = fact.Of("asked_perhaps", "name", last.Name)
		case n > asked+1: // no known release runs more than one additional step
			continue
		}
		return fact.Of("data-asked", "asked", asked, "recorded", recorded, "why", why)
	}
	return none
}

// sends returns the time of operations that a rank can finish before all ranks have begun, such as sends and receives,
// in steps of a kind.
func sends(c *capture, kind string) (sum int64) {
	for _, r := range c.Ranks {
		for i := range r.Ops {
			o := &r.Ops[i]
			if o.Comm() && o.Step >= 0 && r.Steps[o.Step].Info.Kind.String() == kind && !kernel.Synchronising(r.Colls[o.Coll].Op) {
				sum += o.End - o.Start
			}
		}
	}
	return sum
}
