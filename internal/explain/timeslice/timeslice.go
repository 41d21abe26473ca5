// Package timeslice distinguishes a device that stalls within a few kernels from a slow device. The stalling device
// runs all other kernels as fast as its peers. Processes that share a device without MPS get the device in turns,
// called time slices. Without MPS, kernels of different processes do not run at the same time
// (https://docs.nvidia.com/deploy/mps/). A kernel that loses its turn ends some ms later, independent of its work.
package timeslice

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Thresholds; docs/metrics.md documents them. In windows of real servers, time slices took 2.5 ms and 6 ms, and nothing
// else delayed a kernel for so long.
const (
	fewLike = 5       // minimum number of launches of a kernel on each side for its duration to be known
	times   = 4       // minimum ratio of a stalled kernel's duration to the usual duration
	least   = 200_000 // minimum delay of a stalled kernel, ns
	few     = 3       // minimum number of stalled kernels
	share   = 0.75    // minimum share of the stalled kernels in the total delay
	rest    = 1.2     // maximum ratio of the durations of other kernels to the usual durations
)

// Kernel is one launch on a device. Key identifies name and grid; times are in ns. Callers must leave out kernels whose
// time depends on data (kernel.DataDependent).
type Kernel struct {
	Key        int32
	Start, End int64
}

// Find describes the stalls of the device that ran the kernels in mine, compared with the devices that ran the kernels
// in others. It returns nil if the device did not stall, or if stalls explain only part of the difference.
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
			// If a kernel is slow in three of four launches, it has more work, or the whole device is slow.
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
	sorts.By(stopped, func(x, y Kernel) int { return cmp.Compare(x.Start, y.Start) })
	out := &result.Held{Kernels: len(stopped), Share: float64(more) / float64(longer), Rest: float64(took) / float64(like)}
	var lengths, starts []int64
	for _, k := range stopped {
		lengths, starts = append(lengths, k.End-k.Start), append(starts, k.Start)
	}
	out.Every = metric.Every(starts)
	out.Usual = int64(metric.MedianInPlace(lengths))
	return out
}
