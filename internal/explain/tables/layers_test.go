package tables_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

func findLayer(t *testing.T, r *result.Report, kind string, layer int) result.LayerRow {
	t.Helper()
	i := slices.IndexFunc(r.Layers.Layers, func(l result.LayerRow) bool { return l.Kind == kind && l.Layer == layer })
	if i < 0 {
		t.Fatalf("no layer %d in %s steps: %+v", layer, kind, r.Layers.Layers)
	}
	return r.Layers.Layers[i]
}

func findModule(t *testing.T, r *result.Report, kind, name string) result.ModuleRow {
	t.Helper()
	i := slices.IndexFunc(r.Layers.Modules, func(m result.ModuleRow) bool { return m.Kind == kind && m.Name == name })
	if i < 0 {
		t.Fatalf("no %s in %s steps: %+v", name, kind, r.Layers.Modules)
	}
	return r.Layers.Modules[i]
}

// TestLayers checks the tables against figures worked out by hand: three decode steps of two layers, in which layer 1
// takes 400 ns more, and one prefill.
func TestLayers(t *testing.T) {
	y := toytrace.New()
	at := int64(0)
	for _, name := range []string{"step[EXTEND bs=4 toks=4]", "step[DECODE bs=4]", "step[DECODE bs=4]", "step[DECODE bs=4]"} {
		at = explaintest.ModelStep(y, at, name, 2, func(l int) int64 { return 600 + 400*int64(l) })
	}
	r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})

	// embedding 100, layer 0 200+50+600+80, layer 1 the same and 400, sampling 300.
	const layer0, layer1 = 930, 1330
	const whole = 100 + layer0 + layer1 + 300
	want := []result.LayerTotal{
		{Kind: "decode", Steps: 3, GPU: whole, InModule: whole - 300},
		{Kind: "prefill", Steps: 1, GPU: whole, InModule: whole - 300},
	}
	for i, w := range want {
		got := r.Layers.Totals[i]
		got.Host, got.InRange = 0, 0
		if got != w {
			t.Errorf("totals row %d: got %+v, want %+v", i, got, w)
		}
	}
	for l, gpu := range []int64{layer0, layer1} {
		got := findLayer(t, r, "decode", l)
		like := float64(layer0+layer1) / 2
		w := result.LayerRow{
			Kind: "decode", Stack: "model.layers", Layer: l, GPU: gpu, Share: metric.Share(gpu, whole), Host: got.Host, Kernels: 4, Calls: 1,
			Elements: 2 * 64 * 256, OfLike: float64(gpu) / like, Slowest: -1,
		}
		if got != w {
			t.Errorf("layer %d:\n got %+v\nwant %+v", l, got, w)
		}
	}
	for _, w := range []result.ModuleRow{
		{Name: "(model)", GPU: whole - 300, Kernels: 9, Calls: 1, Modules: 1, Class: "GEMM"},
		{Name: "model.embed_tokens", GPU: 100, Self: 100, Kernels: 1, Calls: 1, Modules: 1, Class: "elementwise", Elements: 64000, Inputs: "[4]", Varied: 1},
		{Name: "model.layers.*", GPU: layer0 + layer1, Self: 100, Kernels: 8, Calls: 2, Modules: 2, Class: "GEMM", Inputs: "[4] [4, 64]", Varied: 1},
		// 2·4·64·256 operations in 600 and in 1000 ns: the all-reduce does not count.
		{Name: "model.layers.*.mlp.down_proj", GPU: 1760, Self: 1760, Kernels: 4, Calls: 2, Modules: 2, Class: "GEMM", Elements: 2 * 64 * 256, Inputs: "[4, 256]", Varied: 1,
			TFLOPs: 2 * 131072.0 / 1600 / 1e3},
		{Name: "model.layers.*.mlp.up_proj", GPU: 400, Self: 400, Kernels: 2, Calls: 2, Modules: 2, Class: "GEMM", Elements: 2 * 64 * 256, Inputs: "[4, 64]", Varied: 1,
			TFLOPs: 2 * 131072.0 / 400 / 1e3},
	} {
		got := findModule(t, r, "decode", w.Name)
		w.Kind, w.Stack, w.Module, w.Slowest = "decode", got.Stack, got.Module, -1
		w.Share, w.Host, w.HostSelf, w.Each = metric.Share(w.GPU, whole), got.Host, got.HostSelf, int64(float64(w.GPU)/w.Calls)
		if got != w {
			t.Errorf("%s:\n got %+v\nwant %+v", w.Name, got, w)
		}
	}
	// A layer without its own hooks is still the sum of its modules; a range's own host time excludes the ranges in it.
	l, up, down := findModule(t, r, "decode", "model.layers.*"), findModule(t, r, "decode", "model.layers.*.mlp.up_proj"), findModule(t, r, "decode", "model.layers.*.mlp.down_proj")
	if l.Host != l.HostSelf+up.Host+down.Host || l.HostSelf != 2*(5+20+5) {
		t.Errorf("host time of a layer: got %d, own %d, want own 60 plus projections %d and %d", l.Host, l.HostSelf, up.Host, down.Host)
	}
}

// TestLayersInGraphs: replays have no ranges, and the report gives the share of work without layers.
func TestLayersInGraphs(t *testing.T) {
	y := toytrace.New()
	at := int64(0)
	for range 3 {
		at = explaintest.ModelStep(y, at, "step[EXTEND bs=4 toks=64]", 2, func(int) int64 { return 600 })
		corr := y.Launch("cudaGraphLaunch", at, at+30)
		y.Op(trace.Kernel, "nvjet_tst_64x8", corr, 1, at+40, at+940, 1).Op(trace.Kernel, "silu", corr, 1, at+950, at+1050, 1)
		y.Span(trace.UserAnnotation, 0, "step[DECODE bs=4]", at-10, at+1100)
		at += 1200
	}
	r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
	if got := r.Layers.Totals[0]; got.Kind != "decode" || got.GPU != 1000 || got.Graphs != 1000 || got.InModule != 0 {
		t.Errorf("decode: got %+v, want 1000 ns of GPU work, all in graphs", got)
	}
	said := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
		return strings.HasPrefix(report.Words(f.Title), "100 % of the GPU time of decode steps is in replayed CUDA graphs") && strings.Contains(report.Words(f.Title), "--disable-cuda-graph")
	})
	if !said {
		t.Errorf("the report does not state that all decode work is in replayed graphs%s", explaintest.Describe(r))
	}
	ts := explaintest.Twelve(1, 3, func(int, int, int) int64 { return 600 })
	y = &toytrace.Toy{T: ts[0]}
	end := y.T.Spans[len(y.T.Spans)-1].End()
	y.Span(trace.UserAnnotation, 0, "step[EXTEND bs=1 toks=9]", end+10_000, end+20_000)
	explaintest.CPUOnly(y.Done())
	r = explaintest.Analyzed(t, ts)
	if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
		return strings.HasPrefix(report.Words(f.Title), "prefill steps have no layer-wise markers")
	}) || len(r.Findings) != 2 {
		t.Errorf("want two findings, one of them that prefill steps have no layer-wise markers%s", explaintest.Describe(r))
	}
}

// TestDenoising reads a diffusion pipeline: stages around the loop are outside of steps, and names without inputs are
// modules if their component is known.
func TestDenoising(t *testing.T) {
	y := toytrace.New()
	at, gpu := int64(0), int64(100)
	run := func(ns int64) {
		y.Run("nvjet_tst_64x8", at, gpu, gpu+ns, 1)
		at, gpu = at+20, gpu+ns+10
	}
	in := func(text string, body func()) {
		from := at
		at += 2
		body()
		at += 2
		y.Span(trace.UserAnnotation, 0, text, from, at)
	}
	in("stage_text_encoding_stage", func() { in("text_encoder in=[[1, 512]]", func() { run(700) }) })
	in("stage_denoising_stage", func() {
		in("denoising_loop", func() {
			for i := range 4 {
				in(fmt.Sprintf("denoising_step_%d_t%d", i, 1000-i*125), func() {
					in("predict_noise", func() {
						in("transformer in=[[1, 16, 8, 8]]", func() {
							for l := range 3 {
								in(fmt.Sprintf("transformer.layers.%d.attention.to_q in=[[1, 64, 32]]", l), func() { run(100) })
							}
							in("transformer.rope_embedder", func() { run(30) })
						})
					})
					in("scheduler_step", func() { run(50) })
				})
			}
		})
	})
	in("somebody.elses", func() { run(1) })
	r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
	if r.Source.StepRule != trace.ByAnnotations || len(r.Steps) != 4 || r.Steps[0].Kind != "denoising" {
		t.Fatalf("got steps by %s: %+v, want 4 denoising steps by annotations", r.Source.StepRule, r.Steps)
	}
	for _, c := range []struct {
		kind, name string
		gpu        int64
		scope      bool
	}{
		{"denoising", "denoising_step", 380, true}, {"denoising", "predict_noise", 330, true}, {"denoising", "scheduler_step", 50, true},
		{"denoising", "transformer", 330, false}, {"denoising", "transformer.layers.*.attention.to_q", 300, false}, {"denoising", "transformer.rope_embedder", 30, false},
		{"outside", "stage_text_encoding_stage", 700, true}, {"outside", "text_encoder", 700, false},
	} {
		if m := findModule(t, r, c.kind, c.name); m.GPU != c.gpu || m.Scope != c.scope {
			t.Errorf("%s: got %+v, want %d ns", c.name, m, c.gpu)
		}
	}
	if l := findLayer(t, r, "denoising", 2); l.GPU != 100 || l.Stack != "transformer.layers" {
		t.Errorf("layer 2: got %+v, want 100 ns in transformer.layers", l)
	}
	if got := r.Layers.Totals; got[0].InModule != 330 || got[1].GPU != 701 || got[1].InModule != 700 {
		t.Errorf("got totals %+v, want 330 ns of denoising and 700 of 701 ns outside in modules", got)
	}
}

// TestHostOnly: steps and layers of a server on CPUs are measured in host time.
func TestHostOnly(t *testing.T) {
	build := func(name string) *trace.Trace {
		y := toytrace.New()
		at := int64(0)
		for range 3 {
			at = explaintest.ModelStep(y, at, name, 2, func(int) int64 { return 600 })
		}
		tr := y.Done()
		explaintest.CPUOnly(tr)
		return tr
	}
	for _, c := range []struct {
		name, rule, kind string
		steps            int
	}{
		{"step[DECODE bs=4]", trace.ByAnnotations, "decode", 3},
		{"no step", trace.ByModules, "other", 3},
	} {
		r := explaintest.Analyzed(t, []*trace.Trace{build(c.name)})
		if r.Source.StepRule != c.rule || len(r.Steps) != c.steps || r.Steps[0].Ranks[0].CPU == 0 {
			t.Errorf("%s: got %d steps by %s, want %d by %s with CPU time", c.name, len(r.Steps), r.Source.StepRule, c.steps, c.rule)
		}
		l, m := findLayer(t, r, c.kind, 1), findModule(t, r, c.kind, "(model)")
		if l.GPU != 0 || l.Host == 0 || l.Share <= 0 || m.Share <= 2*l.Share || m.Share > 1 {
			t.Errorf("%s: got layer %+v, model %+v, want shares of host time", c.name, l, m)
		}
		if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-host" }) {
			t.Errorf("%s: the report does not state that there is no GPU work%s", c.name, explaintest.Describe(r))
		}
	}
}

// TestNoLayers: other annotations are not layers.
func TestNoLayers(t *testing.T) {
	r := explaintest.Analyzed(t, explaintest.RealSet(t, "stacks"))
	if l := r.Layers; len(l.Totals)+len(l.Layers)+len(l.Modules) > 0 {
		t.Errorf("got layers %+v, want none", l)
	}
}

// TestCompareModules: the comparison names the module that got slower, and all modules around it.
func TestCompareModules(t *testing.T) {
	base := explaintest.Twelve(2, 20, func(rank, step, layer int) int64 { return 600 + int64((rank+3*step+layer)%7) })
	slow := explaintest.Twelve(2, 20, func(rank, step, layer int) int64 { return 900 + int64((2*rank+step+layer)%7) })
	c := explaintest.Compared(t, base, slow, explain.CompareOptions{})
	want := map[string]string{
		"(model)": result.Slower, "model.layers.*": result.Slower, "model.layers.*.mlp.down_proj": result.Slower, "model.layers.*.mlp.up_proj": result.Same, "model.embed_tokens": result.Same,
	}
	got := map[string]string{}
	for _, d := range c.Modules {
		got[d.Module] = d.Verdict
		if d.Verdict == result.Slower && explaintest.Abs(int64(d.B-d.A)-12*300) > 36 {
			t.Errorf("%s: got change %+v, want 12 × 300 ns as injected", d.Module, d.Change)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if c := explaintest.Compared(t, base, explaintest.RealSet(t, "graphs"), explain.CompareOptions{}); len(c.Modules) > 0 {
		t.Errorf("one side without markers: got modules %+v, want none", c.Modules)
	}
}
