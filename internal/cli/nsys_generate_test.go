package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// analyzedReport is what analyze says of a report of generate without a GPU.
func analyzedReport(t *testing.T, path string) (r result.Report) {
	t.Helper()
	status, out, errs := stepscope(t, "analyze", "--json", path)
	if status != exitOK && status != exitIncomplete {
		t.Fatalf("analyze: status %d\n%s", status, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.ID == "data-host" && strings.Contains(f.Title.Text, "inference steps") {
			t.Errorf("more steps give this machine no GPU: %s", f.Title.Text)
		}
	}
	return r
}

// TestNsysGenerate: both command lines of SGLang's documents, the whole of a run and a part of it, have the stages,
// steps and modules of a pipeline.
func TestNsysGenerate(t *testing.T) {
	realNsys(t)
	generate := func(steps string) []string {
		return []string{"--", "stepscope", "generate", "--model-path", "builtin:z-image-tiny", "--prompt", "a cat", "--tp-size", "2",
			"--num-inference-steps", steps, "--enable-layerwise-nvtx-marker", "--warmup-mode", "request"}
	}
	report := filepath.Join(t.TempDir(), "r")
	cmd, log := program(t, append([]string{"nsys", "run", "--trace=nvtx", "-o", report}, generate("3")...)...)
	if status := ends(t, cmd); status != exitOK {
		t.Fatalf("status %d\n%s", status, log)
	}
	r := analyzedReport(t, report+".nsys-rep")
	var stages []string
	for _, s := range r.Stages {
		if s.Count != 1 || s.Host <= 0 { // once: the warm-up is not there
			t.Errorf("%+v", s)
		}
		stages = append(stages, s.Stage)
	}
	want := []string{"InputValidationStage", "TextEncodingStage", "LatentPreparationStage", "TimestepPreparationStage", "denoising_stage", "decoding_stage"}
	if stages = slices.Compact(stages); !slices.Equal(stages, want) || len(r.Stages) != 2*len(want) {
		t.Errorf("%d stages, %v", len(r.Stages), stages)
	}
	if len(r.Steps) != 3 || r.Steps[0].Kind != "denoising" || len(r.Steps[0].Ranks) != 2 {
		t.Errorf("steps: %+v", r.Steps)
	}
	has := func(r *result.Report, module string) bool {
		return slices.ContainsFunc(r.Layers.Modules, func(m result.ModuleRow) bool { return m.Name == module })
	}
	for _, m := range []string{
		"TextEncodingStage.text_encoder.layers.*.self_attn.qkv_proj", "denoising_stage.transformer.layers.*.attention.to_qkv",
		"denoising_stage.transformer.context_refiner.*.attention_norm1", "decoding_stage.vae.decoder.mid_block.resnets.0.conv1",
	} {
		if !has(&r, m) {
			t.Errorf("no module %s", m)
		}
	}

	// A program that ends before its window leaves no report, which is told.
	cmd, log = program(t, append([]string{"nsys", "run", "--trace=nvtx", "--delay", "600", "-o", report + "-late"}, generate("1")...)...)
	if status := ends(t, cmd); status != exitIncomplete || !strings.Contains(log.String(), "there is no report: the program ended before the --delay of 10m0s had passed") {
		t.Errorf("status %d\n%s", status, log)
	}

	// A part of a longer run takes the place of that report.
	before, err := os.Stat(report + ".nsys-rep")
	if err != nil {
		t.Fatal(err)
	}
	cmd, log = program(t, append([]string{"nsys", "run", "--trace=nvtx", "--force-overwrite", "--delay", "1", "--duration", "1", "-o", report}, generate("200")...)...)
	if status := ends(t, cmd); status != exitOK {
		t.Fatalf("status %d\n%s", status, log)
	}
	if after, err := os.Stat(report + ".nsys-rep"); err != nil || !after.ModTime().After(before.ModTime()) {
		t.Fatalf("%v: the report is the one before", err)
	}
	r = analyzedReport(t, report+".nsys-rep")
	if n := len(r.Steps); n == 0 || n >= 200 || !has(&r, "denoising_stage.transformer.layers.*.feed_forward") {
		t.Errorf("%d steps in a second", n)
	}
}
