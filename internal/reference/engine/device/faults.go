package device

import (
	"strings"
	"time"
)

// Faults make a device misbehave in a known way from a given step on, so that the results of trace analysis can be
// compared with the known cause. Steps are counted from 0. A step begins at an annotation "step[…]" or
// "denoising_step_…" of the host.
type Faults struct {
	From int // first step with faults
	To   int // first step without faults after From; 0: the faults never end
	// Stage limits the faults to one stage of a pipeline that annotates "STAGE …". From and To limit the faults only in
	// the stage that contains the steps.
	Stage string

	// Pace is the minimum duration of a kernel in all steps. A kernel that computes for less time than Pace sleeps for
	// the remainder, so that several ranks can share a core without delaying each other.
	Pace time.Duration

	KernelSleep  time.Duration // slow device: every kernel sleeps this long at its end
	KernelFactor float64       // slow device: factor for every kernel's computing time; 0 means 1

	LinkSleep time.Duration // slow link: delay of every collective after all ranks have arrived

	HostStall time.Duration // stalled host: the launching thread sleeps this long at the beginning of each step

	ExtraKernels int           // extra work: number of additional kernels before each collective
	ExtraTime    time.Duration // sleep in each extra kernel
}

// extraName is the name of the extra kernels.
const extraName = "extra_gemm_kernel"

func (f *Faults) on(step int) bool { return step >= f.From && (f.To == 0 || step < f.To) }

func (f *Faults) extra() node {
	return node{
		kind: kernelNode, name: extraName, grid: [3]int32{1, 1, 1}, block: [3]int32{32, 1, 1},
		run: func(int) { time.Sleep(f.ExtraTime) },
	}
}

// slow runs a kernel and applies the faults to it. on reports whether the current step and stage are within the limits
// of the faults.
func (f *Faults) slow(kernel func(), on bool) {
	start := time.Now()
	kernel()
	time.Sleep(f.Pace - time.Since(start))
	if !on {
		return
	}
	if f.KernelFactor > 1 {
		until := time.Duration(float64(time.Since(start)) * f.KernelFactor)
		for time.Since(start) < until {
		}
	}
	if f.KernelSleep > 0 {
		time.Sleep(f.KernelSleep)
	}
}

// stagePrefixes are the prefixes of a stage's annotation: the first is used with markers, the second without markers.
var stagePrefixes = []string{"STAGE ", "stage_"}

// countStep counts step annotations, keeps track of the current stage, and stalls the host in steps with faults.
func (h *Host) countStep(name string) {
	f := h.d.opt.Faults
	for _, prefix := range stagePrefixes {
		if stage, ok := strings.CutPrefix(name, prefix); ok && f.Stage != "" {
			h.fault, h.inStage = stage == f.Stage, stage == f.Stage
			return
		}
	}
	if !strings.HasPrefix(name, "step[") && !strings.HasPrefix(name, "denoising_step_") {
		return
	}
	h.fault = f.on(h.steps) && (f.Stage == "" || h.inStage)
	h.steps++
	if h.fault && f.HostStall > 0 {
		time.Sleep(f.HostStall)
	}
}
