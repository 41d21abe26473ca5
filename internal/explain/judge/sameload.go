package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

// This file excludes differences due to load. Attention takes longer for requests with longer contexts. If the names of
// steps give the contexts, only the time that the contexts do not explain is evidence about the device.

// infoOf returns the parsed name of a rank's step n in the capture's numbering, or nil if the rank does not have the
// step.
func infoOf(r *match.Rank, n int) *trace.Step {
	if n -= r.First; n >= 0 && n < len(r.Steps) {
		return &r.Steps[n].Info
	}
	return nil
}

// attendsTo returns the number of tokens to which the requests of a step attend. A result below 1 means unknown.
func attendsTo(s *trace.Step) int { return s.Context.K + s.Generation.K }

// products returns the sum over requests of queries times keys, to which the work of attention is proportional.
func products(s *trace.Step) int { return s.Context.QK + s.Generation.QK }

// grown returns the largest factor by which the attention of step a may take longer than that of step b, according to
// the names of the steps. It returns 0 if the names do not give the contexts. The time of attention consists of parts,
// each of which is constant or proportional to one of the sums below. It therefore grows at most by the factor of the
// fastest-growing sum.
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

// byData returns the part of a kernel's excess that the kernel's data explain, in ns. slow is the excess, and peer is
// the time of the kernel on the peer. Data can explain a total time of at most peer multiplied by most. If most is 0,
// there is no such limit. device is the factor by which other kernels are also slower. Data do not explain the part of
// the excess due to this factor.
func byData(slow, peer int64, most, device float64) int64 {
	more := min(float64(peer+slow)/device-float64(peer), float64(slow))
	if most > 0 {
		more = min(more, float64(peer)*(most-1))
	}
	return int64(max(more, 0))
}

// mostBetween is the maximum number of kernels between two matrix products of experts.
const mostBetween = 3

// dependent marks, by key, the kernels whose time depends on data and not only on their grids. These are the kernels of
// some classes, and the kernels that run only between two matrix products of experts and so process the tokens of these
// experts.
func dependent(d *match.Domain, names *prep.Names) []bool {
	of, elsewhere := make([]bool, len(names.Keys)), make([]bool, len(names.Keys))
	for key := range of {
		of[key] = kernel.DataDependent(names.Class[names.Keys[key].Name])
	}
	if !slices.Contains(names.Class, kernel.MoEGEMM) {
		return of
	}
	for _, r := range d.Ranks {
		since := map[trace.TrackID][]int32{} // per stream: keys since the last matrix product of experts
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

// attentionOf returns the attention time of each step of a rank.
func attentionOf(r *match.Rank, steps int) []int64 {
	out := make([]int64, steps)
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Step >= 0 && isAttention(o.Class) {
			out[int(o.Step)+r.First] += o.End - o.Start
		}
	}
	return out
}

// longerContexts returns, for each step, how much longer it is than similar steps because the requests of a rank have
// longer contexts, in ns. It compares the rank's attention time with that in the similar step that has the rank's
// median attention time.
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
			sorts.Stable(like, func(x, y int) int { return int(took[x] - took[y]) })
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

// Known reasons for more work on a rank.
const (
	reasonRequests = "requests"
	reasonTokens   = "tokens"
	reasonContexts = "contexts"
	reasonExperts  = "experts"
)

// reason returns the reason that a rank has more work in some steps, according to the names of the steps and the kind
// of work; "": unknown. Larger inputs do not cause repeated launches of the same kernels, and work grows at most in
// proportion to inputs.
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

// launched reports whether another rank launches a kernel of this key in a step.
func (d *Domain) launched(i, n int, key int32) bool {
	for j := range d.Ranks {
		if w := d.work[j][n]; j != i && w != nil && slices.ContainsFunc(w.keys, func(k approachKey) bool { return k.key == key }) {
			return true
		}
	}
	return false
}

// allowed returns the factor by which attention may take longer than on the other ranks, according to the names of the
// steps, as the median over the steps.
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

// grew returns the factor by which kernels of some classes take longer than on the other ranks because of extra work,
// summed over the steps.
func (d *Domain) grew(names *prep.Names, i int, steps []int, more int64, of func(kernel.Class) bool) float64 {
	_, peers := d.perStep([]int{i}, steps, func(j, n int) (sum float64) {
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

// sameContexts adds to evidence of slower attention that the contexts are not longer, if the names of steps give the
// contexts.
func (d *Domain) sameContexts(a *match.Aligned, i int, steps []int, e result.Evidence) fact.Fact {
	mine, others := d.said(i, steps, attendsTo)
	id := slices.Index(a.Names.List, e.Name.Text)
	if len(others) == 0 || mine == 0 || id < 0 || !isAttention(a.Names.Class[id]) || mine > metric.Median(others) {
		return e.Text
	}
	return fact.Of("kernel_same_context", "what", e.Text, "mine", mine, "others", metric.Median(others))
}
