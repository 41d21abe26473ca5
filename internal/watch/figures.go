package watch

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Figure holds the value of a signal on one rank and on the other ranks, before and since a change.
type Figure struct {
	Signal       string   `json:"signal"`
	Unit         string   `json:"unit,omitempty"`
	This         *float64 `json:"this"` // null: unknown
	Others       *float64 `json:"others"`
	ThisBefore   *float64 `json:"this_before"`
	OthersBefore *float64 `json:"others_before"`
}

func (f *Figure) ratio() float64 {
	if f == nil || f.This == nil || f.Others == nil || *f.Others <= 0 {
		return signals.Unknown
	}
	return *f.This / *f.Others
}

// told lists the per-rank signals that a verdict reports.
var told = []struct {
	name, unit string
	of         func(*signals.Flow) float64
}{
	{"running", "requests", func(f *signals.Flow) float64 { return f.Running }},
	{"queued", "requests", func(f *signals.Flow) float64 { return f.Queued }},
	{"tokens", "tokens/s", func(f *signals.Flow) float64 { return f.Tokens }},
	{"context", "tokens", func(f *signals.Flow) float64 { return f.Context }},
	{"pace", "s a token", func(f *signals.Flow) float64 { return f.Pace }},
	{"step", "s", func(f *signals.Flow) float64 { return f.Step }},
}

// before is the length of the period before a change. A verdict reports the signals of this period.
const before = time.Minute

// figures returns the signals of one rank and of the other ranks, for the period before the change and for the period
// since the change.
func figures(history []*signals.Live, dp int, since, until time.Time) (out []Figure) {
	for _, t := range told {
		mean := func(from, to time.Time, this bool) *float64 {
			sum, n := 0.0, 0.0
			for _, l := range history {
				if l.At.Before(from) || l.At.After(to) {
					continue
				}
				var values []float64
				for i := range l.Ranks {
					if v := t.of(&l.Ranks[i]); (l.Ranks[i].DP == dp) == this && signals.Known(v) {
						values = append(values, v)
					}
				}
				if len(values) > 0 {
					sum, n = sum+metric.Median(values), n+1
				}
			}
			if n == 0 {
				return nil
			}
			sum /= n
			return &sum
		}
		f := Figure{Signal: t.name, Unit: t.unit}
		f.This, f.Others = mean(since, until, true), mean(since, until, false)
		f.ThisBefore, f.OthersBefore = mean(since.Add(-before), since.Add(-1), true), mean(since.Add(-before), since.Add(-1), false)
		if f.This != nil || f.Others != nil {
			out = append(out, f)
		}
	}
	return out
}

// figure returns the figure of a signal, or nil if the verdict has none.
func (v *Verdict) figure(signal string) *Figure {
	i := slices.IndexFunc(v.Load, func(f Figure) bool { return f.Signal == signal })
	if i < 0 {
		return nil
	}
	return &v.Load[i]
}

// times returns the ratio of the rank's signal to the signal of the other ranks.
func (v *Verdict) times(signal string) float64 { return v.figure(signal).ratio() }
