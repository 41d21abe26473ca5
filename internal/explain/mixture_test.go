package explain

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// mixture describes decode steps of a mixture-of-experts model as SGLang replays them with data-parallel attention. In
// each layer a rank computes the attention of its own requests, all ranks gather, each computes its experts with an
// activation between their products, and all reduce and scatter. No groups are recorded.
type mixture struct {
	ranks, steps, layers int
	name                 func(rank, step int) string
	grid                 func(rank int) int32 // of the product before attention
	dense                func(rank, step int) int64
	attention, experts   func(rank, step, layer int) int64
	soft                 bool // devices are software
	waits                bool // hosts wait for the end of a step before they launch the next
}

// even returns a mixture in which all ranks have the same work.
func even(steps int) mixture {
	return mixture{
		ranks: 4, steps: steps, layers: 3,
		name:      func(int, int) string { return decodeOf(16, 16*1000) },
		grid:      func(int) int32 { return 64 },
		dense:     func(int, int) int64 { return 40_000 },
		attention: func(int, int, int) int64 { return 60_000 },
		experts:   func(int, int, int) int64 { return 100_000 },
	}
}

// decodeOf returns SGLang's name of a decode step whose requests attend to the given number of tokens.
func decodeOf(requests, tokens int) string {
	return fmt.Sprintf("step[DECODE bs=%d g_sq=%[1]d g_sqsq=%[1]d g_sqsk=%[2]d g_sk=%[2]d]", requests, tokens)
}

func (m mixture) traces() (ts []*trace.Trace) {
	toys := make([]*toytrace.Toy, m.ranks)
	free := make([]int64, m.ranks) // end of the device's work so far
	for i := range toys {
		toys[i] = toytrace.New()
	}
	for n := range m.steps {
		launch := make([]int64, m.ranks)
		at := slices.Max(free)
		for i, y := range toys {
			free[i] = at + 20_000
			y.Span(trace.UserAnnotation, 0, m.name(i, n), at, at+15_000)
			launch[i] = y.Launch("cudaGraphLaunch", at+10, at+900)
			if m.soft {
				y.Span(trace.NoCore, 1, trace.NoCoreName, at+2000, at+2100)
			}
		}
		kernel := func(i int, name string, ns int64, grid int32) {
			if ns > 0 {
				toys[i].Op(trace.Kernel, name, launch[i], 1, free[i], free[i]+ns, grid)
				free[i] += ns
			}
		}
		meet := func(name string) {
			last := slices.Max(free)
			for i := range toys {
				kernel(i, name, last+8_000-free[i], 8)
			}
		}
		for layer := range m.layers {
			for i := range toys {
				kernel(i, "nvjet_sm90_tst_64x16", m.dense(i, n), m.grid(i))
				kernel(i, "_fwd_grouped_kernel_stage1", m.attention(i, n, layer), 64)
			}
			meet("ncclDevKernel_AllGather_RING_LL")
			for i := range toys {
				ns := m.experts(i, n, layer)
				kernel(i, "fused_moe_kernel", ns/2, 2064)
				kernel(i, "act_and_mul_kernel", ns/10, 72)
				kernel(i, "fused_moe_kernel", ns-ns/2, 2752)
			}
			meet("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL")
		}
		for i, y := range toys {
			if m.waits {
				y.Span(trace.Runtime, 0, "cudaStreamSynchronize", at+1000, free[i])
			}
		}
	}
	for i, y := range toys {
		t := y.Done()
		t.Source.Rank = trace.Rank{TP: i, DP: i, PP: -1, EP: i}
		t.Source.World = trace.World{Known: true, Rank: i, Size: m.ranks}
		ts = append(ts, t)
	}
	return ts
}
