// Package replicas compares data-parallel replicas that step independently. No collective synchronises such replicas,
// so lateness is undefined, but their load per step and their step times can be compared.
package replicas

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/timeslice"
	"github.com/stepscope/stepscope/trace"
)

// Thresholds for differences; docs/metrics.md documents them.
const (
	fewSteps  = 3    // minimum number of steps per side
	slower    = 1.2  // minimum ratio of step times, or of the times of equal kernels
	busier    = 1.25 // minimum ratio of the loads of a step
	more      = 1.05 // minimum ratio of the numbers of kernels
	fewLike   = 3    // minimum number of kinds of equal kernels
	fewOfLike = 5    // minimum number of kernels of each kind on each side
	shown     = 3    // number of kernels listed
)

// Compare compares the ranks of one replica with all other ranks. It compares steps of one kind: among the kinds that
// both sides have, the kind on which the replica spent the most time. It returns nil if the sides have no kind in
// common.
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

// side holds the steps of one kind on one side of the comparison.
type side struct {
	period, device, host  []int64
	batch, tokens, counts []float64
	each                  map[int32][]int64 // durations of all kernels, by name and grid
	inStep                []map[int32]int64 // for each step, the total time by name and grid
	named                 map[int32]*named  // kernels by name
	ran                   []timeslice.Kernel
	soft                  bool // a software device, which stops when it has no host core
}

type named struct {
	n  int
	ns int64
}

// gather adds the steps of a rank to into.
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
	// Profilers start in the first step, and the period of the last step is not comparable with the periods of other
	// steps.
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

// like returns the ratio of the device times per step of the kernels that both sides run, identified by name and grid.
// It compares total times, because a shared device stalls for long in a few kernels and runs most kernels at full
// speed.
func like(a, b *side) (ratio float64, kinds int) {
	same := map[int32]bool{}
	for key, x := range a.each {
		y := b.each[key]
		if len(x) < fewOfLike || len(y) < fewOfLike {
			continue
		}
		// Both sides must run the kernel about equally often per step.
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

// differences returns the kernels for which the device time of a exceeds that of b the most.
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
	sorts.Stable(out, func(x, y result.ReplicaKernel) int { return cmp.Compare(y.NS-y.NSOthers, x.NS-x.NSOthers) })
	return out[:min(len(out), shown)]
}

// cause returns the reason that the steps of the replica take longer than those of the other replicas, if they do take
// longer. The most certain criterion is tried first: a kernel of the same name and grid has the same work on all
// replicas, unless a step has more requests. With more requests, the work of kernels with a fixed grid (attention,
// persistent kernels) grows at most in proportion to the requests.
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
		return result.CauseUnknown // if no GPU work was recorded, the whole step appears as host time
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
