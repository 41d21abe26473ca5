package explain_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestByRole compares recorded windows by the roles of their kernels. In sglang17_sleep, the host of a rank sleeps for 3 ms in
// each step; the products take about the same time in SGLang and vLLM.
func TestByRole(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	model := func(config string) light.Options {
		if config == "" {
			return light.Options{}
		}
		m, err := light.ReadModel([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		return light.Options{Model: m}
	}
	other := strings.Replace(denseModel, `"num_hidden_layers":24`, `"num_hidden_layers":28`, 1)
	for _, c := range []struct {
		a, b, modelA, modelB string
		want                 []string // parts of the verdict
	}{
		{"sglang17_sleep", "vllm26_plain", denseModel, denseModel, []string{"B (vLLM) takes 3.83 ms less than A (SGLang) for a decode step of 16 rows: 4.66 ms against 8.49 ms, means of 29 and 8 steps", "needs at least 1.43 ms",
			"idle for the host -2.89 ms", "attention +91.3 µs (A _fwd_grouped_kernel_stage1", "AttnFwdSm90", ". A has a late rank, TP01: without its lateness, its decode steps would take 2.02 ms less"}},
		{"sglang17_sleep", "vllm26_plain", denseModel, "", []string{"B (vLLM) takes 3.83 ms less than A (SGLang)"}},
		{"vllm26_plain", "vllm26_hog", denseModel, denseModel, nil},
		{"sglang17_sleep", "vllm26_plain", "", "", []string{"no kind of step and batch size occurs in both"}},
		{"sglang17_hog", "vllm26_plain", denseModel, denseModel, []string{"only A was recorded with Python stacks"}},
		{"sglang17_sleep", "vllm26_plain", denseModel, other, []string{"the models differ (qwen3, 24 layers", "qwen3, 28 layers"}},
		{"sglang_plain", "vllm26_plain", denseModel, denseModel, []string{"the devices differ (H200 SXM; H100 SXM)", "only A was recorded with Python stacks"}},
		{"sglang_moe", "vllm26_plain", moeModel, denseModel, []string{"the models differ (qwen3_moe, 16 layers, hidden size 2048, bf16, 64 experts of 768; qwen3, 24 layers, hidden size 4096, bf16, intermediate size 12288)"}},
		{"sglang17_sleep", "vllm26_plain", other, "", []string{"the kernels of some decode steps of A cannot be assigned to modules: the step has 24 layers, the model 28"}},
		{"sglang_moe", "vllm26_plain", denseModel, denseModel, []string{"the devices differ", "the model is divided differently (TP 2, DP attention 2, EP 2; TP 2)"}},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			got, err := explain.Compare(explaintest.ReadDir(t, filepath.Join(data, "traces", c.a)), explaintest.ReadDir(t, filepath.Join(data, "traces", c.b)),
				explain.CompareOptions{IDA: "a", IDB: "b", Sides: [2]explain.SideOptions{{Light: model(c.modelA)}, {Light: model(c.modelB)}}})
			if err != nil {
				t.Fatal(err)
			}
			verdict := report.Words(got.Verdict)
			for _, want := range c.want {
				if !strings.Contains(verdict, want) {
					t.Errorf("verdict %q, want %q", verdict, want)
				}
			}
			compared := c.want == nil || strings.HasPrefix(verdict, "B ")
			if (len(got.Light) > 0) != compared || compared == (got.LightWhy.Key != "" || c.modelA == "") {
				t.Errorf("%d rows, %s", len(got.Light), got.LightWhy)
			}
			var sum [4]int64
			for _, d := range got.Light {
				if own := [4]int64{d.A, d.B, d.Floor, d.FloorB}; d.Part != "step" {
					for i := range own {
						sum[i] += own[i]
					}
				} else {
					if sum[0] != own[0] || sum[1] != own[1] || near(sum[2], own[2]) || near(sum[3], own[3]) {
						t.Errorf("%s: the parts add up to %v of %v", d.Kind, sum, own)
					}
					sum = [4]int64{}
				}
				switch light.Role(d.Part) {
				case light.QKV, light.O, light.GateUp, light.Down, light.Head:
					if d.Floor == 0 || d.KernelA == "" || d.KernelB == "" || c.b != "vllm26_hog" && math.Abs(float64(d.B-d.A)) > 0.1*float64(d.A) {
						t.Errorf("%+v", d)
					}
				}
			}
		})
	}
}

// near reports whether floors, each of which is rounded down, do not add up.
func near(sum, whole int64) bool { return whole-sum > 40 || sum > whole }

// TestByRoleOfRanks compares the ranks of one window: one rank of graph_work runs two more MLPs a layer, so its kernels have no
// known roles; those of sglang_moe sum up the experts with different grids.
func TestByRoleOfRanks(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	compare := func(set, config, a, b string) *result.Comparison {
		m, err := light.ReadModel([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		side := explain.SideOptions{Light: light.Options{Model: m}}
		ranks := explaintest.ReadDir(t, filepath.Join(data, "traces", set))
		got, err := explain.Compare(ranks, ranks, explain.CompareOptions{OnlyA: a, OnlyB: b, Sides: [2]explain.SideOptions{side, side}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	work := compare("graph_work", strings.NewReplacer(`"num_hidden_layers":2`, `"num_hidden_layers":6`, "128000", "64000").Replace(stacksModel), "TP00", "TP01")
	if why := report.Words(work.LightWhy); len(work.Light) > 0 || !strings.Contains(why, "some decode steps of B cannot be assigned") {
		t.Errorf("graph_work: %d rows, %q", len(work.Light), why)
	}
	got := compare("sglang_moe", moeModel, "TP00-DP00-EP00", "TP01-DP01-EP01")
	var sum result.LightDiff
	for _, d := range got.Light {
		if d.Part == string(light.ExpertsSum) {
			sum = d
		}
	}
	if sum.A < 4*sum.B || sum.B == 0 {
		t.Errorf("sum of experts: %+v; %s", sum, got.LightWhy)
	}
}
