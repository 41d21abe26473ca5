package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// noisy is dummy weights with norms other than 1 and biases other than 0, so that omitting one shows.
type noisy struct{ *hf.Dummy }

func (n noisy) Read(name string, off int, dst []float32) error {
	if err := n.Dummy.Read(name, off, dst); err != nil || strings.HasSuffix(name, "proj.weight") {
		return err
	}
	if shape, _ := n.Shape(name); len(shape) == 1 {
		for i := range dst {
			dst[i] += float32((off+i)*7%11-5) / 20
		}
	}
	return nil
}

// somePrompts returns random prompts of the given lengths.
func somePrompts(vocab int, lengths ...int) [][]int32 {
	var out [][]int32
	for k, n := range lengths {
		p := make([]int32, n)
		for i := range p {
			p[i] = int32(hf.Mix(uint64(1000*k+i)) % uint64(vocab))
		}
		out = append(out, p)
	}
	return out
}

func mustConfig(t testing.TB, name, overrides string) *Config {
	t.Helper()
	c, err := BuiltinConfig(name, []byte(overrides))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const small = `"hidden_size": 64, "intermediate_size": 90, "head_dim": 16, "vocab_size": 77, "bos_token_id": null, "eos_token_id": 0, "num_hidden_layers": 3`

// TestVariants checks combinations that the fixtures lack against the definition: other options of the architectures,
// other layouts, and batches of several prompts in pieces with the logits of all their tokens.
func TestVariants(t *testing.T) {
	cases := []struct {
		name, base, overrides string
		layout                layout
	}{
		{"biases", "llama-tiny", `{` + small + `, "attention_bias": true, "mlp_bias": true}`, layout{tp: 2}},
		{"biases of qwen2", "llama-tiny", `{` + small + `, "architectures": ["Qwen2ForCausalLM"]}`, layout{tp: 4}},
		{"kv heads replicated", "llama-tiny", `{` + small + `, "num_key_value_heads": 2}`, layout{tp: 8}},
		{"a rope wider than the heads are", "llama-tiny", `{` + small + `, "head_dim": 80, "num_attention_heads": 4, "num_key_value_heads": 1}`, layout{}},
		{"weights not normalized", "qwen3-moe-tiny", `{` + small + `, "norm_topk_prob": false, "moe_intermediate_size": 70}`, layout{tp: 2}},
		{"one expert a token", "qwen3-moe-tiny", `{` + small + `, "num_experts_per_tok": 1}`, layout{tp: 4, ep: 2}},
		{"every expert", "qwen3-moe-tiny", `{` + small + `, "num_experts_per_tok": 8}`, layout{tp: 8, ep: 8}},
		{"sparse step", "qwen3-moe-tiny", `{` + small + `, "decoder_sparse_step": 2, "mlp_only_layers": [0]}`, layout{tp: 2, pp: 3, ep: 2}},
		{"tied over a pipeline", "llama-tiny", `{` + small + `, "tie_word_embeddings": true}`, layout{tp: 2, pp: 2}},
		{"a feed-forward of unequal parts", "llama-tiny", `{` + small + `, "intermediate_size": 7}`, layout{tp: 4}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := mustConfig(t, c.base, c.overrides)
			src := noisy{NewDummy(cfg, 3)}
			prompts := somePrompts(cfg.Vocab, 9, 70, 1)
			def := newNaive(t, cfg, src)
			opt := Options{NumBlocks: 8, MaxTokens: 64, MaxSeqs: 5}
			j := newJob(t, cfg, src, c.layout, opt, device.Options{Workers: 2})
			// The first half of each prompt, then the rest, and all of the last one.
			seqs := make([]Seq, 2)
			for k := range seqs {
				p := prompts[k]
				seqs[k] = Seq{Tokens: p[:len(p)/2], Blocks: j.blocks(len(p)), WantAll: k == 0, NoLogits: k == 1}
			}
			first := j.forward(t, &Batch{Seqs: seqs})
			for k := range seqs {
				p := prompts[k]
				seqs[k].Tokens, seqs[k].Start, seqs[k].NoLogits, seqs[k].WantAll = p[len(p)/2:], len(p)/2, false, true
			}
			seqs = append(seqs, Seq{Tokens: prompts[2], Blocks: j.blocks(1)})
			second := j.forward(t, &Batch{Seqs: seqs})
			if len(first) != 4 || len(second) != 5+35+1 {
				t.Fatalf("%d and %d rows of logits", len(first), len(second))
			}
			got := slices.Concat(first, second)
			want := slices.Concat(def.logits(prompts[0]), def.logits(prompts[1])[35:], def.logits(prompts[2]))
			for i := range want {
				if d := furthest(got[i], want[i]); d > tolerance {
					t.Errorf("row %d is off by %g", i, d)
				}
			}
		})
	}
}

// TestSameBits checks that the results of one sequence do not depend on the rest of the batch, on graphs and their
// padding, on the chunks of its prompt or on the workers: greedy decoding stays reproducible under any load.
func TestSameBits(t *testing.T) {
	for _, name := range Builtins() {
		t.Run(name, func(t *testing.T) {
			cfg := mustConfig(t, name, `{"num_hidden_layers": 1}`)
			src := NewDummy(cfg, 1)
			prompts := somePrompts(cfg.Vocab, 270, 5, 30)
			run := func(opt Options, workers, chunk int, which ...int) []float32 {
				opt.NumBlocks, opt.MaxSeqs, opt.MaxTokens = 12, 7, 270
				j := newJob(t, cfg, src, layout{}, opt, device.Options{Workers: workers})
				var seqs []Seq
				for _, i := range which {
					p := prompts[i]
					s := Seq{Blocks: j.blocks(len(p) + 2)}
					for at := 0; at < len(p); at += chunk {
						s.Start, s.Tokens = at, p[at:min(at+chunk, len(p))]
						j.forward(t, &Batch{Seqs: []Seq{s}})
					}
					seqs = append(seqs, s)
				}
				var last []float32
				for step := range 2 {
					for k, i := range which {
						seqs[k].Start, seqs[k].Tokens = len(prompts[i])+step, []int32{int32(3*i + step)}
					}
					last = j.forward(t, &Batch{Mode: Decode, Seqs: seqs})[0]
				}
				return last
			}
			want := run(Options{NoGraphs: true}, 1, 270, 0)
			for what, got := range map[string][]float32{
				"a graph":                run(Options{}, 1, 270, 0),
				"a padded graph":         run(Options{GraphSizes: []int{6}}, 1, 270, 0),
				"three in a batch":       run(Options{}, 1, 270, 0, 1, 2),
				"no graph, three":        run(Options{NoGraphs: true}, 1, 270, 0, 1, 2),
				"workers":                run(Options{}, 3, 270, 0),
				"workers and chunks":     run(Options{}, 3, 11, 0, 2),
				"one token at a time":    run(Options{}, 1, 1, 0),
				"larger than all graphs": run(Options{GraphSizes: []int{1}}, 1, 270, 0, 1),
			} {
				if !slices.Equal(got, want) {
					t.Errorf("%s: different logits", what)
				}
			}
		})
	}
}

// TestBF16 checks that the 16-bit formats differ from the definition by their rounding only.
func TestBF16(t *testing.T) {
	for _, name := range Builtins() {
		cfg := mustConfig(t, name, `{`+small+`}`)
		src := NewDummy(cfg, 1)
		prompt := somePrompts(cfg.Vocab, 20)[0]
		want := newNaive(t, cfg, src).logits(prompt)
		for _, c := range []struct {
			format tensor.Format
			most   float64
		}{{tensor.BF16, 0.05}, {tensor.BF16Dot, 0.1}} {
			j := newJob(t, cfg, src, layout{tp: 2}, Options{Format: c.format, NumBlocks: 2}, device.Options{})
			got := j.forward(t, &Batch{Seqs: []Seq{{Tokens: prompt, Blocks: j.blocks(20), WantAll: true}}})
			for i := range got {
				if d := furthest(got[i], want[i]); d > c.most || d == 0 {
					t.Errorf("%s, %s: position %d is off by %g", name, c.format, i, d)
				}
			}
		}
	}
}
