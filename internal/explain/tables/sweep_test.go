package tables

import (
	"math/rand/v2"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestSweep compares the sweep with a count of every nanosecond, on random work: overlapping, empty, touching, launched
// or not, in steps or outside.
func TestSweep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		y := toytrace.New()
		at := int64(5)
		for range rng.IntN(4) {
			n := int64(1 + rng.IntN(60))
			y.Step(at, at+n)
			at += n + int64(rng.IntN(2)*rng.IntN(20))
		}
		for range 1 + rng.IntN(12) {
			start := int64(rng.IntN(150))
			end := start + int64(rng.IntN(3)*rng.IntN(30))
			corr := int64(0)
			if rng.IntN(4) > 0 {
				name, ask := "cudaLaunchKernel", int64(rng.IntN(int(start)+1))
				if rng.IntN(5) == 0 {
					name = "cudaGraphLaunch"
				}
				corr = y.Launch(name, ask, ask+int64(rng.IntN(30)))
			}
			switch rng.IntN(5) {
			case 0:
				y.Op(trace.Memcpy, "Memcpy DtoH (Device -> Pageable)", corr, 1+rng.IntN(3), start, end, 0)
			case 1:
				y.Op(trace.Kernel, toytrace.AllReduce, corr, 1+rng.IntN(3), start, end, 1)
			case 2:
				y.Op(trace.Memset, "Memset (Device)", corr, 1+rng.IntN(3), start, end, 0)
			default:
				y.Op(trace.Kernel, "gemm", corr, 1+rng.IntN(3), start, end, 1)
			}
		}
		if rng.IntN(3) == 0 {
			start := int64(rng.IntN(100))
			y.Span(trace.UserAnnotation, 0, "STAGE denoising_stage", start, start+int64(rng.IntN(100)))
		}
		for range rng.IntN(4) {
			start := int64(rng.IntN(150))
			cat, name := trace.Overhead, "Buffer Flush"
			if rng.IntN(2) > 0 {
				cat, name = trace.Runtime, "cudaStreamSynchronize"
			}
			y.Span(cat, 0, name, start, start+int64(rng.IntN(40)))
		}
		a := prepared(y.Done())
		r := a.Ranks[0]
		bounds, ends := r.DeviceWindows()
		parts := sweep(r, &findPauses(a)[0])
		for i := range parts {
			p := &parts[i]
			want := counted(r, bounds[i], ends[i])
			got := *p
			by := got.IdleBy
			got.IdleBy = result.Idle{}
			if got != want {
				t.Fatalf("round %d, step %d [%d, %d): got %+v, want %+v, ops\n%+v", round, i, bounds[i], bounds[i+1], got, want, r.Ops)
			}
			if by.Host+by.Sync+by.Peers+by.Launch+by.Device+by.Profiler+by.Unknown+by.Between != got.Idle || min(by.Host, by.Sync, by.Peers, by.Launch, by.Device, by.Profiler, by.Unknown, by.Between) < 0 {
				t.Fatalf("round %d, step %d: idle time of %d ns does not equal its parts %+v, ops\n%+v", round, i, got.Idle, by, r.Ops)
			}
		}
	}
}

// counted classifies every nanosecond of a window.
func counted(r *match.Rank, from, to int64) (want result.Time) {
	for at := from; at < to; at++ {
		var on [numActivities]bool
		for i := range r.Ops {
			if o := &r.Ops[i]; o.Start <= at && at < o.End {
				on[activity(o)] = true
			}
		}
		want.Total++
		switch {
		case on[inCompute]:
			want.Compute++
			if on[inComm] {
				want.HiddenComm++
			}
		case on[inComm]:
			want.ExposedComm++
		case on[inCopy]:
			want.ExposedCopy++
		default:
			want.Idle++
		}
	}
	return want
}
