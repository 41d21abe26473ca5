package explaintest

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// Mixture describes decode steps of a mixture-of-experts model as SGLang replays them with data-parallel attention. In
// each layer a rank computes the attention of its own requests, all ranks gather, each computes its experts with an
// activation between their products, and all reduce and scatter. No groups are recorded.
type Mixture struct {
	Ranks, Steps, Layers int
	Name                 func(rank, step int) string
	Grid                 func(rank int) int32 // of the product before attention
	Dense                func(rank, step int) int64
	Attention, Experts   func(rank, step, layer int) int64
	Soft                 bool // devices are software
	Waits                bool // hosts wait for the end of a step before they launch the next
}

// Even returns a mixture in which all ranks have the same work.
func Even(steps int) Mixture {
	return Mixture{
		Ranks: 4, Steps: steps, Layers: 3,
		Name:      func(int, int) string { return DecodeOf(16, 16*1000) },
		Grid:      func(int) int32 { return 64 },
		Dense:     func(int, int) int64 { return 40_000 },
		Attention: func(int, int, int) int64 { return 60_000 },
		Experts:   func(int, int, int) int64 { return 100_000 },
	}
}

// DecodeOf returns SGLang's name of a decode step whose requests attend to the given number of tokens.
func DecodeOf(requests, tokens int) string {
	return fmt.Sprintf("step[DECODE bs=%d g_sq=%[1]d g_sqsq=%[1]d g_sqsk=%[2]d g_sk=%[2]d]", requests, tokens)
}

// Traces returns the traces of all ranks.
func (m Mixture) Traces() (ts []*trace.Trace) {
	toys := make([]*toytrace.Toy, m.Ranks)
	free := make([]int64, m.Ranks) // end of the device's work so far
	for i := range toys {
		toys[i] = toytrace.New()
	}
	for n := range m.Steps {
		launch := make([]int64, m.Ranks)
		at := slices.Max(free)
		for i, y := range toys {
			free[i] = at + 20_000
			y.Span(trace.UserAnnotation, 0, m.Name(i, n), at, at+15_000)
			launch[i] = y.Launch("cudaGraphLaunch", at+10, at+900)
			if m.Soft {
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
		for layer := range m.Layers {
			for i := range toys {
				kernel(i, "nvjet_sm90_tst_64x16", m.Dense(i, n), m.Grid(i))
				kernel(i, "_fwd_grouped_kernel_stage1", m.Attention(i, n, layer), 64)
			}
			meet("ncclDevKernel_AllGather_RING_LL")
			for i := range toys {
				ns := m.Experts(i, n, layer)
				kernel(i, "fused_moe_kernel", ns/2, 2064)
				kernel(i, "act_and_mul_kernel", ns/10, 72)
				kernel(i, "fused_moe_kernel", ns-ns/2, 2752)
			}
			meet("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL")
		}
		for i, y := range toys {
			if m.Waits {
				y.Span(trace.Runtime, 0, "cudaStreamSynchronize", at+1000, free[i])
			}
		}
	}
	for i, y := range toys {
		t := y.Done()
		t.Source.Rank = trace.Rank{TP: i, DP: i, PP: -1, EP: i}
		t.Source.World = trace.World{Known: true, Rank: i, Size: m.Ranks}
		ts = append(ts, t)
	}
	return ts
}
