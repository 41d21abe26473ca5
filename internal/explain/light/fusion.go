package light

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// fusion is a pair of kernels that a fused kernel replaces. The second one vanishes.
type fusion struct {
	name          string
	first, second func(x *piece) bool
	// fused lists parts of the names of fused kernels. If one runs, the pair is not fused for another reason.
	fused []string
	// ways lists how servers run the fused kernel. Without a way for the server, there is no advice.
	ways []way
}

// way is how a server runs a fused kernel.
type way struct {
	engine engine
	fits   func(c *comparer, s *kindSteps) bool
	how    fact.Fact // the advice; empty: none is known, the pair is only reported
	flag   string    // key of SGLang's argument that turns it on; "": none
	never  string    // key of SGLang's argument that turns it off; "": none
}

// The argument that turns on SGLang's fused all-reduce, and its successor, which names a backend.
const (
	allReduceFusion  = "enable_flashinfer_allreduce_fusion"
	allReduceBackend = "flashinfer_allreduce_fusion_backend"
)

// advice returns the advice, which depends on the server's arguments, as far as they are known.
func (w *way) advice(flags map[string]any) []fact.Fact {
	option := func(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }
	switch {
	case w.how.Key == "":
		return nil
	case w.never != "" && flags[w.never] == true:
		return []fact.Fact{fact.Of("light_turned_off", "flag", option(w.never))}
	case w.flag != "" && flags[w.flag] == true:
		return []fact.Fact{fact.Of("light_turned_on", "flag", option(w.flag))}
	case w.flag == allReduceFusion && flags[allReduceBackend] != nil:
		return []fact.Fact{fact.Of("light_turned_on", "flag", option(allReduceBackend))}
	}
	return []fact.Fact{w.how}
}

// piece is a kernel with its task.
type piece struct {
	Place
	name  string // in lower case
	class kernel.Class
}

func (x *piece) norm() bool {
	return x.Role == NormIn || x.Role == NormPost || x.Role == FinalNorm
}

func is(r Role) func(x *piece) bool { return func(x *piece) bool { return x.Role == r } }

func quantises(x *piece) bool { return x.class == kernel.Quantize }

// fusions lists the fused kernels of servers, each with its conditions: those of SGLang's server arguments and of
// vLLM's documentation of its passes (fusions.md). Fusions of multi-head latent attention, sparse attention
// and linear attention are not listed, because the roles of these models' kernels are not known.
var fusions = []fusion{
	{"all-reduce and norm", is(AllReduce), (*piece).norm, []string{"allreduce_fusion", "fused_allreduce_rms", "allreduce_rmsnorm"}, []way{
		{sglang, func(c *comparer, s *kindSteps) bool {
			return c.newer() && c.plainTP() && s.rows <= 2048 && slices.Contains([]string{"qwen3", "qwen3_moe", "gpt_oss"}, c.m.Family) // other models reduce by themselves
		}, fact.Of("light_allreduce_sglang"), allReduceFusion, "enforce_disable_flashinfer_allreduce_fusion"},
		{sglang, func(c *comparer, s *kindSteps) bool { return c.amd() && c.plainTP() }, fact.Of("light_allreduce_aiter"), "enable_aiter_allreduce_fusion", ""},
		{vllm, func(c *comparer, s *kindSteps) bool {
			return c.plainTP() && s.rows*c.m.Hidden*actBytes <= c.mostFused()
		}, fact.Of("light_allreduce_vllm"), "", ""},
	}},
	{"add and norm", func(x *piece) bool { return x.class == kernel.Elementwise && strings.Contains(x.name, "add") }, (*piece).norm, []string{"fusedaddrmsnorm", "fused_add_rms"}, []way{
		{sglang, always, fact.Fact{}, "", ""}, {vllm, always, fact.Fact{}, "", ""},
	}},
	{"SiLU and product", func(x *piece) bool { return x.Role == Act && strings.Contains(x.name, "silu") }, func(x *piece) bool {
		return x.Role == Act && strings.Contains(x.name, "mul")
	}, []string{"act_and_mul", "silu_and_mul"}, []way{{sglang, always, fact.Fact{}, "", ""}, {vllm, always, fact.Fact{}, "", ""}}},
	{"q norm and k norm", is(QKNorm), is(QKNorm), []string{"qknorm", "qk_norm"}, []way{{sglang, always, fact.Fact{}, "", ""}}},
	{"q/k norm and rope", is(QKNorm), is(Rope), []string{"qk_norm_rope", "qknormrope"}, []way{
		{sglang, func(c *comparer, _ *kindSteps) bool {
			return c.m.Family == "qwen3_moe" && !c.amd() && slices.Contains([]int{64, 128, 256}, c.m.HeadDim)
		}, fact.Of("light_norm_rope_sglang"), "enable_fused_qk_norm_rope", ""}, // dense models do not read the flag
	}},
	{"rope and KV write", is(Rope), is(KVWrite), []string{"rope_store", "fused_set_kv", "rope_and_unified_kv"}, []way{
		{sglang, always, fact.Fact{}, "", ""}, {vllm, func(c *comparer, s *kindSteps) bool { return c.amd() && s.rows <= 256 }, fact.Of("light_rope_vllm"), "", ""},
	}},
	{"norm and quantisation", (*piece).norm, quantises, []string{"rms_norm_quant", "norm_dynamic_per_token_quant", "rms_fp8"}, []way{{vllm, always, fact.Of("light_norm_quant_vllm"), "", ""}}},
	{"activation and quantisation", is(Act), quantises, []string{"silu_and_mul_quant", "mul_quant"}, []way{{vllm, always, fact.Of("light_act_quant_vllm"), "", ""}}},
	{"attention and quantisation", is(Attention), quantises, nil, []way{{vllm, always, fact.Of("light_attention_quant_vllm"), "", ""}}},
	{"experts and their sum", is(ExpertsOut), is(ExpertsSum), nil, []way{
		{sglang, func(c *comparer, _ *kindSteps) bool {
			return c.plainTP() && c.l.EP == 1 && c.m.TopK > 2 && !c.amd() && c.m.Weight.Bytes >= 1 && c.runs("fused_moe_kernel")
		}, fact.Of("light_sum_sglang"), "enable_fused_moe_sum_all_reduce", ""},
	}},
	{"product and its reduction", func(x *piece) bool { return x.class == kernel.GEMM }, func(x *piece) bool { return strings.Contains(x.name, "splitkreduce") }, nil, []way{
		{sglang, always, fact.Fact{}, "", ""}, {vllm, always, fact.Fact{}, "", ""},
	}},
}

func always(*comparer, *kindSteps) bool { return true }

// plainTP reports whether several ranks share all products, without data-parallel attention.
func (c *comparer) plainTP() bool { return c.l.TP > 1 && c.l.AttnTP == c.l.TP }

// runs reports whether a kernel with this text in its name runs in any step.
func (c *comparer) runs(text string) bool {
	return slices.ContainsFunc(c.a.Names.List, func(n string) bool { return strings.Contains(strings.ToLower(n), text) })
}

// inMost is the share of the layers in which the pair must run.
const inMost = 0.9

// fusions returns a change for each pair of kernels that the server could fuse.
func (c *comparer) fusions(s *kindSteps) (list []Change) {
	for i := range fusions {
		f := &fusions[i]
		at := slices.IndexFunc(f.ways, func(w way) bool { return w.engine == engineOf(c.a.Ranks) && w.fits(c, s) })
		if at < 0 {
			continue
		}
		if x, ok := c.fuse(f, s); ok {
			x.How = f.ways[at].advice(c.flags)
			list = append(list, x)
		}
	}
	return list
}

// fuse finds the kernels that vanish. ok is false if they do not run in most layers, or if a fused kernel runs too.
func (c *comparer) fuse(f *fusion, s *kindSteps) (x Change, ok bool) {
	vanish := make([]map[int32]bool, len(c.a.Ranks))
	names, time, calls := map[string]int{}, int64(0), 0
	type place struct {
		rank int
		step int32
		Place
	}
	layers := map[place]bool{} // in which a pair runs
	for i, r := range c.a.Ranks {
		vanish[i] = map[int32]bool{}
		before := map[trace.TrackID]*piece{} // the latest kernel of each stream
		for op := range r.Ops {
			o, t := &r.Ops[op], &c.tasks[i][op]
			if !t.told || r.Steps[o.Step].Info.Kind != s.kind || o.Class == kernel.Copy || o.Class == kernel.Memset {
				continue
			}
			x := &piece{t.Place, strings.ToLower(c.a.Names.List[o.Name]), o.Class}
			if slices.ContainsFunc(f.fused, func(text string) bool { return strings.Contains(x.name, text) }) {
				return Change{}, false
			}
			if b := before[o.Track]; b != nil && f.first(b) && f.second(x) && !(b.Role == x.Role && b.Layer != x.Layer) {
				vanish[i][int32(op)] = true
				names[c.a.Names.List[o.Name]]++
				layers[place{i, o.Step, Place{Layer: x.Layer}}] = true
				time, calls = time+o.End-o.Start, calls+1
			}
			before[o.Track] = x
		}
	}
	x = c.change(s, result.ChangeFusion, s.all(), time, calls)
	if float64(len(layers)) < inMost*float64(s.n*c.m.Layers) || float64(x.Time) < leastChange*float64(s.step) {
		return Change{}, false
	}
	x.Kernels, x.Modules = []string{most(names)}, []string{f.name}
	x.Say = fact.Of("light_fusion", "pair", f.name, "calls", x.Calls, "time", x.Time)
	x.after = func(rank int, op int32) (int64, bool) { return 0, vanish[rank][op] }
	return x, true
}

// engine is the server that wrote a trace.
type engine uint8

const (
	unknownEngine engine = iota
	sglang
	vllm
)

// engineOf tells the server by the names of its steps.
func engineOf(ranks []*match.Rank) engine {
	for _, r := range ranks {
		for i := range r.Steps {
			switch name := r.Steps[i].Name; {
			case strings.HasPrefix(name, "step["):
				return sglang
			case strings.HasPrefix(name, "execute_"):
				return vllm
			}
		}
	}
	return unknownEngine
}

// newer reports whether the device is a Hopper or a Blackwell of data centres, which FlashInfer's fused all-reduce needs.
func (c *comparer) newer() bool { return c.hopper() || c.blackwell() }

func (c *comparer) hopper() bool { return c.is("H100", "H200", "H800", "H20") }

func (c *comparer) blackwell() bool { return c.is("B200", "B300") }

func (c *comparer) amd() bool { return c.is("AMD", "MI300", "MI325", "MI355") }

// is reports whether the name of the device, as recorded, has one of the given parts.
func (c *comparer) is(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(c.card, p) })
}

// mostFused returns the size of the largest message, in bytes, that vLLM's fused all-reduce takes (its table
// FI_ALLREDUCE_FUSION_MAX_SIZE_MB); 0: none.
func (c *comparer) mostFused() int {
	of := map[int]float64{}
	switch {
	case c.hopper():
		of = map[int]float64{2: 64, 4: 2, 8: 0.5}
	case c.blackwell():
		of = map[int]float64{2: 64, 4: 32, 8: 1}
	}
	return int(of[c.l.TP] * (1 << 20))
}
