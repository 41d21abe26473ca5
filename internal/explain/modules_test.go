package explain_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/trace"
)

// TestLayerwiseReport checks an Nsight Systems report of a real SGLang with layer-wise markers, which names no steps.
func TestLayerwiseReport(t *testing.T) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory with nsys/sglang_layerwise.sqlite")
	}
	ts, err := nsysdb.Read(context.Background(), filepath.Join(root, "nsys", "sglang_layerwise.sqlite"), nsysdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := explaintest.Analyzed(t, ts)
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprintf("%s %d/%d", s.Kind, s.Tokens, s.Batch))
		if s.Kind == "decode" && s.Tokens != s.Batch || s.Kind == "prefill" && s.Batch != 1 {
			t.Errorf("step %d: got %s of %d tokens for %d requests, want a token per request in decode, one request in prefill", s.Step, s.Kind, s.Tokens, s.Batch)
		}
	}
	want := "decode 16/16, decode 16/16, decode 15/15, prefill 150/1, prefill 127/1, decode 16/16, decode 16/16, decode 16/16, decode 16/16, decode 15/15, " +
		"prefill 179/1, decode 16/16, decode 16/16, decode 16/16, decode 16/16, decode 15/15, prefill 21/1, decode 16/16, decode 16/16, decode 15/15, " +
		"prefill 186/1, decode 16/16, decode 16/16, decode 15/15, prefill 204/1"
	if got := strings.Join(steps, ", "); got != want || r.Source.StepRule != trace.ByModules {
		t.Errorf("got steps by %q:\n%s\nwant\n%s", r.Source.StepRule, got, want)
	}
	// Every all-reduce that both ranks have in the window, including those in steps that it cuts; rank 0 has one more
	// before.
	counts, matched, steady := 0, 0, int64(0)
	for _, c := range r.Collectives {
		if c.Op == "AllReduce" {
			counts += c.Count
			matched += c.Matched
		}
		if c.Op == "AllReduce" && c.Kind == "decode" {
			steady = c.Median
		}
	}
	if counts != 1270 || matched != 1269 || steady < 3e3 || steady > 7e3 {
		t.Errorf("got %d all-reduces, %d matched, of %d ns, want 1270, 1269, 3 to 7 µs", counts, matched, steady)
	}
	if got := report.Words(r.Source.Clocks); !strings.HasPrefix(got, "are one: ") || !strings.Contains(got, " in all 1,250 ") {
		t.Errorf("got clocks %q, want one clock in all 1,250 collectives", got)
	}
	// The hosts launch op by op, and are late in turns.
	for _, f := range r.Findings {
		if f.Kind == result.Straggler && f.Cause != result.CauseHost {
			t.Errorf("%s is late by %s, want by its host only%s", f.Names, f.Cause, explaintest.Describe(r))
		}
	}
	if !explaintest.Has(r, result.HostBound) || len(explaintest.Stragglers(r)) == 0 || explaintest.Has(r, result.Balanced) {
		t.Errorf("want host-bound steps, late ranks and no balanced finding%s", explaintest.Describe(r))
	}
	for _, row := range r.Ranks {
		if row.Collectives != 1250 || row.Caused < 1e6 {
			t.Errorf("%s: last in %d of %d collectives, made others wait %d ns; want 1250 collectives and at least 1 ms", row.Name, row.Last, row.Collectives, row.Caused)
		}
	}
}

// TestModuleSteps derives steps from layer-wise markers in hand-made traces.
func TestModuleSteps(t *testing.T) {
	call := func(module string, rows int) string {
		return fmt.Sprintf("{'Module': '%s', 'Inputs': [[%d], [%d]]}", module, rows, rows)
	}
	for _, c := range []struct {
		name  string
		build func(y *toytrace.Toy)
		want  []string
	}{
		{"decode and prefill by the number of returned ids", func(y *toytrace.Toy) {
			modulePass(y, 0, call("model.model", 4), call("model.logits_processor", 4), 32)
			modulePass(y, 1000, call("model.model", 4), call("model.logits_processor", 4), 8)
		}, []string{"decode 4/4 0-700", "prefill 4/1 1000-1700"}},
		{"ids of four bytes", func(y *toytrace.Toy) {
			for i := range 3 {
				modulePass(y, int64(i)*1000, call("model.model", 4), call("model.logits_processor", 4), 16)
			}
			modulePass(y, 3000, call("model.model", 9), call("model.logits_processor", 9), 8)
		}, []string{"decode 4/4 0-700", "decode 4/4 1000-1700", "decode 4/4 2000-2700", "prefill 9/2 3000-3700"}},
		{"no ids returned", func(y *toytrace.Toy) {
			modulePass(y, 0, call("model.model", 4), call("model.logits_processor", 4), 0)
		}, []string{"other 4/-1 0-700"}},
		{"the window begins and ends within a call", func(y *toytrace.Toy) {
			y.Span(trace.UserAnnotation, 0, call("model.model.rotary", 4), 10, 20)
			y.Span(trace.UserAnnotation, 0, call("model.logits_processor", 4), 100, 200)
			modulePass(y, 1000, call("model.model", 4), call("model.logits_processor", 4), 32)
			y.Span(trace.UserAnnotation, 0, call("model.model", 4), 2000, 2100)
		}, []string{"decode 4/4 1000-1700"}},
		{"a pipeline stage without logits", func(y *toytrace.Toy) {
			y.Span(trace.UserAnnotation, 0, call("model.model", 4), 0, 500)
			y.Run("k", 100, 200, 300, 1)
			y.Span(trace.UserAnnotation, 0, call("model.model", 4), 1000, 1500)
		}, []string{"other 4/-1 0-500", "other 4/-1 1000-1500"}},
		{"vLLM's outermost module lacks inputs", func(y *toytrace.Toy) {
			y.Span(trace.UserAnnotation, 0, "{'Module': 'LlamaForCausalLM'}", 0, 550)
			modulePass(y, 10, call("LlamaForCausalLM.model", 4), call("LlamaForCausalLM.logits_processor", 4), 16)
			y.Span(trace.UserAnnotation, 0, "{'Module': 'LlamaForCausalLM'}", 1000, 1550)
			modulePass(y, 1010, call("LlamaForCausalLM.model", 4), call("LlamaForCausalLM.logits_processor", 4), 16)
		}, []string{"decode 4/4 0-710", "decode 4/4 1000-1710"}},
		{"a replayed graph calls no modules", func(y *toytrace.Toy) {
			for i := range 5 {
				at := int64(i) * 2000
				replay, begin := int64(0), at+20
				if i%2 == 0 {
					y.Span(trace.UserAnnotation, 0, call("model.model", 7), at, at+900)
					y.Span(trace.UserAnnotation, 0, call("model.logits_processor", 7), at+920, at+990)
				} else {
					replay = y.Launch("cudaGraphLaunch", at+20, at+30)
				}
				for j := range 20 {
					corr := replay
					if corr == 0 {
						corr = y.Launch("cudaLaunchKernel", begin, begin+10)
					}
					y.Op(trace.Kernel, fmt.Sprintf("k%d", j), corr, 1, begin+15, begin+35, 1)
					begin += 40
				}
				y.Run("argmax", at+1000, at+1010, at+1020, 1)
				y.Op(trace.Memcpy, "Memcpy DtoH (Device -> Pinned)", y.Launch("cudaMemcpyAsync", at+1020, at+1030), 1, at+1040, at+1050, 0)
				y.T.Ops[len(y.T.Ops)-1].Bytes = 8
			}
		}, []string{"prefill 7/1 0-990", "decode -1/-1 2020-3010", "prefill 7/1 4000-4990", "decode -1/-1 6020-7010", "prefill 7/1 8000-8990"}},
		{"named steps take precedence", func(y *toytrace.Toy) {
			y.Span(trace.UserAnnotation, 0, "step[DECODE bs=2]", 5, 800)
			modulePass(y, 10, call("model.model", 4), call("model.logits_processor", 4), 16)
		}, []string{"decode 2/2 5-800"}},
	} {
		y := toytrace.New()
		c.build(y)
		passes, rule := trace.Passes(y.Done())
		var got []string
		for _, p := range passes {
			got = append(got, fmt.Sprintf("%s %d/%d %d-%d", p.Step.Kind, p.Step.Tokens, p.Step.Batch, p.Start, p.End))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got steps %q by %s, want %q", c.name, got, rule, c.want)
		}
	}
}

// modulePass is a call of 500 ns with a nested layer call, its logits, and a copy of token IDs to the host.
func modulePass(y *toytrace.Toy, at int64, model, logits string, ids int64) {
	y.Span(trace.UserAnnotation, 0, model, at, at+500)
	y.Span(trace.UserAnnotation, 0, "{'Module': 'model.model.layers.0', 'Inputs': [[7], [7, 4096]]}", at+100, at+200)
	y.Run("k", at+110, at+150, at+180, 1)
	y.Span(trace.UserAnnotation, 0, logits, at+600, at+700)
	if ids > 0 {
		y.Op(trace.Memcpy, "Memcpy DtoH (Device -> Pinned)", y.Launch("cudaMemcpyAsync", at+720, at+730), 1, at+740, at+750, 0)
		y.T.Ops[len(y.T.Ops)-1].Bytes = ids
	}
}
