package explain_test

import (
	"errors"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// FuzzAnalyze builds traces of up to four ranks from bytes, seven per event, and checks the report's guarantees: no
// panic for any trace, and parts that add up.
func FuzzAnalyze(f *testing.F) {
	f.Add(uint8(1), []byte{})
	f.Add(uint8(2), []byte("0step..0launch.0kernel.1kernel.2comm...3copy...4graph..0kernel."))
	var regular []byte
	for n := range byte(8) {
		for rank := range byte(2) {
			regular = append(regular, rank<<4, n*30, 25, 0, 0, 0, 0) // step
			for k := range byte(4) {
				regular = append(regular, rank<<4|1, n*30+k, 1, 0, 0, n*4+k, 0)                // launch
				regular = append(regular, rank<<4|4+k%2, n*30+k*5+2, 4+rank*k, 0, 0, n*4+k, 1) // kernel, collective
			}
		}
	}
	f.Add(uint8(2), regular)
	var layered []byte
	for n := range byte(6) {
		layered = append(layered, 0, n*40, 39, 0, 0, 0, 0, 13, n*40, 30, 0, 0, 0, 0, 13, n*40+1, 10, 0, 0, 0, 2, 13, n*40+12, 10, 0, 0, 0, 1)
		for k := range byte(4) {
			layered = append(layered, 1, n*40+2+k*5, 1, 0, 0, n*4+k, 0, 4, n*40+5+k*5, 4, 0, 0, n*4+k, 0)
		}
	}
	f.Add(uint8(0), layered)
	f.Fuzz(func(t *testing.T, ranks uint8, data []byte) {
		n := int(ranks%4) + 1
		toys := make([]*toytrace.Toy, n)
		for i := range toys {
			toys[i] = toytrace.New()
			toys[i].T.Source.Rank.TP = i
			toys[i].T.Source.Rank.DP = int(ranks>>4)%3 - 1
			toys[i].T.Source.World.Size = int(ranks >> 5)
		}
		for ; len(data) >= 7; data = data[7:] {
			fuzzed(toys[int(data[0]>>4)%n], data)
		}
		ts := make([]*trace.Trace, n)
		for i, y := range toys {
			ts[i] = y.Done()
		}
		r, err := explain.Analyze(ts, explain.Options{})
		if errors.Is(err, explain.ErrNothing) {
			return
		}
		if one := (*explain.NotOneError)(nil); errors.As(err, &one) { // a valid result without --force
			r, err = explain.Analyze(ts, explain.Options{Force: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		explaintest.CheckIdentities(t, r)
	})
}

// fuzzed adds the event encoded by seven bytes: kind, start, length, scale of both, stream and grid, correlation, a
// choice.
func fuzzed(y *toytrace.Toy, b []byte) {
	scale := []int64{1, 10, 1000, 50_000, 10_000_000, 3_000_000_000}[int(b[3])%6]
	start := int64(b[1]) * scale
	end := start + int64(b[2])*max(1, scale/16)
	corr, stream, grid := int64(b[5]), 1+int(b[4]%4), int32(b[4]>>4)
	names := [...]string{"gemm", "silu", "nvjet_tst_64x8", toytrace.AllReduce, "ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_SendRecv", "x"}
	name := names[int(b[6])%len(names)]
	thread := func(cat trace.Category, name string) *trace.Span { return y.Span(cat, 0, name, start, end) }
	switch b[0] & 15 {
	case 0:
		thread(trace.UserAnnotation, []string{"step[DECODE bs=1]", "step[EXTEND bs=2 toks=9]", "step[IDLE bs=0]", "ProfilerStep#1"}[b[6]%4])
	case 1:
		thread(trace.Runtime, "cudaLaunchKernel").Corr = corr
	case 2:
		thread(trace.Runtime, "cudaGraphLaunch").Corr = corr
	case 3:
		thread(trace.Driver, "cuStreamSynchronize")
	case 4:
		y.Op(trace.Kernel, name, corr, stream, start, end, grid)
	case 5:
		y.Op(trace.Kernel, toytrace.AllReduce, corr, stream, start, end, grid)
	case 6: // a collective with its arguments
		y.Op(trace.Kernel, toytrace.AllReduce, corr, stream, start, end, grid)
		word := func(s string) trace.StringID { return y.T.Strings.Intern([]byte(s)) }
		y.T.Ops[len(y.T.Ops)-1].Comm = int32(len(y.T.Comms))
		y.T.Comms = append(y.T.Comms, trace.Comm{
			Name: word("allreduce"), DType: word("BFloat16"), Ranks: word([]string{"[0, 1]", "[0, 1, 2, 3]"}[b[6]%2]), GroupSize: int32(b[6] % 5), In: int64(b[6]), Seq: -1,
		})
	case 7:
		y.Op(trace.Memcpy, "Memcpy DtoH (Device -> Pageable)", corr, stream, start, end, 0)
		y.T.Ops[len(y.T.Ops)-1].Bytes = int64(b[6])
	case 8:
		y.Op(trace.Memset, "Memset (Device)", corr, stream, start, end, 0)
	case 9:
		thread(trace.CPUOp, "aten::mm").Ext = corr
	case 10:
		thread(trace.Overhead, "Buffer Flush")
	case 11:
		y.T.Memory = append(y.T.Memory, trace.MemoryPoint{Time: start, Bytes: int64(int8(b[6])), Allocated: int64(b[5]), GPU: b[4]%2 > 0})
	case 13:
		thread(trace.UserAnnotation, [...]string{
			"{'Module': 'model.model.layers.0'}", "{'Module': 'model.model.layers.1'}", "{'Module': 'model.model.layers.0.mlp', 'TrainableParams': {'weight': [4, 8]}, 'Inputs': [[2, 8]]}",
			"denoising_step_0_t1000", "predict_noise", "transformer in=[[1, 2]]", "transformer.blocks.3.x", "lm.head",
		}[b[6]%8])
	case 12:
		thread(trace.PythonFunction, "server.py(1): loop")
		y.T.Source.WithStack = true
	}
}
