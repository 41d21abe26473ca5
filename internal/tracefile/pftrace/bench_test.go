package pftrace

import (
	"fmt"
	"io"
	"testing"
)

// benchTrace returns a function that writes a step like one of a Kineto trace: 64 operators, each with two children,
// one of which launches a kernel; 256 slices with the usual arguments.
func benchTrace(w *Writer) (step func()) {
	cpu := w.Spans(Track{UUID: 1, Name: "thread 1"})
	gpu := w.Spans(Track{UUID: 2, Name: "stream 7"})
	var ops, kernels [][]byte
	for i := range 64 {
		ops = append(ops, fmt.Appendf(nil, "aten::operator_%d", i))
		kernels = append(kernels, fmt.Appendf(nil, "void at::native::vectorized_elementwise_kernel<4, at::native::functor_%d<float>, std::array<char*, 3ul>>", i))
	}
	cat, rt, kern, launch := []byte("cpu_op"), []byte("cuda_runtime"), []byte("kernel"), []byte("cudaLaunchKernel")
	ext, corr, stream, grid, dims := []byte("External id"), []byte("correlation"), []byte("stream"), []byte("grid"), []byte("Input Dims")
	gridV, dimsV := []byte("[132,1,1]"), []byte("[[1024,8192],[8192,1024]]")
	var args Args
	now, id, flows := int64(1_763_750_000_000_000_000), uint64(0), []uint64{0}
	return func() {
		for i := range ops {
			id++
			flows[0] = id
			args.Reset()
			args.Uint(ext, id)
			args.String(dims, dimsV)
			cpu.Add(&Event{TS: now, Dur: 9000, Name: ops[i], Cat: cat, Args: &args})
			cpu.Add(&Event{TS: now + 500, Dur: 2000, Name: ops[63-i], Cat: cat, Args: &args})
			args.Reset()
			args.Uint(corr, id)
			cpu.Add(&Event{TS: now + 4000, Dur: 3000, Name: launch, Cat: rt, Args: &args, Flows: flows})
			args.Uint(stream, 7)
			args.String(grid, gridV)
			gpu.Add(&Event{TS: now + 9000, Dur: 10_100, Name: kernels[i], Cat: kern, Args: &args, Flows: flows})
			now += 10_000
		}
	}
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

func BenchmarkSlices(b *testing.B) {
	var out counter
	w := NewWriter(&out)
	step := benchTrace(w)
	slices := 0
	b.ReportAllocs()
	for b.Loop() {
		step()
		slices += 256
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(slices)/b.Elapsed().Seconds(), "slices/s")
	b.ReportMetric(float64(out.n)/1e6/b.Elapsed().Seconds(), "MB/s")
	b.ReportMetric(float64(out.n)/float64(slices), "B/slice")
}

// BenchmarkPlain measures the encoder without arguments and lanes.
func BenchmarkPlain(b *testing.B) {
	w := NewWriter(io.Discard)
	w.Track(Track{UUID: 1, Name: "t"})
	e := Event{Dur: 10, Name: []byte("aten::mm"), Cat: []byte("cpu_op")}
	for b.Loop() {
		e.TS += 20
		w.slice(1, &e, e.TS+e.Dur)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "slices/s")
}
