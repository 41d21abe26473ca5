// Package replicas compares data-parallel replicas which make their steps each for itself. No
// collective ties them together, so what is late cannot be told; how much each has to do in a
// step, and how long it takes for it, can.
package replicas

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/timeslice"
	"github.com/stepscope/stepscope/trace"
)

// Limits of what is called a difference; docs/metrics.md has them.
const (
	fewSteps  = 3    // of a side
	slower    = 1.2  // a step, or like kernels, take so many times as long
	busier    = 1.25 // so many times as much is in a step
	more      = 1.05 // so many times as many kernels
	fewLike   = 3    // kinds of kernels
	fewOfLike = 5    // kernels of a kind, on each side
	shown     = 3    // kernels
)

// Compare sets the ranks of one replica against all others, in the kind of steps that took it the
// most time of those that both have; nil: there is none.
func Compare(ranks []*prep.Rank, names *prep.Names, name string, is func(*trace.Source) bool) *result.Replica {
	this, others := map[trace.StepKind]*side{}, map[trace.StepKind]*side{}
	for _, r := range ranks {
		into := others
		if is(&r.Source) {
			into = this
		}
		gather(r, into)
	}
	var best trace.StepKind
	longest := int64(-1)
	for kind, s := range this {
		o := others[kind]
		if o == nil || len(s.period) < fewSteps || len(o.period) < fewSteps {
			continue
		}
		took := int64(0)
		for _, p := range s.period {
			took += p
		}
		if took > longest || took == longest && kind < best {
			best, longest = kind, took
		}
	}
	if longest < 0 {
		return nil
	}
	a, b := this[best], others[best]
	out := &result.Replica{Name: name, Kind: prep.KindName(best), This: a.medians(), Others: b.medians()}
	out.Like, out.LikeKinds = like(a, b)
	out.Kernels = differences(a, b, names)
	if !a.soft {
		out.Held = timeslice.Find(a.ran, b.ran)
	}
	out.Cause = cause(out)
	return out
}

// side is the steps of one kind.
type side struct {
	period, device, host  []int64
	batch, tokens, counts []float64
	each                  map[int32][]int64 // by name and grid: how long each took
	inStep                []map[int32]int64 // by step: how long those of a name and grid took
	named                 map[int32]*named  // by name
	ran                   []timeslice.Kernel
	soft                  bool // a software device, which stands still for want of a core
}

type named struct {
	n  int
	ns int64
}

// gather adds the steps of a rank.
func gather(r *prep.Rank, into map[trace.StepKind]*side) {
	device, counts := make([]int64, len(r.Steps)), make([]int, len(r.Steps))
	inStep := make([]map[int32]int64, len(r.Steps))
	for i := range inStep {
		inStep[i] = map[int32]int64{}
	}
	of := func(step int32) *side {
		kind := r.KindAt(step)
		if into[kind] == nil {
			into[kind] = &side{each: map[int32][]int64{}, named: map[int32]*named{}}
		}
		return into[kind]
	}
	// The profilers start in the first step, and how long the last one took is not known as of the others.
	end := len(r.Steps)
	if end > fewSteps+1 {
		end--
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Step < 1 || int(o.Step) >= end || o.Comm() {
			continue
		}
		s, took := of(o.Step), o.End-o.Start
		s.soft = s.soft || r.NoCore != nil
		if !kernel.DataDependent(o.Class) {
			s.ran = append(s.ran, timeslice.Kernel{Key: o.Key, Start: o.Start, End: o.End})
		}
		device[o.Step] += took
		counts[o.Step]++
		inStep[o.Step][o.Key] += took
		s.each[o.Key] = append(s.each[o.Key], took)
		if s.named[o.Name] == nil {
			s.named[o.Name] = &named{}
		}
		s.named[o.Name].n++
		s.named[o.Name].ns += took
	}
	for i := 1; i < end; i++ {
		step := &r.Steps[i]
		s, period := of(int32(i)), r.Period(i)
		period -= prep.Overlap(r.NoCore, step.Start, step.Start+period)
		s.period, s.device, s.host = append(s.period, period), append(s.device, device[i]), append(s.host, max(period-device[i], 0))
		s.counts, s.inStep = append(s.counts, float64(counts[i])), append(s.inStep, inStep[i])
		if step.Info.Batch >= 0 {
			s.batch = append(s.batch, float64(step.Info.Batch))
		}
		if step.Info.Tokens >= 0 {
			s.tokens = append(s.tokens, float64(step.Info.Tokens))
		}
	}
}

func (s *side) medians() result.ReplicaSide {
	said := func(x []float64) float64 {
		if len(x) == 0 {
			return -1
		}
		return metric.Median(x)
	}
	ns := func(x []int64) int64 { return int64(math.Round(metric.Median(x))) }
	return result.ReplicaSide{
		Steps: len(s.period), Batch: said(s.batch), Tokens: said(s.tokens), Period: ns(s.period), Device: ns(s.device), Host: ns(s.host), Kernels: said(s.counts),
	}
}

// like is how many times as long the device takes for the same kernels of a step, by name and grid. It goes by
// time: a device that is shared stands still in a few kernels for long, and lets most pass as they are.
func like(a, b *side) (ratio float64, kinds int) {
	same := map[int32]bool{}
	for key, x := range a.each {
		y := b.each[key]
		if len(x) < fewOfLike || len(y) < fewOfLike {
			continue
		}
		// As many of them in a step.
		if n := float64(len(x)) / float64(len(a.period)) / (float64(len(y)) / float64(len(b.period))); n < more && n > 1/more {
			same[key] = true
		}
	}
	if len(same) < fewLike {
		return 0, len(same)
	}
	in := func(s *side) float64 {
		steps := make([]int64, len(s.inStep))
		for i, of := range s.inStep {
			for key, took := range of {
				if same[key] {
					steps[i] += took
				}
			}
		}
		return metric.Median(steps)
	}
	of := in(b)
	if of <= 0 {
		return 0, len(same)
	}
	return in(a) / of, len(same)
}

// differences are the kernels by which the device's time differs most.
func differences(a, b *side, names *prep.Names) (out []result.ReplicaKernel) {
	na, nb := float64(len(a.counts)), float64(len(b.counts))
	all := maps.Clone(a.named)
	maps.Copy(all, b.named)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k := result.ReplicaKernel{Short: kernel.Short(names.List[name])}
		if x := a.named[name]; x != nil {
			k.Count, k.NS = float64(x.n)/na, int64(float64(x.ns)/na)
		}
		if x := b.named[name]; x != nil {
			k.CountOthers, k.NSOthers = float64(x.n)/nb, int64(float64(x.ns)/nb)
		}
		if k.NS > k.NSOthers {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(x, y result.ReplicaKernel) int { return cmp.Compare(y.NS-y.NSOthers, x.NS-x.NSOthers) })
	return out[:min(len(out), shown)]
}

// cause is why a step of the replica takes longer, if it does. What is most certain comes first:
// the same kernel, by name and grid, has the same work wherever it runs, unless there are more requests in a step:
// kernels that keep their grid (attention, persistent ones) then do as many times more at most.
func cause(r *result.Replica) string {
	a, b := &r.This, &r.Others
	period, load := r.Longer(), r.Busier()
	longer := period >= slower
	alike := r.LikeSlower() && (load < busier || r.Like >= slower*load)
	host, device := a.Host-b.Host, a.Device-b.Device
	switch {
	case longer && (alike || r.Held != nil && load < busier) && device >= host:
		return result.CauseDevice
	case longer && b.Kernels > 0 && a.Kernels/b.Kernels >= more && load < busier:
		return result.CauseWork
	case longer && host > device && load < period && (a.Device == 0 || b.Device == 0):
		return result.CauseUnknown // no GPU work was recorded: all of a step looks like its host's
	case longer && host > device && load < period:
		return result.CauseHost
	case load >= busier:
		return result.CauseLoad
	case longer && device >= host && r.LikeKinds < fewLike:
		return result.CauseDevice
	case longer:
		return result.CauseUnknown
	}
	return ""
}
