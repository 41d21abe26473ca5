package trace_test

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/trace"
)

// examples returns the step names of docs/formats/steps.md with their meanings.
type example struct{ name, says string }

func examples(t testing.TB) (list []example) {
	text, err := os.ReadFile("../docs/formats/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(text), "\n```\n") {
		lines := strings.Split(block, "\n")
		if i%2 == 0 {
			continue
		}
		if len(lines)%2 != 0 {
			t.Fatalf("a name lacks its meaning: %q", block)
		}
		for i := 0; i < len(lines); i += 2 {
			list = append(list, example{lines[i], strings.TrimPrefix(lines[i+1], "  ")})
		}
	}
	return list
}

// TestStepExamples checks how each name of the page is parsed, how it is redacted, and that the glob of its form
// matches it.
func TestStepExamples(t *testing.T) {
	shown := map[int]bool{}
	for _, e := range examples(t) {
		form, glob, use := trace.StepForm(e.name)
		shown[form] = true
		got := use
		if step, ok := trace.ParseStep(e.name); ok {
			got = says(step) + use
		}
		if to := redacted(t, e.name); to != e.name {
			got += "; redacted: " + to
		}
		if got != e.says {
			t.Errorf("%s\n  says %q\n  want %q", e.name, got, e.says)
		}
		if !globbed(glob, e.name) {
			t.Errorf("%s: not taken by %q", e.name, glob)
		}
	}
	for form := range trace.StepForms {
		if !shown[form] {
			t.Errorf("row %d of the table has no example in docs/formats/steps.md", form)
		}
	}
}

// TestNoSteps: warm-up, captures, activity around steps and broken names are not steps.
func TestNoSteps(t *testing.T) {
	for _, name := range []string{
		"", "step", "step[", "step[]", "step[decode bs=1]", "step[DECODE bs=x]", "scheduler.run_batch", "scheduler.process_batch_result",
		"_dummy_run", "capture_128_decode", "nccl:all_reduce", "model.layers.0.mlp", "ProfilerStep", "prefill", "decode[bs=1]",
		"execute_context_2(6144)", "Optimizer.step#SGD.step", "ERROR step 3", "STAGE DenoisingStage", "[Executor] _forward_step 12",
	} {
		if got, ok := trace.ParseStep(name); ok {
			t.Errorf("%q is not a step, got %+v", name, got)
		}
	}
}

// says describes a step as the page does.
func says(s trace.Step) string {
	b := &strings.Builder{}
	add := func(format string, of int, said bool) {
		if said {
			fmt.Fprintf(b, format, of)
		}
	}
	b.WriteString(s.Kind.String() + " " + s.Mode)
	add(", %d requests", s.Batch, s.Batch >= 0)
	add(", %d tokens", s.Tokens, s.Tokens >= 0)
	add(", index %d", s.Index, s.Kind == trace.Denoising)
	for i, l := range []trace.Lengths{s.Context, s.Generation} {
		if l == (trace.Lengths{}) {
			continue
		}
		b.WriteString([]string{", context:", ", generation:"}[i])
		add(" %d requests", l.Requests, l.Requests > 0)
		add(" sq %d", l.Q, l.Q > 0)
		add(" sk %d", l.K, l.K > 0)
		add(" sqsq %d", l.QQ, l.QQ > 0)
		add(" sqsk %d", l.QK, l.QK > 0)
	}
	return one.Replace(b.String())
}

var one = strings.NewReplacer(" 1 requests", " 1 request", " 1 tokens", " 1 token")

func redacted(t testing.TB, name string) string {
	var e chromejson.Event
	if !e.Reset([]byte(`{"ph": "X", "cat": "user_annotation", "name": "` + chromejson.Escape(name) + `"}`)) {
		t.Fatalf("no event: %q", name)
	}
	redact.New(redact.Options{}).Event(&e)
	return string(chromejson.Unescape(e.Text(e.Name)))
}

// globbed is SQLite's GLOB, for patterns without slashes and backslashes.
func globbed(glob, name string) bool {
	ok, err := path.Match(glob, strings.ReplaceAll(name, "/", "_"))
	return ok && err == nil
}

// FuzzStepGate checks that the gate selects the same form as the table without it, and that every pattern lies inside
// its glob.
func FuzzStepGate(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.name)
	}
	for _, name := range others {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		form, glob, _ := trace.StepForm(name)
		if gated := trace.StepGate(name); gated != form {
			t.Errorf("%q: row %d by the gate, %d without it", name, gated, form)
		}
		if form >= 0 && !globbed(glob, name) {
			t.Errorf("%q: not taken by %q", name, glob)
		}
		if s, _ := trace.ParseStep(name); s.Kind.String() == "" {
			t.Errorf("%q has no kind", name)
		}
	})
}

// others are annotations that are not steps, in about the proportions of a window.
var others = []string{
	"nccl:all_reduce", "nccl:_all_gather_base", "gloo:broadcast", "model.layers.17.self_attn", "model.layers.17.mlp", "NCCL:ncclAllReduce",
	"{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[7, 14336]]}",
	"aten::mm", "## Call CompiledFxGraph fabc ##", "stage_denoising_stage", "scheduler.run_batch", "scheduler.process_batch_result", "Optimizer.step#SGD.step",
	"Torch-Compiled Region: 0/1", "gpu_model_runner: forward", "execute_model", "predict_noise", "decode", "sample", "PyTorch Profiler (0)",
}

// BenchmarkParseStep parses the annotations of a window, few of which are steps.
func BenchmarkParseStep(b *testing.B) {
	for _, c := range []struct {
		what  string
		names []string
	}{
		{"others", others},
		{"sglang", []string{"step[DECODE bs=16]"}},
		{"vllm", []string{"execute_context_2(6144)_generation_3(3)"}},
	} {
		b.Run(c.what, func(b *testing.B) {
			for b.Loop() {
				for _, name := range c.names {
					trace.ParseStep(name)
				}
			}
		})
	}
}
