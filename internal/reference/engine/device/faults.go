package device

import (
	"strings"
	"time"
)

// Faults make a device misbehave in a known way from a given step on, so that trace analysis can be checked against the
// truth. Steps are counted from 0 by the host's annotations "step[…]" and "denoising_step_…".
type Faults struct {
	From int // first step
	To   int // step after the last; 0: no end
	// Stage limits the faults to one stage of a pipeline that annotates "STAGE …". Steps are not counted for a stage
	// other than the one with the steps.
	Stage string

	// Pace is the minimum duration of a kernel in all steps, asleep, so that ranks share cores without waiting for
	// them.
	Pace time.Duration

	KernelSleep  time.Duration // slow device: every kernel sleeps this long at its end
	KernelFactor float64       // slow device: every kernel takes this many times as long, busy; 0: 1

	LinkSleep time.Duration // slow link: every collective takes this much longer once all ranks have arrived

	HostStall time.Duration // stalled host: sleep at the beginning of each step

	ExtraKernels int           // extra work: this many more kernels before each collective
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

// slow runs a kernel with the faults applied to it. on says whether step-limited faults are active.
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

// stagePrefixes begin the annotation of a stage, with markers or without.
var stagePrefixes = []string{"STAGE ", "stage_"}

// countStep counts step annotations, tracks the current stage, and stalls the host in steps with faults.
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
