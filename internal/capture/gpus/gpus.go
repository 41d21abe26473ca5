// Package gpus samples the clocks, power, temperature and utilization of GPUs, and the driver's reasons for lower clocks.
// A trace shows that a GPU is slow; these samples may show why.
package gpus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// State is the state of one GPU at one moment.
type State = trace.GPUState

// reasons are the bits of NVML's clocks event reasons (nvmlClocksEventReasons in nvml.h).
var reasons = []struct {
	bit  uint64
	name string
}{
	{0x2, "application clocks"}, {0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x10, "sync boost"}, {0x20, "software thermal slowdown"},
	{0x40, "hardware thermal slowdown"}, {0x80, "power brake"}, {0x100, "display clocks"},
}

// reasonsOf returns the names of the bits that are set. An idle GPU is not a reason.
func reasonsOf(mask uint64) []string {
	out := []string{}
	for _, r := range reasons {
		if mask&r.bit != 0 {
			out = append(out, r.name)
		}
	}
	return out
}

// Usage summarizes the states of one GPU.
type Usage struct {
	Host    string  `json:"host,omitempty"`
	GPU     int     `json:"gpu"`
	Samples int     `json:"samples"`
	SM      float64 `json:"sm_mhz"` // mean while the GPU had work; -1: unknown
	SMLeast float64 `json:"sm_mhz_min"`
	Power   float64 `json:"power_w"` // mean
	Limit   float64 `json:"power_limit_w"`
	Celsius float64 `json:"celsius_max"`
	Energy  float64 `json:"energy_j"` // -1: unknown
	// Reasons holds, by reason, the share of the samples with work at which the driver gave it.
	Reasons map[string]float64 `json:"reasons"`
}

// Summarize returns the usage of each GPU from one moment to another, in ns since the epoch. Clocks and reasons count
// only at moments with work, since idle GPUs lower their clocks.
func Summarize(states []State, from, to int64) []Usage {
	by := map[string][]State{}
	for _, s := range states {
		if s.At >= from && s.At <= to {
			key := fmt.Sprintf("%s %d", s.Host, s.GPU)
			by[key] = append(by[key], s)
		}
	}
	var out []Usage
	for _, list := range by {
		out = append(out, usageOf(list))
	}
	sorts.By(out, func(a, b Usage) int { return cmp.Or(cmp.Compare(a.Host, b.Host), a.GPU-b.GPU) })
	return out
}

func usageOf(list []State) Usage {
	sorts.Stable(list, func(a, b State) int { return cmp.Compare(a.At, b.At) })
	u := Usage{Host: list[0].Host, GPU: list[0].GPU, Samples: len(list), Limit: -1, Celsius: -1, Energy: -1, SMLeast: -1, Reasons: map[string]float64{}}
	var clocks, power []float64
	busy := 0
	for i, s := range list {
		u.Limit, u.Celsius = max(u.Limit, s.Limit), max(u.Celsius, s.Celsius)
		if s.Power >= 0 {
			power = append(power, s.Power)
			if i > 0 && list[i-1].Power >= 0 { // the trapezoidal rule
				u.Energy = max(u.Energy, 0) + (s.Power+list[i-1].Power)/2*float64(s.At-list[i-1].At)/1e9
			}
		}
		if s.Busy == 0 {
			continue
		}
		busy++
		if s.SM >= 0 {
			clocks = append(clocks, s.SM)
		}
		for _, r := range s.Reasons {
			u.Reasons[r]++
		}
	}
	for r := range u.Reasons {
		u.Reasons[r] /= float64(busy)
	}
	u.SM, u.Power = mean(clocks), mean(power)
	if len(clocks) > 0 {
		u.SMLeast = slices.Min(clocks)
	}
	return u
}

// mean returns the mean of the values, or -1 if there are none.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return -1
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// name returns the name of the GPU.
func (u *Usage) name() string { return strings.TrimSpace(fmt.Sprintf("%s GPU %d", u.Host, u.GPU)) }

// String describes a usage in one line, without the GPU.
func (u *Usage) String() string {
	var parts []string
	switch {
	case u.SM < 0:
		parts = append(parts, "never at work")
	case u.SMLeast < u.SM-1:
		parts = append(parts, fmt.Sprintf("%s MHz at work, at least %s", metric.Count(int64(u.SM)), metric.Count(int64(u.SMLeast))))
	default:
		parts = append(parts, metric.Count(int64(u.SM))+" MHz at work")
	}
	if u.Power >= 0 {
		limit := ""
		if u.Limit > 0 {
			limit = fmt.Sprintf(" of %.0f", u.Limit)
		}
		parts = append(parts, fmt.Sprintf("%.0f%s W", u.Power, limit))
	}
	if u.Celsius >= 0 {
		parts = append(parts, fmt.Sprintf("up to %.0f °C", u.Celsius))
	}
	for _, r := range reasons {
		if share := u.Reasons[r.name]; share > 0 {
			parts = append(parts, fmt.Sprintf("%s in %.0f %% of the samples", r.name, 100*share))
		}
	}
	return strings.Join(parts, ", ")
}

// Lines describes the usages of GPUs. tokens is the number of output tokens in that time; 0: unknown.
func Lines(all []Usage, tokens int) (lines []string) {
	energy, known := 0.0, true
	for i := range all {
		u := &all[i]
		lines = append(lines, u.name()+": "+u.String())
		energy += u.Energy
		known = known && u.Energy >= 0
	}
	if text := slower(all); text != "" {
		lines = append(lines, text)
	}
	if known && tokens > 0 && len(all) > 0 {
		lines = append(lines, fmt.Sprintf("energy: %s J in all, %.3g J per output token", metric.Count(int64(energy)), energy/float64(tokens)))
	}
	return lines
}

// slowClock is the share of the clock of the other GPUs below which a GPU is called slower.
const slowClock = 0.95

// slower names the GPUs whose clocks were lower than those of the others, with the driver's reasons; "": none.
func slower(all []Usage) string {
	var clocks []float64
	for i := range all {
		if all[i].SM > 0 {
			clocks = append(clocks, all[i].SM)
		}
	}
	if len(clocks) < 2 {
		return ""
	}
	typical := metric.Median(clocks)
	if len(clocks) == 2 {
		typical = slices.Max(clocks)
	}
	var parts []string
	for i := range all {
		u := &all[i]
		if u.SM <= 0 || u.SM >= slowClock*typical {
			continue
		}
		text := fmt.Sprintf("%s (%s MHz)", u.name(), metric.Count(int64(u.SM)))
		for _, r := range reasons {
			if share := u.Reasons[r.name]; share > 0 {
				text += fmt.Sprintf(", %s in %.0f %%", r.name, 100*share)
			}
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("slower than the others (%s MHz): %s", metric.Count(int64(typical)), strings.Join(parts, "; "))
}

// every is the interval between two samples of nvidia-smi. DCGM itself samples once a second by default.
const every = 200 * time.Millisecond
