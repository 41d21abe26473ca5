package worth

import (
	"math"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/replay"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// unrecorded is the replay of a domain without the cost of recording.
type unrecorded struct {
	change replay.Change
	base   []int64 // length of each step without this cost
}

const (
	// halvings is the number of bisections for the factor of host times, which is then exact to 0.4 %.
	halvings = 8
	// mostOffUnrecorded is the largest relative error of the median step without the cost of recording.
	mostOffUnrecorded = 0.05
)

// unrecorded returns the replay in which hosts are faster by the one factor that makes the median step as short as
// unrecorded steps. It returns nil if the cost of recording is unknown, or if faster hosts do not explain it.
func (w *Window) unrecorded(d *Domain, o *result.Recording) *unrecorded {
	if !o.Known || o.Vague || o.Added <= 0 || o.Inside <= 0 {
		return nil
	}
	median := func(times []int64) int64 {
		var all []int64
		for s, ns := range times {
			if ns > 0 && w.KindOf[s].String() == o.Kind {
				all = append(all, ns)
			}
		}
		return int64(metric.MedianInPlace(all))
	}
	target := float64(median(d.Base)) * float64(o.Outside) / float64(o.Inside)
	at := func(factor float64) *unrecorded {
		change := d.Graph.Scale(func(n replay.Node) float64 {
			if n.What == replay.Host {
				return factor
			}
			return 1
		})
		return &unrecorded{change, d.Graph.Times(d.Graph.Run(change))}
	}
	low, high := 0.0, 1.0
	var best *unrecorded
	for range halvings {
		factor := (low + high) / 2
		if best = at(factor); float64(median(best.base)) > target {
			high = factor
		} else {
			low = factor
		}
	}
	if math.Abs(float64(median(best.base))-target) > mostOffUnrecorded*target {
		return nil
	}
	return best
}
