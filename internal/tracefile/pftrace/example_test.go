package pftrace_test

import (
	"fmt"
	"io"

	"github.com/stepscope/stepscope/internal/tracefile/pftrace"
)

// A rank with a thread and a GPU stream, and an arrow from the launch to the
// kernel.
func Example() {
	w := pftrace.NewWriter(io.Discard) // a .pftrace file, or a gzip.Writer on one

	w.Track(pftrace.Track{UUID: 1, Name: "rank 00", Kind: pftrace.Group})
	cpu := w.Spans(pftrace.Track{UUID: 2, Parent: 1, Name: "thread 900", Order: 0})
	gpu := w.Spans(pftrace.Track{UUID: 3, Parent: 1, Name: "stream 7", Order: 1})

	var args pftrace.Args
	args.Int([]byte("stream"), 7)
	cpu.Add(&pftrace.Event{TS: 100, Dur: 50, Name: []byte("cudaLaunchKernel"), Flows: []uint64{1}})
	gpu.Add(&pftrace.Event{TS: 180, Dur: 90, Name: []byte("gemm"), Args: &args, Flows: []uint64{1}})

	fmt.Println(w.Flush())
	// Output: <nil>
}
