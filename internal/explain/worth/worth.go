// Package worth computes the worth of a capture's findings: how long steps would take without the cause of a finding.
// For this it replays steps (package replay). It also computes the critical path of the steps.
package worth

import (
	"cmp"
	"slices"
	"sync"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/replay"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

const (
	// mostOff is the largest relative error at which a replay is usable.
	mostOff = 0.05
	// leastSteps is the minimum number of steps for a comparison.
	leastSteps = 3
	level      = 0.90 // two-sided level; one bound alone excludes "no gain" with at most 5 % error
)

// Domain is a domain with its replay.
type Domain struct {
	*match.Domain
	Graph    *replay.Graph
	Base     []int64 // length of each step in a replay without changes; 0: not compared
	Recorded []int64

	bounds   map[result.Removal]func() replay.Change
	causes   []*taken       // removals of the causes of all findings
	together replay.Change  // removal of the causes of all findings at once
	ideal    []int64        // length of each step without any of the causes
	lean     *unrecorded    // nil: the cost of recording is unknown
	hostless func() []int64 // length of each step if the hosts took no time
}

// Window is a capture, with the means to replay it.
type Window struct {
	*match.Aligned
	Domains []*Domain
	Replay  result.Replay
	Path    result.Path

	loose int // number of steps with a node that waits for nothing recorded
}

// New prepares the replay of a capture.
func New(a *match.Aligned) *Window {
	w := &Window{Aligned: a}
	var off []float64
	for _, d := range a.Domains {
		g := replay.New(d)
		x := &Domain{Domain: d, Graph: g, Recorded: g.Times(g.Recorded()), Base: g.Times(g.Run(nil))}
		x.bounds = map[result.Removal]func() replay.Change{result.RemoveHost: x.without(replay.Host), result.RemoveTransfers: x.without(replay.Leave)}
		x.hostless = sync.OnceValue(func() []int64 { return g.Times(g.Run(x.bounds[result.RemoveHost]())) })
		for i, was := range x.Recorded {
			if was > 0 {
				part := float64(x.Base[i]-was) / float64(was)
				off = append(off, max(part, -part))
			}
		}
		w.Domains = append(w.Domains, x)
		w.loose += g.Loose()
	}
	w.Path = pathOf(w)
	w.judge(off)
	return w
}

// judge decides whether the replay is accurate enough.
func (w *Window) judge(off []float64) {
	r := &w.Replay
	r.Steps = len(off)
	slices.Sort(off)
	if len(off) > 0 {
		r.Off, r.OffP90 = metric.Quantile(off, 0.5), metric.Quantile(off, 0.9)
	}
	for _, row := range w.Path.Rows {
		if row.Cause == result.PathGap {
			r.Unexplained += row.Share
		}
	}
	switch {
	case w.HostOnly:
		r.Why = fact.Of("replay_no_gpu")
	case len(off) < leastSteps:
		r.Why = fact.Of("replay_few", "n", len(off))
	case w.loose > 0:
		r.Why = fact.Of("replay_loose", "n", w.loose)
	case r.Off > mostOff:
		r.Why = fact.Of("replay_off", "off", r.Off)
	default:
		r.Known = true
	}
}

// taken is the removal of a finding's cause.
type taken struct {
	domain *Domain
	change replay.Change
	steps  []int
	atMost bool
}

// Findings sets the worth of each finding of the report.
func (w *Window) Findings(rep *result.Report) {
	rep.Replay, rep.Path = w.Replay, w.Path
	if !w.Replay.Known {
		return
	}
	all := make([][]*taken, len(rep.Findings))
	parallel.Each(len(all), func(i int) { all[i] = w.take(&rep.Findings[i]) })
	each := slices.Concat(all...)
	for _, d := range w.Domains {
		// Removals that only give a bound do not count as causes.
		d.causes = slices.DeleteFunc(slices.Clone(each), func(t *taken) bool { return t.domain != d || t.atMost })
		d.together = d.but(nil)
		d.ideal = d.Graph.Times(d.Graph.Run(d.together))
		d.lean = w.unrecorded(d, &rep.Recording)
	}
	parallel.Each(len(all), func(i int) {
		if all[i] != nil {
			w.worth(rep, &rep.Findings[i], all[i])
		}
	})
}

// but returns the removal of all causes except the given one.
func (d *Domain) but(one *taken) (change replay.Change) {
	for _, t := range d.causes {
		if t != one {
			change = d.Graph.Both(change, t.change)
		}
	}
	return change
}

// take returns the removals of a finding's cause, one per domain with ranks of the finding. There are none if the cause
// cannot be removed.
func (w *Window) take(f *result.Finding) (all []*taken) {
	for _, d := range w.Domains {
		b, atMost, ok := d.blame(w.Aligned, f)
		if !ok {
			continue
		}
		t := &taken{domain: d, steps: b.Steps, atMost: atMost}
		if atMost {
			t.change = d.bounds[result.KindOf(f.Kind).Removal]()
		} else if work := sharedOut(f); work != "" {
			if t.change, ok = d.evened(w.Aligned, work, b.Steps); !ok {
				continue
			}
		} else if t.change, ok = d.Graph.As(w.Names, b); !ok {
			continue
		}
		all = append(all, t)
	}
	return all
}

var byCause = map[string]replay.Why{
	result.CauseWork: replay.ByWork, result.CauseDevice: replay.ByDevice,
	result.CauseHost: replay.ByHost, result.CauseCommunication: replay.ByTransfer,
}

// blame converts a finding to a Blame of the domain.
func (d *Domain) blame(a *match.Aligned, f *result.Finding) (b replay.Blame, atMost, ok bool) {
	for i, r := range d.Ranks {
		if slices.Contains(f.Ranks, r.Index) {
			b.Ranks = append(b.Ranks, i)
		}
	}
	first, last := f.FirstStep, f.LastStep
	if first < 0 {
		first, last = 0, len(d.Base)-1
	}
	of := f.Steps
	for s := first; len(f.Steps) == 0 && s <= last; s++ {
		of = append(of, s)
	}
	for _, s := range of {
		if s < len(d.Base) && d.Base[s] > 0 {
			b.Steps = append(b.Steps, s)
		}
	}
	before := func() {
		b.Why = replay.ByAll
		for s := range d.Base {
			if s < first && d.Base[s] > 0 && a.Likes[s] == a.Likes[b.Steps[0]] {
				b.Like = append(b.Like, s)
			}
		}
	}
	if len(b.Steps) == 0 {
		return b, false, false
	}
	switch result.KindOf(f.Kind).Removal {
	case result.RemoveLateness:
		why, known := byCause[f.Cause]
		b.Why = why
		return b, false, known && len(b.Ranks) > 0 && !f.Starved
	case result.RemoveTransfer:
		before()
		b.Why = replay.ByTransfer
		return b, false, len(b.Ranks) > 0 && len(b.Like) > 0
	case result.RemoveChange:
		before()
		b.Steps = slices.DeleteFunc(b.Steps, func(s int) bool { return a.Likes[s] != a.Likes[b.Steps[0]] })
		return b, false, len(b.Ranks) > 0 && len(b.Like) > 0
	case result.RemoveImbalance:
		return b, false, len(b.Ranks) > 0
	case result.RemoveHost, result.RemoveTransfers:
		return b, true, len(d.Ranks) == len(a.Ranks)
	}
	return b, false, false
}

// without returns a function that computes the removal of all time of nodes of a kind. Repeated calls return the first
// result.
func (d *Domain) without(what replay.What) func() replay.Change {
	return sync.OnceValue(func() replay.Change {
		return d.Graph.Scale(func(n replay.Node) float64 {
			if n.What == what {
				return 0
			}
			return 1
		})
	})
}

// sharedOut returns the kind of work that is divided unevenly among ranks according to a finding, or "". Such work
// cannot be removed: taking it from one rank would give it to others.
func sharedOut(f *result.Finding) string {
	switch {
	case f.Kind == result.UnevenAttention:
		return result.Attention
	case f.Reason == result.Experts:
		return result.Experts
	}
	return ""
}

// evened returns the change that spreads the given kind of work evenly over the ranks.
func (d *Domain) evened(a *match.Aligned, work string, steps []int) (change replay.Change, ok bool) {
	factor := tables.Evened(a, d.Domain, work, steps)
	if factor == nil {
		return nil, false
	}
	change = d.Graph.Scale(func(n replay.Node) float64 {
		if n.What != replay.Work || n.Op < 0 {
			return 1
		}
		return factor(n.Rank, n.Op)
	})
	return change, len(change) > 0
}

// worth computes the worth of a finding by replaying the capture without the cause of this finding. If the cost of
// recording may hide the worth, worth takes this cost out first, unless the worth stays hidden.
func (w *Window) worth(rep *result.Report, f *result.Finding, all []*taken) {
	kind, _ := w.mostly(all[0].steps)
	lean := !slices.ContainsFunc(all, func(t *taken) bool { return t.domain.lean == nil })
	if lean && slowed(rep, f) && kind.String() == rep.Recording.Kind {
		w.worthFrom(rep, f, all, true)
		if f.Worth.Unrecorded = !f.Worth.Hidden; f.Worth.Unrecorded {
			f.Worth.Says = says(rep, f)
			return
		}
	}
	w.worthFrom(rep, f, all, false)
}

// Lengths of steps.
const (
	was   = iota // as recorded
	base         // replayed without changes
	now          // without the cause of a finding
	bare         // without the causes of all other findings
	ideal        // without any cause
	numLengths
)

type lengths [numLengths][]int64

// lengths replays the steps of the domain. lean takes the cost of recording out.
func (t *taken) lengths(lean bool) lengths {
	d := t.domain
	x, other := lengths{was: d.Recorded, base: d.Base, bare: d.ideal, ideal: d.ideal}, replay.Change(nil)
	if lean {
		x[was], x[base], other = d.lean.base, d.lean.base, d.lean.change
	}
	times := func(change replay.Change) []int64 { return d.Graph.Times(d.Graph.Run(d.Graph.Both(other, change))) }
	x[now] = times(t.change)
	switch {
	case t.atMost:
		x[ideal] = times(d.Graph.Both(d.together, t.change))
	case other != nil:
		x[bare], x[ideal] = times(d.but(t)), times(d.together)
	default:
		x[bare] = times(d.but(t))
	}
	return x
}

// mean returns the steps of a finding and their lengths. Lengths are means over the domains that have the step.
func mean(all []*taken, lean bool) (steps []int, x lengths) {
	if len(all) == 1 {
		return all[0].steps, all[0].lengths(lean)
	}
	n := make([]int64, len(all[0].domain.Base))
	for k := range x {
		x[k] = make([]int64, len(n))
	}
	for _, t := range all {
		y := t.lengths(lean)
		for _, s := range t.steps {
			n[s]++
			for k := range x {
				x[k][s] += y[k][s]
			}
		}
	}
	for s, n := range n {
		if n == 0 {
			continue
		}
		steps = append(steps, s)
		for k := range x {
			x[k][s] /= n
		}
	}
	return steps, x
}

// worthFrom computes the worth of a finding. lean takes the cost of recording out.
func (w *Window) worthFrom(rep *result.Report, f *result.Finding, all []*taken, lean bool) {
	steps, of := mean(all, lean)
	kind, several := w.mostly(steps)
	steps = slices.DeleteFunc(slices.Clone(steps), func(s int) bool { return w.KindOf[s] != kind })
	var last []int64
	for _, s := range steps {
		last = append(last, of[bare][s]-of[ideal][s])
	}
	f.Worth = w.gain(rep, of[was], of[base], steps, kind, of[now])
	x, atMost := &f.Worth, all[0].atMost
	hidden, _, _ := metric.PseudoMedian(last, level)
	x.Several, x.AtMost, x.Last = several, atMost, int64(hidden)
	x.NoLoss()
	x.Hidden = !atMost && slowed(rep, f) && (x.Little() || float64(x.Gain()) < hiddenShare*float64(x.Step))
	x.Says = says(rep, f)
}

// hiddenShare is the worth, as a share of the step, below which the overhead that recording adds on the hosts may hide
// the effect of a late rank.
const hiddenShare = 0.03

// slowed reports whether recording slowed the hosts, or may have slowed them. Slow hosts hide the cost of a rank with a
// slow device or more work.
func slowed(rep *result.Report, f *result.Finding) bool {
	o := &rep.Recording
	return f.Kind == result.Straggler && f.Cause != result.CauseHost && (!o.Known || o.Vague || o.Added > 0)
}

// mostly returns the most frequent kind of the steps. several reports whether there are steps of other kinds.
func (w *Window) mostly(steps []int) (kind trace.StepKind, several bool) {
	n := map[trace.StepKind]int{}
	for _, s := range steps {
		n[w.KindOf[s]]++
	}
	kind = w.KindOf[steps[0]]
	for _, s := range steps {
		if k := w.KindOf[s]; n[k] > n[kind] {
			kind = k
		}
	}
	return kind, len(n) > 1
}

// hidden is a share of a step. Worth.Last is reported only if it exceeds the gain of removing the cause alone by more
// than this share.
const hidden = 0.02

// waits is a ratio. The difference between the wait that a late rank causes and the gain of removing the cause is
// reported only if wait / gain exceeds this ratio.
const waits = 1.5

// says formats the worth of a finding.
func says(rep *result.Report, f *result.Finding) fact.Fact {
	x := &f.Worth
	which := rep.Which(f)
	var tokens, last, rest fact.Fact
	if x.Tokens > 0 {
		tokens = fact.Of("worth_tokens", "is", x.Tokens, "without", x.WithoutTokens)
	}
	if more := x.Last - (x.Step - x.Without); float64(more) > hidden*float64(x.Step) {
		last = fact.Of("worth_last", "last", x.Last)
	}
	if f.Kind == result.Straggler && float64(f.CostNSPerStep) > waits*float64(x.Gain()) {
		rest = fact.Of("worth_rest", "cost", f.CostNSPerStep)
	}
	switch {
	case x.Hidden && x.Without >= x.Step:
		return fact.Of("worth_hidden_all", "which", which, "cost", f.CostNSPerStep)
	case x.Hidden:
		return fact.Of("worth_hidden", "which", which, "step", x.Step, "without", x.Without, "cost", f.CostNSPerStep)
	case x.AtMost && x.Without >= x.Step:
		return fact.Of("worth_none", "which", which, "step", x.Step, "last", last)
	case x.AtMost:
		return fact.Of("worth_most", "which", which, "step", x.Step, "without", x.Without, "last", last)
	case x.Without >= x.Step:
		return fact.Of("worth_nothing", "which", which, "last", last)
	case x.High >= x.Step:
		return fact.Of("worth_little", "which", which, "step", x.Step, "without", x.Without, "low", x.Low, "high", x.High, "last", last)
	}
	if f.Kind == result.Straggler && x.Sure() && !x.Little() { // the title of the finding gives the other figures
		return fact.Of("worth_bounds", "which", which, "low", x.Low, "high", x.High, "tokens", tokens, "rest", rest, "last", last)
	}
	return fact.Of("worth", "which", which, "step", x.Step, "without", x.Without, "low", x.Low, "high", x.High, "tokens", tokens, "rest", rest, "last", last)
}

// pathOf computes the critical paths of all domains.
func pathOf(w *Window) (p result.Path) {
	type key struct {
		rank         int
		cause, class string
	}
	rows := map[key]int64{}
	ranks := map[int]int64{}
	layers := map[int32]int64{}
	ahead, next := map[int]int64{}, map[int]map[int]int{}
	for _, d := range w.Domains {
		ns, steps := d.Graph.Total()
		p.NS, p.Steps = p.NS+ns, p.Steps+steps
		index := func(i int) int { return d.Ranks[i].Index }
		d.Graph.Path(func(x *replay.Piece) {
			k := key{rank: index(x.Rank), cause: causeOf(x)}
			if x.Node.Key >= 0 {
				k.class = w.Names.Class[w.Names.Keys[x.Node.Key].Name].String()
			}
			rows[k] += x.NS
			ranks[k.rank] += x.NS
			if w.Marks != nil {
				layers[layerOf(w.Marks, d.Ranks[x.Rank], x)] += x.NS
			}
		}, func(_, rank, after int, ns int64) {
			of := index(rank)
			ahead[of] += ns
			if next[of] == nil {
				next[of] = map[int]int{}
			}
			next[of][index(after)]++
		})
	}
	for k, ns := range rows {
		p.Rows = append(p.Rows, result.PathRow{Rank: k.rank, Cause: k.cause, Class: k.class, NS: ns, Share: float64(ns) / float64(p.NS)})
	}
	sorts.By(p.Rows, func(a, b result.PathRow) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Class, b.Class))
	})
	p.Layers = pathLayers(w.Marks, layers, p.NS)
	for rank, ns := range ranks {
		row := result.PathRank{Rank: rank, NS: ns, Share: float64(ns) / float64(p.NS), Ahead: ahead[rank], Next: -1}
		most := 0
		for r, n := range next[rank] {
			if n > most || n == most && r < row.Next {
				most, row.Next = n, r
			}
		}
		p.Ranks = append(p.Ranks, row)
	}
	sorts.By(p.Ranks, func(a, b result.PathRank) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Rank, b.Rank)) })
	return p
}

func causeOf(p *replay.Piece) string {
	switch {
	case p.Gap:
		return result.PathGap
	case p.Lag && p.Node.What == replay.Return:
		return result.PathReturn
	case p.Lag && p.After == replay.Host:
		return result.PathLaunch
	case p.Lag:
		return result.PathDevice
	case p.Node.What == replay.Leave:
		return result.PathTransfer
	case p.Node.What == replay.Work:
		return result.PathWork
	}
	return result.PathHost
}
