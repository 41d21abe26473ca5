package diffusion

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// ranges are the ranges that a tool receives from a rank, indented by depth.
type ranges struct {
	depth int
	texts []string
}

func (r *ranges) Bind(string) {}
func (r *ranges) Pop()        { r.depth-- }
func (r *ranges) Push(text string) {
	r.texts = append(r.texts, strings.Repeat(" ", r.depth)+text)
	r.depth++
}

// marked is a pipeline on the given number of ranks, each of which reports its ranges.
func marked(t *testing.T, tp int) (*Pipeline, Request, []*ranges) {
	t.Helper()
	told := make([]*ranges, tp)
	p, q := tinyWith(t, tp, func(rank int) device.Options {
		told[rank] = &ranges{}
		return device.Options{Marks: told[rank]}
	}, Options{Markers: true})
	return p, q, told
}

// TestMarkers checks that stages, steps and modules have the texts of SGLang 0.5.23, with the sizes of the rank's
// share.
func TestMarkers(t *testing.T) {
	p, q, told := marked(t, 2)
	q.Steps = 2
	if _, err := p.Generate(context.Background(), &Job{Request: q}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/markers.txt")
	if err != nil {
		t.Fatal(err)
	}
	// Only the first layer, block and resnet: the others are alike.
	alike := regexp.MustCompile(`layers\.1|up_blocks\.[12]|resnets\.1|noise_refiner|denoising_step_1`)
	for rank, r := range told {
		if r.depth != 0 {
			t.Errorf("rank %d: %d ranges are open", rank, r.depth)
		}
		var seen []string
		for _, text := range r.texts {
			if !alike.MatchString(text) && !slices.Contains(seen, text) {
				seen = append(seen, text)
			}
		}
		if got := strings.Join(seen, "\n") + "\n"; rank == 0 && got != string(want) {
			t.Errorf("not testdata/markers.txt:\n%s", got)
		}
		if len(seen) != len(strings.Split(string(want), "\n"))-1 {
			t.Errorf("rank %d has %d different ranges", rank, len(seen))
		}
	}
}

// TestMarkersClose checks that an error in the loop leaves no range open, and that a warm-up has none.
func TestMarkersClose(t *testing.T) {
	p, q, told := marked(t, 1)
	if _, err := p.Generate(context.Background(), &Job{Request: q, Quiet: true}); err != nil {
		t.Fatal(err)
	}
	if len(told[0].texts) > 0 {
		t.Errorf("a warm-up has %d ranges, %s", len(told[0].texts), told[0].texts[0])
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	_, err := p.Generate(ctx, &Job{Request: q, Step: func(done, _ int) {
		if done == 2 {
			cancel(enough)
		}
	}})
	if !errors.Is(err, enough) || told[0].depth != 0 || !slices.Contains(told[0].texts, "  denoising_step_1_t947.4") {
		t.Errorf("%v, %d of %d ranges are open", err, told[0].depth, len(told[0].texts))
	}
}
