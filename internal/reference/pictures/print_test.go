package pictures

import (
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
)

// TestPrint checks that the files of one image are listed in a fixed order.
func TestPrint(t *testing.T) {
	t.Parallel()
	p := Picture{
		Prompt: "a cat", Size: Size{64, 32}, Steps: 2, Path: "out/cat.png", Dump: "cat.json",
		Result: &diffusion.Result{Total: 4 * time.Second, Steps: []time.Duration{2 * time.Second, time.Second}, Traces: []string{"a.json", "b.json"}},
	}
	const want = "Denoising steps took 1.00 s (median); the first, a warm-up, took 2.00 s.\n" +
		"Picture: out/cat.png\nTiming report: cat.json\nTraces: stepscope analyze a.json b.json\n"
	for range 20 {
		var out strings.Builder
		if err := Print(&out, []Picture{p}); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Fatalf("%v\n%s", err, out.String())
		}
	}
}
