package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// Like with like: attention takes longer where requests have more behind them. Where the
// names of steps tell how much that is, only the rest says something of the device.

// infoOf is what the name of a rank's step in the capture's numbering says; nil: it has none.
func infoOf(r *match.Rank, n int) *trace.Step {
	if n -= r.First; n >= 0 && n < len(r.Steps) {
		return &r.Steps[n].Info
	}
	return nil
}

// attendsTo is what the requests of a step attend to, in tokens; below 1: not said.
func attendsTo(s *trace.Step) int { return s.Context.K + s.Generation.K }

// products is with what the work of attention grows, the sum of queries times keys.
func products(s *trace.Step) int { return s.Context.QK + s.Generation.QK }

// grown is how many times as long the attention of one step may take as that of another,
// by what their names say; 0: they do not tell their contexts. Its time is a sum of parts, each
// the same for both or in proportion to one of these sums, so it grows by no more than
// the one that grows most.
func grown(a, b *trace.Step) (times float64) {
	if a == nil || b == nil || attendsTo(a) <= 0 || attendsTo(b) <= 0 {
		return 0
	}
	for _, sum := range [][2]int{{a.Batch, b.Batch}, {a.Tokens, b.Tokens}, {attendsTo(a), attendsTo(b)}, {products(a), products(b)}} {
		if sum[0] > 0 && sum[1] > 0 {
			times = max(times, float64(sum[0])/float64(sum[1]))
		}
	}
	return times
}

// byData is how much of what a kernel takes longer its data explain, ns: no more than makes
// it so many times as long (0: there is no limit), and nothing of what the device takes
// longer for other kernels, too.
func byData(slow, peer int64, most, device float64) int64 {
	more := min(float64(peer+slow)/device-float64(peer), float64(slow))
	if most > 0 {
		more = min(more, float64(peer)*(most-1))
	}
	return int64(max(more, 0))
}

// mostBetween is how many kernels there are between two matrix products of experts at most.
const mostBetween = 3

// dependent tells, by key, the kernels whose time depends on data, and not on their grids alone:
// those of some classes, and those that only ever run between two matrix products of
// experts, on what tokens these have.
func dependent(d *match.Domain, names *prep.Names) []bool {
	of, elsewhere := make([]bool, len(names.Keys)), make([]bool, len(names.Keys))
	for key := range of {
		of[key] = kernel.DataDependent(names.Class[names.Keys[key].Name])
	}
	if !slices.Contains(names.Class, kernel.MoEGEMM) {
		return of
	}
	for _, r := range d.Ranks {
		since := map[trace.TrackID][]int32{} // keys since the last such product, of a stream
		for i := range r.Ops {
			o := &r.Ops[i]
			keys, after := since[o.Track]
			switch {
			case o.Class == kernel.MoEGEMM:
				for _, key := range keys {
					of[key] = true
				}
				since[o.Track] = []int32{}
			case after && len(keys) < mostBetween && !o.Comm():
				since[o.Track] = append(keys, o.Key)
			default:
				for _, key := range append(keys, o.Key) {
					elsewhere[key] = true
				}
				delete(since, o.Track)
			}
		}
	}
	for key := range of {
		of[key] = of[key] && (!elsewhere[key] || kernel.DataDependent(names.Class[names.Keys[key].Name]))
	}
	return of
}

func isAttention(c kernel.Class) bool { return c == kernel.Attention || c == kernel.LinearAttention }

// attentionOf is the time of attention in each step of a rank.
func attentionOf(r *match.Rank, steps int) []int64 {
	out := make([]int64, steps)
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Step >= 0 && isAttention(o.Class) {
			out[int(o.Step)+r.First] += o.End - o.Start
		}
	}
	return out
}

// longerContexts is by how much steps are longer than those that are like them, since the
// requests of a rank have longer contexts, ns. The rank's attention is compared with that
// of the step in which it takes the median time.
func longerContexts(a *match.Aligned) []int64 {
	out := make([]int64, a.Steps)
	for _, r := range a.Ranks {
		by := map[match.Like][]int{}
		for i := range r.Steps {
			if n := i + r.First; attendsTo(&r.Steps[i].Info) > 0 {
				by[a.Likes[n]] = append(by[a.Likes[n]], n)
			}
		}
		if len(by) == 0 {
			continue
		}
		took := attentionOf(r, a.Steps)
		for _, like := range by {
			slices.SortStableFunc(like, func(x, y int) int { return int(took[x] - took[y]) })
			usual := like[(len(like)-1)/2]
			for _, n := range like {
				if times := grown(infoOf(r, n), infoOf(r, usual)); times > 0 {
					out[n] = max(out[n], byData(took[n]-took[usual], took[usual], times, 1))
				}
			}
		}
	}
	return out
}

// Reasons why a rank has more work, where that is known.
const (
	reasonRequests = "requests"
	reasonTokens   = "tokens"
	reasonContexts = "contexts"
	reasonExperts  = "experts"
)

// reason says why a rank has more work in some steps, by what their names tell and by what
// the work is; "": that is not known. More of the same launches are none of what it was
// given, and work grows by no more than that does.
func (d *Domain) reason(a *match.Aligned, i int, late []lateness, steps []int) (name string, why fact.Fact) {
	steps = mostOfKind(a, steps)
	var all, again, attention, experts int64
	for _, n := range steps {
		for key, e := range late[n].extra {
			if e.ns <= 0 {
				continue
			}
			all += e.ns
			switch class := a.Names.Class[a.Names.Keys[key].Name]; {
			case isAttention(class):
				attention += e.ns
			case class == kernel.MoEGEMM || class == kernel.MoERouting:
				experts += e.ns
			case e.count > 0 && d.launched(i, n, key):
				again += e.ns
			}
		}
	}
	if all == 0 {
		return "", why
	}
	for _, in := range inputs {
		mine, others := d.said(i, steps, in.of)
		if len(others) == 0 || mine <= metric.Median(others) {
			continue
		}
		usual := metric.Median(others)
		told := fact.Of("late_"+in.reason, "mine", mine, "others", usual)
		if in.reason == reasonContexts {
			if 2*attention >= all && d.grew(a.Names, i, steps, attention, isAttention) <= d.allowed(i, steps) {
				return in.reason, told
			}
		} else if 2*again < all && d.grew(a.Names, i, steps, all, func(kernel.Class) bool { return true }) <= mine/usual {
			return in.reason, told
		}
	}
	if 2*experts >= all && len(tables.Coordinates(d.Domain, func(r trace.Rank) int { return r.EP })) > 1 {
		return reasonExperts, fact.Of("late_" + reasonExperts)
	}
	return "", why
}

// launched tells whether another rank launches a kernel of a key in a step.
func (d *Domain) launched(i, n int, key int32) bool {
	for j := range d.Ranks {
		if w := d.work[j][n]; j != i && w != nil && slices.ContainsFunc(w.keys, func(k approachKey) bool { return k.key == key }) {
			return true
		}
	}
	return false
}

// allowed is how many times as long as on the other ranks attention may take in some
// steps, the median of what their names say.
func (d *Domain) allowed(i int, steps []int) float64 {
	var all []float64
	for _, n := range steps {
		for j, r := range d.Ranks {
			if times := grown(infoOf(d.Ranks[i], n), infoOf(r, n)); j != i && times > 0 {
				all = append(all, times)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return metric.Median(all)
}

// grew is how many times as long as on the other ranks kernels of some classes take, by
// what they have more to do, summed over the steps.
func (d *Domain) grew(names *prep.Names, i int, steps []int, more int64, of func(kernel.Class) bool) float64 {
	_, peers := d.perStep(i, steps, func(j, n int) (sum float64) {
		if w := d.work[j][n]; w != nil {
			for _, k := range w.keys {
				if of(names.Class[k.name]) {
					sum += float64(k.busy)
				}
			}
		}
		return sum
	})
	return 1 + float64(more)/float64(len(steps))/max(peers, 1)
}

// sameContexts says of attention that takes longer that its contexts are no longer, where
// the names of steps tell.
func (d *Domain) sameContexts(a *match.Aligned, i int, steps []int, e result.Evidence) fact.Fact {
	mine, others := d.said(i, steps, attendsTo)
	id := slices.Index(a.Names.List, e.Name.Text)
	if len(others) == 0 || mine == 0 || id < 0 || !isAttention(a.Names.Class[id]) || mine > metric.Median(others) {
		return e.Text
	}
	return fact.Of("kernel_same_context", "what", e.Text, "mine", mine, "others", metric.Median(others))
}
