package analysis

import "github.com/stepscope/stepscope/internal/metric"

// Slow steps take slowFactor of the median of their like and more than
// slowSpread times its spread.
const (
	slowFactor = 1.5
	slowSpread = 6
	slowLeast  = 5 // steps of a kind, below which none is called slow
)

// markSlow marks the steps that took much longer than their like.
func (a *analyzer) markSlow() {
	type bucket struct {
		kind  string
		batch int
	}
	like := map[bucket][]int64{}
	length := func(s *Step) int64 {
		var p []int64
		for i := range s.Ranks {
			p = append(p, s.Ranks[i].Total)
		}
		if len(p) == 0 {
			return 0
		}
		return int64(metric.MedianInPlace(p))
	}
	for i := range a.report.Steps {
		s := &a.report.Steps[i]
		if s.Step > 0 && len(s.Ranks) > 0 {
			like[bucket{s.Kind, s.Batch}] = append(like[bucket{s.Kind, s.Batch}], length(s))
		}
	}
	for i := range a.report.Steps {
		s := &a.report.Steps[i]
		all := like[bucket{s.Kind, s.Batch}]
		if s.Step == 0 || len(all) < slowLeast || len(s.Ranks) == 0 {
			continue
		}
		mid := metric.Median(all)
		took := float64(length(s))
		if mid > 0 && took > slowFactor*mid && took-mid > slowSpread*metric.MAD(all) {
			s.Slow, s.SlowBy = true, took/mid-1
			s.Why = a.whySlow(s)
		}
	}
}

// whySlow names the part of a slow step that grew most against its like.
func (a *analyzer) whySlow(s *Step) string {
	part := []struct {
		name string
		of   func(*StepRank) int64
	}{
		{"compute", func(t *StepRank) int64 { return t.Compute }},
		{"waiting in collectives", func(t *StepRank) int64 { return t.ExposedWait }},
		{"transfers", func(t *StepRank) int64 { return t.ExposedComm - t.ExposedWait }},
		{"copies", func(t *StepRank) int64 { return t.ExposedCopy }},
		{"host-bound idle", func(t *StepRank) int64 { return t.HostGap }},
		{"idle on the device", func(t *StepRank) int64 { return t.IdleBy.Device + t.IdleBy.Unknown }},
		{"the profiler", func(t *StepRank) int64 { return t.IdleBy.Profiler }},
	}
	best, most := "", 0.0
	for _, p := range part {
		var mine, like []int64
		for i := range a.report.Steps {
			o := &a.report.Steps[i]
			if o.Kind != s.Kind {
				continue
			}
			for j := range o.Ranks {
				if o.Step == s.Step {
					mine = append(mine, p.of(&o.Ranks[j]))
				} else {
					like = append(like, p.of(&o.Ranks[j]))
				}
			}
		}
		if grew := metric.Median(mine) - metric.Median(like); grew > most {
			best, most = p.name, grew
		}
	}
	if best == "" {
		return ""
	}
	return best + " grew by " + metric.Duration(most)
}
