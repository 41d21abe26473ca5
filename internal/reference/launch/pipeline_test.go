package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
)

// TestPipelineCheck checks that a lack of memory is detected before the weights are loaded, and that a truncated prompt
// is reported.
func TestPipelineCheck(t *testing.T) {
	var lines []string
	p, err := OpenPipeline(PipelineArgs{ModelPath: "builtin:z-image-tiny", DType: "auto", TP: 1, Sigmas: "sglang"}, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	q, err := p.Request("a cat", strings.Repeat("x", 600))
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Negative) != 512 || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "The negative prompt is too long: the last ") }) {
		t.Errorf("%d tokens, logged %q", len(q.Negative), lines)
	}
	if err := p.Check(q); err != nil {
		t.Error(err)
	}
	p.memory = 1 << 20
	if err := p.Check(q); err == nil || !strings.Contains(err.Error(), "GB of memory on each rank") {
		t.Error(err)
	}
}

// TestFaultStages checks that an unknown stage is refused at start-up, because its fault would never take effect.
func TestFaultStages(t *testing.T) {
	for fault, want := range map[string]string{
		"rank=0,stage=denoising_stage,kernel_factor=2": "",
		"rank=0,stage=denoise,kernel_factor=2":         "stage=denoise: unknown stage, choose from InputValidationStage, TextEncodingStage, LatentPreparationStage, TimestepPreparationStage, denoising_stage, decoding_stage",
	} {
		_, err := parseFaults([]string{fault}, 1, diffusion.Stages())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", fault, err, want)
		}
		if _, err := parseFaults([]string{fault}, 1, nil); err == nil || !strings.Contains(err.Error(), "only diffusion pipelines have stages") {
			t.Errorf("%s for a language model: %v", fault, err)
		}
	}
}
