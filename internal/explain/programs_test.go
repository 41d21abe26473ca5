package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestPrograms: traces of programs that are not servers, and of a server's work before it serves.
func TestPrograms(t *testing.T) {
	// Steps have three short kernels each, launched in sequence with pauses.
	steps := func(n int64, name func(i int64) string) []*trace.Trace {
		y := toytrace.New()
		for i := range n {
			at := i * 1000 * us
			if name != nil {
				y.Span(trace.UserAnnotation, 0, name(i), at, at+1000*us)
			}
			for k := range int64(3) {
				from := at + (1+3*k)*100*us
				y.Run(fmt.Sprint("gemm", k), from, from+20*us, from+30*us, 1)
			}
		}
		return []*trace.Trace{y.Done()}
	}
	captured := toytrace.New()
	captured.Span(trace.Runtime, 0, "hipStreamBeginCapture", 10*us, 20*us)
	for i := range int64(9) {
		captured.Launch("hipLaunchKernel", (30+10*i)*us, (35+10*i)*us)
	}
	captured.Span(trace.Runtime, 0, "hipStreamEndCapture", 200*us, 210*us)
	captured.Run("gemm", 300*us, 320*us, 330*us, 1)
	for _, c := range []struct {
		name     string
		ts       []*trace.Trace
		say, not []string
		severity string // of the finding that hosts are late; "": none
	}{
		{
			"a training loop", steps(8, func(i int64) string { return fmt.Sprint("ProfilerStep#", i) }),
			[]string{"1 rank · 8 steps", "\nSteps are host-bound: the GPUs wait", "torch.cuda.graph"}, []string{"other step"}, "high",
		},
		{
			"a server", steps(8, func(int64) string { return "step[DECODE bs=1]" }),
			[]string{"8 decode steps", "\nDecode steps are host-bound", "SGLang without --disable-cuda-graph"}, []string{"torch.cuda.graph"}, "high",
		},
		{
			"TensorRT-LLM", steps(8, func(i int64) string {
				return fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 0 ctx tokens, 1 gen reqs", i)
			}),
			[]string{"8 decode steps", "\nDecode steps are host-bound", "cuda_graph_config"}, []string{"SGLang", "vLLM"}, "high",
		},
		{
			"no repeated steps", steps(1, nil),
			[]string{"no steps found", "record a window of steady work"}, []string{"torch.cuda.graph", "other step"}, "medium",
		},
		{
			"a graph is captured", []*trace.Trace{captured.Done()},
			[]string{"9 of 10 launches of", "while a CUDA graph was captured"}, []string{"lost"}, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := explaintest.Analyzed(t, c.ts)
			out := explaintest.Text(t, r)
			plain := strings.Join(strings.Fields(strings.ReplaceAll(out, "\n", " \n")), " ")
			for _, s := range c.say {
				if !strings.Contains(out, s) && !strings.Contains(plain, s) {
					t.Errorf("the report lacks %q:\n%s", s, out)
				}
			}
			for _, s := range c.not {
				if strings.Contains(plain, s) {
					t.Errorf("the report contains %q:\n%s", s, out)
				}
			}
			severity := ""
			for _, f := range r.Findings {
				if f.Kind == result.HostBound {
					severity = f.Severity
				}
			}
			if severity != c.severity {
				t.Errorf("finding about late hosts: got severity %q, want %q", severity, c.severity)
			}
		})
	}
}
