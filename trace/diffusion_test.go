package trace

import "testing"

// TestDiffusionSteps: a profiler's steps are denoising steps if the file name says that SGLang's diffusion programs
// wrote it, otherwise steps of unknown kind.
func TestDiffusionSteps(t *testing.T) {
	for path, want := range map[string]StepKind{
		"/logs/5f0c3d1e-5_steps-global-rank0.trace.json.gz": Denoising,
		"/logs/run-TP-0.trace.json.gz":                      OtherStep,
	} {
		tr := &Trace{Source: Source{Path: path}}
		for i, name := range []string{"ProfilerStep#1", "ProfilerStep#2"} {
			tr.Spans = append(tr.Spans, Span{Start: int64(10 * i), Dur: 9, Name: tr.Strings.Intern([]byte(name)), Cat: UserAnnotation, Detail: -1})
		}
		passes, rule := Passes(tr)
		if len(passes) != 2 || rule != ByProfiler || passes[1].Step.Kind != want || passes[1].Step.Index != 2 {
			t.Errorf("%s: %+v by %s; want two of %s", path, passes, rule, want)
		}
	}
}
