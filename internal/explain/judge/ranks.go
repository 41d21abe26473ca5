package judge

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Ranks returns a row for each rank, with medians over steps.
func Ranks(blames []*Domain, steps []result.Step) (out []result.RankRow) {
	mid := func(x []int64) int64 {
		if len(x) == 0 {
			return 0
		}
		return int64(metric.MedianInPlace(x))
	}
	for _, d := range blames {
		for i, r := range d.Ranks {
			row := result.RankRow{
				Rank: r.Index, Name: r.Label, File: r.Source.Path, Stage: r.Source.Stage, Steps: len(r.Steps),
				ShiftNS: r.Shift.Offset, ShiftError: r.Shift.Uncertainty(),
				Clock: result.Clock{
					Method: string(r.Clock.Method), Against: r.Clock.Against, Assumed: r.Clock.Assumed, Low: r.Clock.Low, High: r.Clock.High,
					DriftLow: 1e6 * r.Clock.DriftLow, DriftHigh: 1e6 * r.Clock.DriftHigh,
				},
			}
			var period, work, wait, gap, kernels, caused []int64
			for n := range steps {
				for j := range steps[n].Ranks {
					p := &steps[n].Ranks[j]
					// Skip the first step, in which the profilers start, unless there is only one step.
					if p.Rank != r.Index || n == 0 && len(r.Steps) > 1 {
						continue
					}
					period, wait = append(period, p.Period), append(wait, p.CommWait)
					gap, kernels = append(gap, p.HostGap), append(kernels, int64(p.Kernels))
					if w := d.work[i][n]; w != nil {
						work = append(work, w.total)
					}
					caused = append(caused, d.late[i][n].cost)
				}
			}
			for n := range d.late[i] {
				row.Last += d.late[i][n].last
				row.Collectives += d.late[i][n].of
			}
			row.Period, row.Work, row.Wait, row.HostGap = mid(period), mid(work), mid(wait), mid(gap)
			row.Kernels, row.Caused = int(mid(kernels)), mid(caused)
			out = append(out, row)
		}
	}
	sorts.By(out, func(x, y result.RankRow) int { return cmp.Compare(x.Rank, y.Rank) })
	return out
}
