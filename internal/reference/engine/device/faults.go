package device

import (
	"strings"
	"time"
)

// Faults make a device misbehave in a known way, from one step on, so that
// what explains traces can be held against the truth. Steps are counted from
// 0 by the host's annotations "step[…]" and "denoising_step_…".
type Faults struct {
	From int // first step
	To   int // the step after the last; 0: no end
	// Stage, of a pipeline that annotates "STAGE …": only while that one lasts. In
	// another than that of the steps these are not counted.
	Stage string

	// Pace, in all steps: a kernel lasts that long at least, asleep, so that ranks share
	// cores without waiting for them.
	Pace time.Duration

	KernelSleep  time.Duration // slower device: every kernel sleeps that long at its end
	KernelFactor float64       // slower device: every kernel lasts that many times as long, busy; 0: 1

	LinkSleep time.Duration // slow link: every collective lasts that much longer, once all ranks are there

	HostStall time.Duration // stalled host: it sleeps at the beginning of each step

	ExtraKernels int           // extra work: that many more kernels before each collective
	ExtraTime    time.Duration // that each of them sleeps
}

// extraName is the kernel that Faults add.
const extraName = "extra_gemm_kernel"

func (f *Faults) on(step int) bool { return step >= f.From && (f.To == 0 || step < f.To) }

func (f *Faults) extra() node {
	return node{
		kind: kernelNode, name: extraName, grid: [3]int32{1, 1, 1}, block: [3]int32{32, 1, 1},
		run: func(int) { time.Sleep(f.ExtraTime) },
	}
}

// slow runs a kernel and what the faults add to it, on of which begin in some step.
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

// countStep counts the annotations of steps, looks which stage begins, and stalls
// the host at those that the faults are for.
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
