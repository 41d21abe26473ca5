// Package timeslice tells a device that stands still within a few kernels, while it runs all others as
// fast as its peers do, from one that is slow. Devices that processes share without MPS are given to them in turns
// ("time slices", https://docs.nvidia.com/deploy/mps/: without it kernels of different processes do not run at the same time):
// a kernel that loses its turn ends some ms later, whatever its work.
package timeslice

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Limits; docs/metrics.md has them. In windows of real servers turns took 2.5 ms and 6 ms, and nothing
// else held up a kernel for so long.
const (
	fewLike = 5       // launches of a kernel, on each side, that show how long it takes
	times   = 4       // a kernel that is held up takes so many times as long as usual
	least   = 200_000 // ns more
	few     = 3       // of such kernels
	share   = 0.75    // of what like kernels take longer is in them
	rest    = 1.2     // all others take less than so many times as long
)

// Kernel is a launch on a device: Key stands for its name and grid, times are in ns. Kernels whose time depends on data
// (kernel.DataDependent) are not to be compared.
type Kernel struct {
	Key        int32
	Start, End int64
}

// Find says how the device that ran mine stood still within kernels, compared with those that ran others; nil: it did not, or
// that is not all there is.
func Find(mine, others []Kernel) *result.Held {
	usual := map[int32][]int64{}
	for _, k := range others {
		usual[k.Key] = append(usual[k.Key], k.End-k.Start)
	}
	own := map[int32][]int64{}
	for _, k := range mine {
		own[k.Key] = append(own[k.Key], k.End-k.Start)
	}
	typical, always := map[int32]int64{}, map[int32]bool{}
	for key, x := range usual {
		if len(x) >= fewLike && len(own[key]) >= fewLike {
			typical[key] = int64(metric.MedianInPlace(x))
			// What takes longer in three launches of four has more to do, or is slow.
			slices.Sort(own[key])
			always[key] = metric.Quantile(own[key], 0.25) > rest*float64(typical[key])
		}
	}
	var stopped []Kernel
	var longer, more, took, like int64
	for _, k := range mine {
		normal, ok := typical[k.Key]
		if !ok {
			continue
		}
		ns := k.End - k.Start
		longer += max(ns-normal, 0)
		if ns > times*normal && ns-normal >= least && !always[k.Key] {
			stopped = append(stopped, k)
			more += ns - normal
			continue
		}
		took, like = took+ns, like+normal
	}
	if len(stopped) < few || like == 0 || float64(more) < share*float64(longer) || float64(took) > rest*float64(like) {
		return nil
	}
	slices.SortFunc(stopped, func(x, y Kernel) int { return cmp.Compare(x.Start, y.Start) })
	out := &result.Held{Kernels: len(stopped), Share: float64(more) / float64(longer), Rest: float64(took) / float64(like)}
	var lengths, starts []int64
	for _, k := range stopped {
		lengths, starts = append(lengths, k.End-k.Start), append(starts, k.Start)
	}
	out.Every = metric.Every(starts)
	out.Usual = int64(metric.MedianInPlace(lengths))
	return out
}
