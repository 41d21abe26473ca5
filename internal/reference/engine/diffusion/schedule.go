package diffusion

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schedule names a spacing of the noise levels.
type Schedule string

// Schedules differ in the noise levels before the shift. They also differ in whether the shift is applied once or
// twice.
const (
	SGLang      Schedule = "sglang"         // SGLang 0.5.23: evenly spaced from 1 to 1/N
	SGLang0511  Schedule = "sglang-0.5.11"  // evenly spaced between the scheduler's limits, which were already shifted
	Diffusers37 Schedule = "diffusers-0.37" // evenly spaced from 1 to 0: the last step does nothing
)

// schedules lists all schedules.
var schedules = []Schedule{SGLang, SGLang0511, Diffusers37}

// ParseSchedule returns the schedule with the given name.
func ParseSchedule(name string) (Schedule, error) {
	if s := Schedule(name); slices.Contains(schedules, s) {
		return s, nil
	}
	names := make([]string, len(schedules))
	for i, s := range schedules {
		names[i] = string(s)
	}
	return "", fmt.Errorf("no schedule %q; choose from %s", name, strings.Join(names, ", "))
}

// sigmas returns the n+1 noise levels for n steps and a picture with the given number of tokens. The last level is 0.
func (s *Scheduler) sigmas(kind Schedule, n, tokens int) []float64 {
	// This follows set_timesteps of scheduling_flow_match_euler_discrete.py, where the timesteps are sigmas·Train,
	// stored as float32.
	shift := func(x float64) float64 { return s.Shift * x / (1 + (s.Shift-1)*x) }
	first, last := 1.0, 1/float64(n)
	switch kind {
	case SGLang0511:
		last = 1 / float64(s.Train)
		if !s.Dynamic {
			first, last = shift(first), shift(last)
		}
	case Diffusers37:
		last = 0
	}
	if s.Dynamic {
		m := (s.MaxShift - s.BaseShift) / float64(s.MaxTokens-s.BaseTokens)
		mu := math.Exp(m*float64(tokens) + s.BaseShift - m*float64(s.BaseTokens))
		shift = func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return mu / (mu + 1/x - 1)
		}
	}
	out := make([]float64, n+1)
	for i := range n {
		x := first
		if n > 1 {
			x += (last - first) * float64(i) / float64(n-1)
		}
		out[i] = float64(float32(shift(x)))
	}
	return out
}
