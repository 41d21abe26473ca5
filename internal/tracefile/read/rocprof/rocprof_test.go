package rocprof

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// FuzzReadJSON: any text gives traces whose references are valid, or an error.
func FuzzReadJSON(f *testing.F) {
	text, err := os.ReadFile("../testdata/rocprof.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [{"start_timestamp": 9, "end_timestamp": 3}]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		traces, err := ReadJSON(context.Background(), strings.NewReader(text))
		if err != nil {
			return
		}
		for _, tr := range traces {
			for i := range tr.Spans {
				s := &tr.Spans[i]
				if s.Dur < 0 || int(s.Track) >= len(tr.Tracks) || s.Cat.OnGPU() && int(s.Detail) >= len(tr.Ops) {
					t.Fatalf("span %+v", s)
				}
			}
		}
	})
}

// TestCollectives: kernels belong to the call that launched them or, if no launch was recorded, to the call with the
// same place in the order of the thread.
func TestCollectives(t *testing.T) {
	rccl := []call{{start: 10, end: 20, thread: 1, name: "ncclAllReduce"}, {start: 30, end: 40, thread: 1, name: "ncclAllGather"}}
	group := []call{
		{start: 10, end: 11, thread: 1, name: "ncclGroupStart"}, {start: 12, end: 13, thread: 1, name: "ncclSend"},
		{start: 14, end: 15, thread: 1, name: "ncclRecv"}, {start: 16, end: 40, thread: 1, name: "ncclGroupEnd"},
	}
	launch := func(at int64, corr int64) call {
		return call{start: at, end: at + 1, thread: 1, corr: corr, name: "hipLaunchKernel", cat: trace.Runtime}
	}
	for name, c := range map[string]struct {
		rccl, launches []call
		want           string // of the kernels, by correlation id
	}{
		"launched during the calls":        {rccl, []call{launch(15, 7), launch(35, 8)}, "allreduce allgather"},
		"one launched after the calls":     {rccl, []call{launch(15, 7), launch(50, 8)}, "allreduce "},
		"no launches":                      {rccl, nil, "allreduce allgather"},
		"no launches, fewer calls":         {rccl[:1], nil, " "},
		"a group":                          {group, []call{launch(20, 7), launch(50, 8)}, "alltoall "},
		"a group after half a group":       {append([]call{{start: 5, end: 6, thread: 1, name: "ncclGroupEnd"}}, group...), []call{launch(20, 7), launch(50, 8)}, "alltoall "},
		"a call that moves nothing":        {[]call{{start: 10, end: 20, thread: 1, name: "ncclCommInitRank"}}, []call{launch(15, 7)}, " "},
		"the same times on another thread": {[]call{{start: 10, end: 20, thread: 2, name: "ncclAllReduce"}}, []call{launch(15, 7)}, " "},
	} {
		p := newProcess()
		p.rccl, p.calls = c.rccl, c.launches
		p.ops = []op{{corr: 8, thread: 1, name: "ncclDevKernel_Generic_1"}, {corr: 7, thread: 1, name: "ncclDevKernel_Generic_1"}, {corr: 9, thread: 1, name: "gemm"}}
		p.collectives()
		if got := p.ops[1].comm + " " + p.ops[0].comm; got != c.want || p.ops[2].comm != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
