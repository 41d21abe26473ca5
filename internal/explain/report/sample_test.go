package report

import (
	"fmt"
	"math"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// The reports that tests show. Their figures are invented but agree with each
// other: parts sum up to totals, shares to one.

const ms = 1_000_000

func timeOf(compute, comm, wait, copies int64, idle result.Idle) result.Time {
	sum := idle.Host + idle.Sync + idle.Launch + idle.Device + idle.Profiler + idle.Unknown
	return result.Time{
		Total: compute + comm + copies + sum, Compute: compute, ExposedComm: comm, ExposedCopy: copies, Idle: sum,
		HiddenComm: compute / 10, CommWait: wait, ExposedWait: wait, IdleBy: idle,
	}
}

func addTime(t *result.Time, o *result.Time) {
	for _, p := range [][2]*int64{
		{&t.Total, &o.Total}, {&t.Compute, &o.Compute}, {&t.ExposedComm, &o.ExposedComm}, {&t.ExposedCopy, &o.ExposedCopy}, {&t.Idle, &o.Idle},
		{&t.HiddenComm, &o.HiddenComm}, {&t.CommWait, &o.CommWait}, {&t.ExposedWait, &o.ExposedWait}, {&t.IdleBy.Host, &o.IdleBy.Host}, {&t.IdleBy.Sync, &o.IdleBy.Sync},
		{&t.IdleBy.Launch, &o.IdleBy.Launch}, {&t.IdleBy.Device, &o.IdleBy.Device}, {&t.IdleBy.Profiler, &o.IdleBy.Profiler},
		{&t.IdleBy.Unknown, &o.IdleBy.Unknown},
	} {
		*p[0] += *p[1]
	}
}

// stepped makes steps of ranks in which rank late runs more from step since on,
// and the rows that sum them up.
func stepped(ranks, steps, late, since int) *result.Report {
	r := &result.Report{Format: 1}
	r.Source = result.Source{ID: "1763750000.sample", Complete: true, Device: "NVIDIA H200", StartNS: 1763750000 * 1e9, StepRule: "annotations", Events: 1037098, Clocks: fact.Of("clocks_aligned", "matched", 2880, "within", 3_200, "still", fact.Of("clocks_still", "broken", 3, "never", fact.Of("clocks_never"))), Within: 3_200}
	at := int64(0)
	sums := map[[2]string]*result.TimeRow{}
	for i := range ranks {
		r.Source.Ranks = append(r.Source.Ranks, fmt.Sprintf("TP%02d", i))
		r.Source.Files = append(r.Source.Files, fmt.Sprintf("1763750000.sample-TP-%d.trace.json.gz", i))
	}
	for n := range steps {
		s := result.Step{Step: n, Kind: "decode", Mode: "DECODE", Name: "step[DECODE bs=8]", Batch: 8, Tokens: 8}
		scale := int64(1)
		if n%8 == 0 {
			s.Kind, s.Mode, s.Name, s.Tokens, scale = "prefill", "EXTEND", "step[EXTEND bs=8 toks=1024]", 1024, 4
		}
		if n%11 == 10 {
			s.Slow, s.SlowBy, s.Why, scale = true, 1.87, fact.Name("idle: host +3.1 ms on TP00"), scale*2
		}
		var longest int64
		for k := range ranks {
			jitter := int64((n*7+k*13)%5) * ms / 50
			work, wait := ms*scale+jitter, ms/20
			if late >= 0 && n >= since {
				if k == late {
					work += ms * 4 / 10
				} else {
					wait += ms * 4 / 10
				}
			}
			t := timeOf(work, int64(wait)+ms/5, int64(wait), ms/100, result.Idle{
				Host: 2*ms*scale - jitter, Sync: ms / 3, Launch: ms / 8, Device: ms / 9, Profiler: ms / 40 * int64(n%2), Unknown: ms / 200,
			})
			s.Ranks = append(s.Ranks, result.StepRank{
				Rank: k, Start: at + int64(k)*1000, CPU: t.Total - ms/10, Period: t.Total, Kernels: 117, Launches: 120, Graphs: 1, HostGap: t.IdleBy.Host + t.IdleBy.Sync + t.IdleBy.Launch, Time: t,
			})
			longest = max(longest, t.Total)
			for _, key := range [][2]string{{r.Source.Ranks[k], s.Kind}, {r.Source.Ranks[k], allRanks}, {allRanks, s.Kind}, {allRanks, allRanks}} {
				row := sums[key]
				if row == nil {
					row = &result.TimeRow{Rank: key[0], Kind: key[1]}
					sums[key] = row
				}
				row.Steps++
				addTime(&row.Time, &t)
			}
		}
		at += longest
		r.Steps = append(r.Steps, s)
	}
	r.Source.SpanNS = at
	for _, rank := range append([]string{allRanks}, r.Source.Ranks...) {
		for _, kind := range []string{allRanks, "prefill", "decode"} {
			if row := sums[[2]string{rank, kind}]; row != nil {
				r.Times = append(r.Times, *row)
			}
		}
	}
	for k := range ranks {
		row := result.RankRow{Rank: k, Name: r.Source.Ranks[k], File: "traces/" + r.Source.Files[k], Steps: steps, Period: 4 * ms, Work: ms, Wait: ms * 9 / 20, HostGap: 2 * ms, Kernels: 117, Last: 20, Collectives: 168}
		if k == late {
			row.Work, row.Wait, row.Kernels, row.Last, row.Caused = ms*14/10, ms/20, 201, 124, int64(ranks-1)*ms*4/10
		}
		if k == 1 {
			row.ShiftNS, row.ShiftError = -12_345, 800
			row.Clock = result.Clock{Method: "collectives", Against: "TP00", Low: -3_200, High: 2_900, DriftLow: -41.5, DriftHigh: 38}
		}
		r.Ranks = append(r.Ranks, row)
	}
	return r
}

const gemmName = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8::Params)"

// straggler exercises most of what a report can hold: a late rank, a missing
// one, memory, Python frames, graphs, names that want escaping.
func straggler() *result.Report {
	r := stepped(4, 24, 2, 7)
	r.Source.Missing, r.Source.Complete = []string{"TP04", "TP05"}, false
	r.Findings = []result.Finding{
		{
			ID: "straggler-2-work-7", Kind: result.Straggler, Severity: "high", Ranks: []int{2}, Names: []string{"TP02"}, FirstStep: 7, LastStep: 23,
			Cause: result.CauseWork, CostNSPerStep: ms * 4 / 10, Title: fact.Of("straggler", "rank", "TP02", "when", fact.Of("late_since", "first", 7), "why", fact.Of("late_work"),
				"cost", fact.Of("late_worth", "which", fact.Of("worth_these", "kind", "decode"), "without", 36*ms/10, "step", 4*ms, "cost", ms*4/10)),
			Evidence: []result.Evidence{
				{Text: fact.Of("kernels_differ", "mine", 201, "peers", 117), Value: 201, Peers: 117, Unit: "count", Step: -1},
				{Text: fact.Of("own_work", "mine", ms*14/10, "peers", ms), Value: 1.4 * ms, Peers: ms, Unit: "ns", Step: -1},
				{Text: fact.Name("more of a kernel"), Value: 84, Unit: "count", Name: fact.Name(gemmName), Step: -1},
				{Text: fact.Of("last_in", "last", 124, "of", 168), Value: 124, Peers: 20, Unit: "count", Step: -1},
				{Text: fact.Name("its excess stayed above 3 × the spread of steps 0–6"), Value: math.Inf(1), Unit: "ratio", Step: 7},
			},
			P: 0.0005,
			Worth: result.Worth{
				Known: true, Kind: "decode", Steps: 14, Several: true, Step: 4 * ms, Without: 36 * ms / 10, Low: 35 * ms / 10, High: 37 * ms / 10, Last: ms / 2, Tokens: 2000, WithoutTokens: 2222,
				Says: fact.Of("worth_bounds", "which", fact.Of("worth_these", "kind", "decode"), "low", 35*ms/10, "high", 37*ms/10,
					"tokens", fact.Of("worth_tokens", "is", 2000, "without", 2222), "last", fact.Of("worth_last", "last", ms/2)),
			},
		},
		{
			ID: "host_bound-decode", Kind: result.HostBound, Severity: "high", FirstStep: -1, LastStep: -1, Cause: result.CauseHost, CostNSPerStep: 2 * ms,
			Title: fact.Of("host_bound", "kind", "decode", "idle", 0.612, "busy", 0.371),
			Evidence: []result.Evidence{
				{Text: fact.Of("idle_by", "host", 19*ms/10, "sync", ms/12, "launch", ms/60), Value: 2 * ms, Unit: "ns", Step: -1},
				{Text: fact.Of("host_op", "op", "aten::mm", "share", 0.6), Value: 0.6, Unit: "ratio", Name: fact.Name("aten::mm"), Step: -1},
				{Text: fact.Of("idle_before", "rank", "TP00", "step", 10, "ns", 31*ms/10, "kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "did", fact.Name("time.sleep")), Value: 3.1 * ms, Unit: "ns", Name: fact.Name("time.sleep"), Step: 10},
			},
			Worth: result.Worth{
				Known: true, Kind: "decode", Steps: 20, Step: 42 * ms / 10, Without: 16 * ms / 10, AtMost: true,
				Says: fact.Of("worth_most", "which", fact.Of("worth_steps", "kind", "decode"), "without", 16*ms/10, "step", 42*ms/10),
			},
			Next: []fact.Fact{fact.Of("next_graphs")}, Guide: "host-bound",
		},
		{
			ID: "slow_step-10", Kind: result.SlowStep, Severity: "medium", Ranks: nil, FirstStep: 10, LastStep: 10, Passing: true, CostNSPerStep: 3 * ms,
			Title: fact.Name("Step 10 took 1.87 times as long as other decode steps: the host of TP00 did nothing for 3.1 ms while a | pipe, <b>markup</b> and `ticks` stood in a name"),
		},
		{ID: "data-0", Kind: result.Data, Severity: "low", FirstStep: -1, LastStep: -1, Title: fact.Of("data-missing", "ranks", []string{"TP04", "TP05"})},
	}
	r.Chance = result.Chance{
		Tested: 2, HeldBack: 1, Untested: 1, Seen: []result.Seen{{Ranks: []int{0, 1, 2, 3}, Kind: "decode", Steps: 20, NS: 210_000, Share: 0.0525, Least: 8}},
		Tests: fact.Of("tested", "n", 1, "held", fact.Of("held_back", "n", 1), "untested", fact.Of("untested", "n", 1)),
		Says:  fact.Of("seen", "ns", 210_000, "share", 0.0525, "kind", "decode", "n", 20, "least", fact.Of("seen_least", "n", 8)),
	}
	r.Recording.Says = fact.Of("recording_unknown")
	r.Verdict = fact.Of("verdict_bigger", "one", fact.Of("verdict_work", "rank", "TP02", "when", fact.Of("late_since", "first", 7),
		"kernels", fact.Of("verdict_kernels", "mine", 201, "peers", 117), "effect", fact.Of("verdict_worth", "which", fact.Of("worth_these", "kind", "decode"),
			"step", 4*ms, "without", 36*ms/10, "tokens", fact.Of("worth_tokens", "is", 2000, "without", 2222))),
		"other", fact.Of("verdict_bound", "what", fact.Of("verdict_waits", "idle", 0.612), "how", fact.Of("how_graphs"), "which", fact.Of("worth_steps", "kind", "decode"), "step", 42*ms/10, "without", 16*ms/10))
	r.Findings[0].Next, r.Findings[0].Guide = []fact.Fact{fact.Of("next_work", "rank", "TP02")}, "late-rank"
	r.Replay = result.Replay{Known: true, Steps: 23, Off: 0.004, OffP90: 0.012, Unexplained: 0.07}
	r.Path = result.Path{
		Steps: 23, NS: 92 * ms,
		Rows: []result.PathRow{
			{Rank: 2, Cause: result.PathHost, Class: "gemm", NS: 60 * ms, Share: 60. / 92}, {Rank: 2, Cause: result.PathWork, Class: "attention", NS: 20 * ms, Share: 20. / 92},
			{Rank: 0, Cause: result.PathGap, NS: 12 * ms, Share: 12. / 92},
		},
		Ranks: []result.PathRank{{Rank: 2, NS: 80 * ms, Share: 80. / 92, Ahead: 9 * ms, Next: 0}, {Rank: 0, NS: 12 * ms, Share: 12. / 92, Next: -1}},
	}
	r.Balance = []result.BalanceRow{
		{
			Work: result.Experts, Kind: "decode", Steps: 20, Ratio: 0.71, Lost: ms / 4, Waited: ms / 3, Halves: true, Same: 0.92, Period: 4 * ms,
			Parts:  []result.BalancePart{{Coordinate: 0, Ranks: []int{0, 1}, Time: ms / 2, Share: 0.1}, {Coordinate: 1, Ranks: []int{2, 3}, Time: ms, Share: 0.9}},
			Layers: []result.BalanceLayer{{Stack: "model.layers", Layer: 3, Ratio: 0.8, Lost: ms / 10, Slowest: 0, Same: 0.5}, {Stack: "model.layers", Layer: 4, Ratio: 0.6, Lost: ms / 7, Slowest: 1, Same: 1}},
		},
		{Work: result.Attention, Kind: "prefill", Steps: 3, Ratio: 1, Period: 4 * ms, Parts: []result.BalancePart{{Ranks: []int{0, 1}}, {Coordinate: 1, Ranks: []int{2, 3}}}},
	}
	r.Collectives = []result.CollectiveRow{
		{Op: "all_reduce", Group: fact.Name("TP"), Size: 4, Kind: "decode", Bytes: 131072, Count: 132, InGraphs: 120, Matched: 132, Wait: 30 * ms, Transfer: 9 * ms, Median: 17_300, AlgGBs: 7.57, BusGBs: 11.4},
		{Op: "all_gather", Group: fact.Name("[0, 1, 2, 3]"), Size: 4, Kind: "prefill", Bytes: 0, Count: 12, Matched: 8, Wait: ms, Transfer: 2 * ms, Median: 81_000},
	}
	for _, kind := range []string{allRanks, "decode", "prefill"} {
		for i, c := range []string{"GEMM", "attention", "communication", "norm", "elementwise", "MoE", "copy", "sampling", "other"} {
			r.Classes = append(r.Classes, result.ClassRow{Class: c, Kind: kind, Count: 1000 - 100*i, Total: int64(40-4*i) * ms, Share: float64(40-4*i) / 216})
		}
	}
	for i := range 14 {
		r.Kernels = append(r.Kernels, result.KernelRow{
			Name:  fmt.Sprintf("void at::native::vectorized_elementwise_kernel<%d, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>(int)", i+2),
			Short: fmt.Sprintf("vectorized_elementwise<%d, CUDAFunctor_add<BFloat16>>", i+2), Class: "elementwise", Kind: "decode", Count: 400 - i,
			Total: int64(12-i/2) * ms / 2, Median: int64(2000 + 100*i), P99: int64(4000 + 900*i), Min: 1500, Max: int64(9000 + 4000*i), Share: 0.04 - float64(i)/500, Spread: float64(i) / 100,
		})
	}
	r.Kernels = append(r.Kernels, result.KernelRow{
		Name: gemmName, Short: "cutlass bf16_s161616gemm 16x16_128x2 tn", Class: "GEMM", Kind: "decode", Count: 1792, Total: 80 * ms, Median: 44_000, P99: 61_000, Min: 39_000, Max: 90_000,
		Share: 0.37, TFLOPs: 312.4, GBs: 2810, Timed: 0.93, Spread: 0.021,
	}, result.KernelRow{
		Name: "hook_kernel", Short: "hook_kernel", Class: "other", Kind: "decode", Count: 168, Total: 9 * ms, Median: 53_000, P99: 60_000, Min: 50_000, Max: 61_000, Share: 0.04, Only: "TP02",
	}, result.KernelRow{Name: "a|b`c <script>alert(1)</script>", Class: "other", Kind: "prefill", Count: 1, Total: 1, Median: 1, P99: 1, Min: 1, Max: 1, Share: math.NaN()})
	r.CPU = result.CPU{
		Ops:    []result.CPUOp{{Name: "aten::mm", Count: 1792, Total: 60 * ms, Self: 41 * ms, Share: 0.6}, {Name: "aten::copy_", Count: 90, Total: 30 * ms, Self: 27 * ms, Share: 0.4}},
		Frames: []result.CPUOp{{Name: "model.py(128): forward", Count: 24, Total: 90 * ms, Self: 15 * ms, Share: 0.7}, {Name: "<built-in method linear of type object at 0x7f>", Count: 700, Total: 9 * ms, Self: 6 * ms, Share: 0.3}},
		Launch: result.Launch{Calls: 2900, Total: 19 * ms, Median: 5200, GraphCalls: 40, GraphOps: 4680, Shorter: 1400, ShorterTime: 8 * ms, Delay: -300, Unlaunched: 3, EmptyGraphs: 1},
	}
	for k := range 2 {
		m := result.MemorySeries{Rank: k, Device: fmt.Sprintf("cuda:%d", k), Peak: 4_210_000_000, PeakAt: 31 * ms, PeakOp: "aten::empty", Allocs: 512}
		for i := range 60 {
			m.Points = append(m.Points, result.MemoryPoint{At: int64(i) * ms, Allocated: 3_900_000_000 + int64((i*37)%40)*7_000_000 + int64(k)*ms, Reserved: 4_500_000_000 + int64(i/20)*100_000_000})
		}
		r.Memory = append(r.Memory, m)
	}
	r.Gaps = []result.Gap{
		{Rank: 0, Step: 10, Start: 40 * ms, Dur: 31 * ms / 10, Cause: "host", Before: gemmName, After: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Host: fact.Name("time.sleep")},
		{Rank: 3, Step: -1, Start: 90 * ms, Dur: 2 * ms, Cause: "profiler", Host: fact.Name("")},
	}
	r.Notes = []result.Note{
		{Severity: "info", Text: fact.Name("clock of TP01 was shifted"), Count: 1},
		{Severity: "loss", Source: "/data/traces/1763750000.sample-TP-3.trace.json.gz", Text: fact.Name("the file ends at byte 81,920 in the middle of an event"), Count: 1},
		{Severity: "warning", Text: fact.Name("flows without a start"), Count: 349},
	}
	return r
}

// balanced has one step kind, one finding that nothing is wrong.
func balanced() *result.Report {
	r := stepped(2, 6, -1, 0)
	r.Steps = r.Steps[1:]
	for i := range r.Steps {
		r.Steps[i].Kind = "decode"
	}
	rows := r.Times[:0]
	for _, t := range r.Times {
		if t.Kind != "prefill" {
			rows = append(rows, t)
		}
	}
	r.Times = rows
	r.Chance = result.Chance{
		Seen: []result.Seen{{Ranks: []int{0, 1}, Kind: "decode", Steps: 5, NS: 190_000, Share: 0.051}},
		Says: fact.Of("seen", "ns", 190_000, "share", 0.051, "kind", "decode", "n", 5, "least", fact.Of("seen_untold")),
	}
	r.Findings = []result.Finding{{ID: "balanced", Kind: result.Balanced, Severity: "info", FirstStep: -1, LastStep: -1, Title: fact.Of("balanced", "which", fact.Of("no_rank"), "share", 0.02, "ns", 20_000, "steps", 3)}}
	return r
}

// layered has layer-wise markers: decode launched op by op, and some in graphs.
func layered(gpu bool) *result.Report {
	r := stepped(2, 4, -1, 0)
	r.Findings = []result.Finding{{
		ID: "slow_layer-model.layers.5-decode", Kind: result.SlowLayer, Severity: "medium", Ranks: []int{1}, Names: []string{"TP01"}, FirstStep: -1, LastStep: -1, CostNSPerStep: ms / 10,
		Title: fact.Of("slow_layer", "layer", "model.layers.5", "factor", 1.6, "where", fact.Of("on_one_rank", "rank", "TP01"), "kind", "decode"),
		Evidence: []result.Evidence{
			{Text: fact.Of("layer_time", "mine", 267_000, "like", 167_000, "layers", 11, "steps", 3), Value: 0.267 * ms, Peers: 0.167 * ms, Unit: "ns", Step: -1},
			{Text: fact.Of("module_more", "what", fact.Of("kernel_of", "what", "mlp.down_proj"), "mine", 140_000, "like", 40_000), Value: 0.14 * ms, Peers: 0.04 * ms, Unit: "ns", Name: fact.Name(gemmName), Step: -1},
		},
	}}
	r.Layers.Totals = []result.LayerTotal{
		{Kind: "decode", Steps: 6, GPU: 2.5 * ms, InModule: 2.1 * ms, Graphs: 0.3 * ms, Host: 4 * ms, InRange: 3 * ms}, {Kind: "outside", Steps: 2, GPU: ms, Host: 0},
	}
	for i := range 12 {
		l := result.LayerRow{Kind: "decode", Stack: "model.layers", Layer: i, GPU: ms / 6, Wait: ms / 100, Share: 1.0 / 15, Host: ms / 4, Kernels: 9, Calls: 1, Elements: 218_112_000, OfLike: 1, Spread: 0.01, Slowest: 1}
		if i == 5 {
			l.GPU, l.Share, l.OfLike, l.Spread = ms*8/30, 0.107, 1.6, 0.6
		}
		r.Layers.Layers = append(r.Layers.Layers, l)
	}
	r.Layers.Modules = []result.ModuleRow{
		{Kind: "decode", Stack: "model.layers", Name: "model.layers.*", Modules: 12, GPU: 2.1 * ms, Self: ms / 100, Wait: ms / 8, Share: 0.84, Host: 3 * ms, HostSelf: ms / 9, Kernels: 108, Calls: 12, Each: ms * 2 / 12, Class: "GEMM", Inputs: "[8] [8, 4096]", Varied: 1, Spread: 0.05, Slowest: 1},
		{Kind: "decode", Stack: "model.layers", Module: "mlp.down_proj", Name: "model.layers.*.mlp.down_proj", Modules: 12, GPU: 0.9 * ms, Self: 0.9 * ms, Share: 0.36, Host: ms, HostSelf: ms, Kernels: 24, Calls: 12, Each: ms / 12, Class: "GEMM", Elements: 704_643_072, Inputs: "[8, 14336]", Varied: 3, TFLOPs: 213.4, Spread: 0.21, Slowest: 1},
		{Kind: "decode", Module: "lm_head", Name: "lm_head", Modules: 1, GPU: ms / 5, Self: ms / 5, Share: 0.08, Host: ms / 30, HostSelf: ms / 30, Kernels: 1.5, Calls: 1, Each: ms / 5, Class: "GEMM", Slowest: -1, Static: "in_features=4096 out_features=32000"},
		{Kind: "outside", Name: "stage_decoding_stage", Scope: true, Modules: 1, GPU: ms, Share: 1, Calls: 1, Each: ms, Class: "elementwise", Slowest: -1},
	}
	if gpu {
		return r
	}
	r.Times, r.Ranks, r.Findings = nil, nil, nil
	for i := range r.Steps {
		for k := range r.Steps[i].Ranks {
			sr := &r.Steps[i].Ranks[k]
			*sr = result.StepRank{Rank: sr.Rank, Start: sr.Start, CPU: sr.CPU, Period: sr.Period}
		}
	}
	for i := range r.Layers.Totals {
		r.Layers.Totals[i].GPU, r.Layers.Totals[i].InModule, r.Layers.Totals[i].Graphs = 0, 0, 0
	}
	for i := range r.Layers.Layers {
		l := &r.Layers.Layers[i]
		l.GPU, l.Wait, l.OfLike, l.Kernels, l.Slowest = 0, 0, 0, 0, -1
	}
	for i := range r.Layers.Modules {
		m := &r.Layers.Modules[i]
		m.GPU, m.Self, m.Wait, m.Kernels, m.Class, m.TFLOPs, m.Slowest = 0, 0, 0, 0, "", 0, -1
	}
	return r
}

// noGPU is a capture of the host only.
func noGPU() *result.Report {
	return &result.Report{
		Format: 1, Source: result.Source{ID: "cpu only", Ranks: []string{"rank 0"}, Files: []string{"cpu.json"}, Complete: true, StepRule: "none"},
		Findings: []result.Finding{{ID: "data", Kind: result.Data, Severity: "medium", FirstStep: -1, LastStep: -1, Title: fact.Of("data-host")}},
		CPU:      result.CPU{Ops: []result.CPUOp{{Name: "aten::mm", Count: 1, Total: ms, Self: ms, Share: 1}}},
		Notes:    []result.Note{{Severity: "warning", Source: "cpu.json", Text: fact.Name("no events of category kernel"), Count: 1}},
	}
}

// samples by the name of their golden files.
func samples() map[string]*result.Report {
	return map[string]*result.Report{"straggler": straggler(), "balanced": balanced(), "nogpu": noGPU(), "layers": layered(true), "layers-host": layered(false), "empty": {}}
}
