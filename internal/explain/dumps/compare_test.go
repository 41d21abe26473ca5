package dumps_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/dumps"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// generation returns the dump of a generation with the given times of denoising steps and decoding, in ms.
func generation(steps []float64, decoding float64) *api.PerfDump {
	d := &api.PerfDump{Stages: []api.StageTime{{Name: "TextEncodingStage", MS: 90}, {Name: "DenoisingStage"}, {Name: "DecodingStage", MS: decoding}}}
	for i, ms := range steps {
		d.Steps = append(d.Steps, api.StepTime{Step: i, MS: ms})
		d.Stages[1].MS += ms
	}
	d.TotalMS = 90 + d.Stages[1].MS + decoding + 2
	return d
}

// noisy returns a generation on a busy machine: everything takes up to 10 % longer, and an occasional step twice as long.
func noisy(r *rand.Rand, steps int, change func(steps []float64, decoding *float64)) *api.PerfDump {
	noise := func(ms float64) float64 { return ms * (1 + 0.1*r.Float64()) }
	all, decoding := []float64{noise(300)}, noise(400)
	for range steps - 1 {
		ms := noise(100)
		if r.IntN(40) == 0 {
			ms *= 2
		}
		all = append(all, ms)
	}
	if change != nil {
		change(all, &decoding)
	}
	return generation(all, decoding)
}

func side(name string, n int, of func() *api.PerfDump) dumps.Side {
	s := dumps.Side{Name: name}
	for range n {
		s.Dumps = append(s.Dumps, of())
	}
	return s
}

// TestSameBuild: equal builds are rarely reported as different, and steps rarely as slow.
func TestSameBuild(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const tries = 400
	whole, stages, slow := 0, 0, 0
	for range tries {
		make := func() *api.PerfDump { return noisy(r, 12, nil) }
		c := dumps.Compare([]dumps.Side{side("a", 6, make), side("b", 6, make)}, 0.02)
		if v := c.E2E.Values[1]; v.Verdict == result.Slower || v.Verdict == result.Faster {
			whole++
		}
		for _, row := range c.Stages {
			if v := row.Values[1].Verdict; v == result.Slower || v == result.Faster {
				stages++
				break
			}
		}
		slow += len(c.Slow)
	}
	t.Logf("of %d comparisons: differences in %d totals and %d stages, %d slow steps", tries, whole, stages, slow)
	if whole > tries*7/100 || stages > tries*8/100 || slow > tries/100 {
		t.Errorf("%d comparisons of equal builds: got differences in %d totals and %d stages and %d slow steps, want at most 7 %%, 8 %%, 1 %%", tries, whole, stages, slow)
	}
}

// TestSlower: four dumps per side suffice to find a slow stage and a slow step.
func TestSlower(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 50 {
		base := side("a", 4, func() *api.PerfDump { return noisy(r, 9, nil) })
		c := dumps.Compare([]dumps.Side{
			base,
			side("decoding", 4, func() *api.PerfDump { return noisy(r, 9, func(_ []float64, d *float64) { *d *= 2 }) }),
			side("step", 4, func() *api.PerfDump { return noisy(r, 9, func(s []float64, _ *float64) { s[3] += 400 }) }),
		}, 0.05)
		if v := c.E2E.Values; v[1].Verdict != result.Slower || v[2].Verdict != result.Slower || !v[1].Tested {
			t.Fatalf("try %d: got totals %+v, want both sides slower and tested", i, v)
		}
		if k := c.Causes[1]; len(k) != 1 || k[0].Stage != "DecodingStage" || len(k[0].Steps) > 0 {
			t.Errorf("try %d: got causes %+v of side 1, want DecodingStage", i, k)
		}
		if k := c.Causes[2]; len(k) != 1 || k[0].Stage != "DenoisingStage" || !slices.Equal(k[0].Steps, []int{3}) {
			t.Errorf("try %d: got causes %+v of side 2, want step 3 of DenoisingStage", i, k)
		}
		if len(c.Slow) != 1 || c.Slow[0].Side != 2 || c.Slow[0].Step != 3 {
			t.Errorf("try %d: got slow steps %+v, want step 3 of side 2", i, c.Slow)
		}
		names := []string{}
		for _, w := range c.Worse {
			names = append(names, fmt.Sprint(w.Side, w.Name, w.Tested))
		}
		if want := []string{"1E2Etrue", "2E2Etrue", "2DenoisingStagetrue", "1DecodingStagetrue"}; !slices.Equal(names, want) {
			t.Errorf("try %d: got regressions %q, want %q", i, names, want)
		}
	}
}

// TestThresholds: single dumps are compared by SGLang's thresholds: 2 % of the total, 10 % and 120 ms of a stage. A limit
// replaces both shares.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		a, b         float64 // ms of decoding, in addition to 98 ms
		whole, stage string
		limit        float64
		worse        int
	}{
		{902, 922, dumps.Neutral, dumps.Neutral, 0.01, 1},
		{902, 922.1, result.Slower, dumps.Neutral, 0.05, 0},
		{902, 881.9, result.Faster, dumps.Neutral, 0.05, 0},
		{902, 1022, result.Slower, dumps.Neutral, 0.05, 1},
		{902, 1022.1, result.Slower, result.Slower, 0.05, 2},
		{902, 781.9, result.Faster, result.Faster, 0.05, 0},
		{9902, 10892, result.Slower, dumps.Neutral, 0.05, 2},
		{9902, 10893, result.Slower, result.Slower, 0.2, 0},
		{0, 0, dumps.Neutral, dumps.Neutral, 0.05, 0},
	} {
		single := func(ms float64) dumps.Side {
			return side("", 1, func() *api.PerfDump { return generation([]float64{6}, ms) })
		}
		got := dumps.Compare([]dumps.Side{single(c.a), single(c.b)}, c.limit)
		if v := got.E2E.Values[1]; v.Verdict != c.whole || v.Tested {
			t.Errorf("%+v: got total %+v, want verdict %q, untested", c, v, c.whole)
		}
		if v := got.Stages[2].Values[1]; v.Verdict != c.stage || v.Status != c.stage {
			t.Errorf("%+v: got stage %+v, want verdict and status %q", c, v, c.stage)
		}
		if len(got.Worse) != c.worse {
			t.Errorf("%+v: got regressions %+v, want %d", c, got.Worse, c.worse)
		}
	}
}

// TestUnlike: the comparison names the settings in which dumps differ. Several prompts per side are equal if their sets
// are.
func TestUnlike(t *testing.T) {
	of := func(steps int, prompt any, width float64) *api.PerfDump {
		d := generation(make([]float64, steps), 100)
		d.Meta = api.DumpMeta{"model": "m"}
		if prompt != nil {
			d.Meta["prompt"] = prompt
		}
		if width > 0 {
			d.Meta["width"], d.Meta["height"] = width, width
		}
		return d
	}
	cat, dog := []any{"a cat"}, "a dog"
	for _, c := range []struct {
		name    string
		a, b    []*api.PerfDump
		unlike  string
		notSaid string
	}{
		{"equal", []*api.PerfDump{of(4, cat, 64)}, []*api.PerfDump{of(4, "a cat", 64)}, "[]", "[]"},
		{"prompts", []*api.PerfDump{of(4, cat, 64)}, []*api.PerfDump{of(4, dog, 64)}, "[{prompt [[a cat] [a dog]]}]", "[]"},
		{"sizes and steps", []*api.PerfDump{of(4, cat, 64)}, []*api.PerfDump{of(8, cat, 128)}, "[{size [[64×64] [128×128]]} {denoising steps [[4] [8]]}]", "[]"},
		{"a server's dump without settings", []*api.PerfDump{of(4, cat, 64)}, []*api.PerfDump{of(4, nil, 0)}, "[]", "[prompt size]"},
		{"the same two prompts", []*api.PerfDump{of(4, cat, 64), of(4, dog, 64)}, []*api.PerfDump{of(4, dog, 64), of(4, cat, 64)}, "[]", "[]"},
		{"a subset of the prompts", []*api.PerfDump{of(4, cat, 64), of(4, dog, 64)}, []*api.PerfDump{of(4, dog, 64)}, "[{prompt [[a cat a dog] [a dog]]}]", "[]"},
	} {
		got := dumps.Compare([]dumps.Side{{Name: "a", Dumps: c.a}, {Name: "b", Dumps: c.b}}, 0)
		if u, n := fmt.Sprint(got.Unlike), fmt.Sprint(got.NotSaid); u != c.unlike || n != c.notSaid {
			t.Errorf("%s: got differences %s, missing %s; want %s, %s", c.name, u, n, c.unlike, c.notSaid)
		}
	}
}

// TestOldDumps: denoising steps among the stages become steps, and their sum a stage, as in SGLang. Repeated stages are
// summed.
func TestOldDumps(t *testing.T) {
	old := &api.PerfDump{TotalMS: 700, Stages: []api.StageTime{
		{Name: "denoising_step_0", MS: 300}, {Name: "denoising_step_1", MS: 100}, {Name: "denoising_step_", MS: 1}, {Name: "DecodingStage", MS: 50}, {Name: "DecodingStage", MS: 50},
	}}
	fell := &api.PerfDump{TotalMS: 700, Stages: []api.StageTime{{Name: "DiffusersExecutionStage", MS: 690}}}
	c := dumps.Compare([]dumps.Side{{Name: "old", Dumps: []*api.PerfDump{old}}, {Name: "fell", Dumps: []*api.PerfDump{fell}}}, 0)
	got := ""
	for _, r := range c.Stages {
		got += fmt.Sprintf("%s %g %d %s; ", r.Name, r.Values[0].MS, r.Values[0].Count, r.Values[1].Verdict)
	}
	if want := "DiffusersExecutionStage 0 0 appeared; Denoising Loop 400 2 vanished; denoising_step_ 1 0 vanished; DecodingStage 100 0 vanished; "; got != want {
		t.Errorf("got stages %q, want %q", got, want)
	}
	if c.Sides[0].Diffusers || !c.Sides[1].Diffusers || fmt.Sprint(c.Sides[0].StepCount) != "[2]" || c.Rest.Values[0].MS != 199 || c.Steps[1].Values[0].MS != 100 {
		t.Errorf("got sides %+v, rest %+v, steps %+v, want Diffusers on side 1 only, 2 steps, a rest of 199 ms, step 1 of 100 ms", c.Sides, c.Rest, c.Steps)
	}
}

// TestModelsWay: a step that is slow on both sides is not reported.
func TestModelsWay(t *testing.T) {
	same := side("", 1, func() *api.PerfDump { return generation([]float64{300, 100, 100, 250, 100, 100}, 100) })
	one := side("", 1, func() *api.PerfDump { return generation([]float64{300, 100, 100, 100, 100, 100}, 100) })
	if c := dumps.Compare([]dumps.Side{same, same}, 0); len(c.Slow) > 0 {
		t.Errorf("a step slow on both sides: got slow steps %+v, want none", c.Slow)
	}
	if c := dumps.Compare([]dumps.Side{same, one}, 0); len(c.Slow) != 1 || c.Slow[0].Side != 0 || fmt.Sprint(c.Causes[1]) != "[{DenoisingStage -150 [3]}]" {
		t.Errorf("a step slow on side 0: got slow steps %+v, causes %+v, want side 0, DenoisingStage -150 ms", c.Slow, c.Causes)
	}
}
