package report

import (
	"bytes"
	"testing"

	verdicts "github.com/stepscope/stepscope/internal/explain/answer"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// byRole returns a comparison of engines by role. told means that the sources of A's kernels are known.
func byRole(told bool) *result.Comparison {
	c := &result.Comparison{
		A: result.Side{ID: "a", Ranks: []string{"TP00", "TP01"}, Steps: 9, Device: "NVIDIA H100 80GB HBM3", Engine: "SGLang"},
		B: result.Side{ID: "b", Ranks: []string{"TP00", "TP01"}, Steps: 31, Device: "NVIDIA H100 80GB HBM3", Engine: "vLLM"}, Refused: true,
		Unlike: []fact.Fact{fact.Of("compare_nothing")},
	}
	part := func(kind, part string, layers int, a, b, floor int64, kernelA, kernelB string) {
		d := result.LightDiff{Kind: kind, Part: part, RowsA: 16, RowsB: 16, StepsA: 8, StepsB: 30, Layers: layers, A: a, B: b, Floor: floor, FloorB: floor, KernelA: kernelA, KernelB: kernelB}
		if kernelA != "" {
			d.KernelsA = []string{kernelA}
		}
		if kernelB != "" {
			d.KernelsB = []string{kernelB, "combine"}
		}
		if told && kernelA != "" {
			d.SourcesA = []string{"sglang/srt/layers/attention/triton_backend.py:386 forward"}
		}
		c.Light = append(c.Light, d)
	}
	part("decode", "attention", 24, 283_000, 374_000, 1020, "_fwd_grouped_kernel_stage1", "FlashAttnFwdSm90")
	part("decode", "gate_up_proj", 24, 914_000, 909_000, 725_000, "nvjet_tst", "nvjet_tst")
	part("decode", "wait", 0, 1_400_000, 600_000, 0, "", "")
	part("decode", "idle for the host", 0, 3_300_000, 400_000, 0, "", "")
	part("decode", "step", 0, 5_897_000, 2_283_000, 726_020, "", "")
	if told { // steps of a second kind
		part("prefill", "rope", 24, 283_000, 0, 1020, "rope_kernel", "")
		part("prefill", "other kernels", 0, 10_000, 300_000, 0, "copy", "triton_fused")
		part("prefill", "step", 0, 293_000, 300_000, 1020, "", "")
	}
	verdicts.Compared(c)
	result.NoNil(c)
	return c
}

// TestByRole: the answer by role, with the table of roles first, is the same in all forms.
func TestByRole(t *testing.T) {
	for name, told := range map[string]bool{"compare-role": false, "compare-role-told": true} {
		v := Compared(byRole(told), Options{})
		var text, md, html bytes.Buffer
		if err := v.Text(&text, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", text.Bytes())
		if err := v.Markdown(&md); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", md.Bytes())
		if err := v.HTML(&html); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"B (vLLM) takes 3.61 ms less than A (SGLang) for a decode step of 16 rows: 2.28 ms against 5.90 ms", "attention +91.0 µs (A _fwd_grouped_kernel_stage1, B FlashAttnFwdSm90 and 1 more)", "Modules by role", "FlashAttnFwdSm90 + combine"} {
			if !bytes.Contains(bytes.ReplaceAll(html.Bytes(), []byte("&#43;"), []byte("+")), []byte(want)) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
	}
}
