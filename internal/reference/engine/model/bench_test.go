package model

import (
	"fmt"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// bench191M is a Llama shape of 191 M parameters; a decoded token streams 159 M of them.
const bench191M = `{
	"architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 1024, "num_hidden_layers": 8,
	"num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 4096, "max_position_embeddings": 4096,
	"dtype": "bfloat16"}`

func benchRunner(b *testing.B, text string, workers int) *Runner {
	cfg, err := ParseConfig([]byte(text), nil)
	if err != nil {
		b.Fatal(err)
	}
	d := device.New(device.Options{Workers: workers})
	b.Cleanup(func() { d.Close() })
	r, err := NewRunner(cfg, NewDummy(cfg, 1), Shard{}, d, Groups{}, Options{Format: tensor.BF16Dot, NumBlocks: 256, MaxTokens: 16 * 129})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func benchBatch(mode Mode, seqs, tokens, start int) *Batch {
	batch := &Batch{Mode: mode}
	for i := range seqs {
		s := Seq{Start: start}
		for j := range tokens {
			s.Tokens = append(s.Tokens, int32((i*7919+j*31)%512))
		}
		for k := range blocksFor(start + tokens) {
			s.Blocks = append(s.Blocks, int32(i*blocksFor(start+tokens)+k))
		}
		batch.Seqs = append(batch.Seqs, s)
	}
	return batch
}

// BenchmarkTiny measures the cost of a step beyond its arithmetic.
func BenchmarkTiny(b *testing.B) {
	for _, name := range Builtins() {
		for _, noGraphs := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/graphs %t", name, !noGraphs), func(b *testing.B) {
				d := device.New(device.Options{Workers: 2})
				defer d.Close()
				cfg := mustConfig(b, name, "")
				r, err := NewRunner(cfg, NewDummy(cfg, 1), Shard{}, d, Groups{}, Options{Format: tensor.BF16Dot, NoGraphs: noGraphs})
				if err != nil {
					b.Fatal(err)
				}
				batch := benchBatch(Decode, 1, 1, 100)
				for b.Loop() {
					if _, err := r.Forward(batch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// BenchmarkForward measures prefill and decode of the 191 M shape.
func BenchmarkForward(b *testing.B) {
	for _, workers := range []int{1, 2} {
		for _, c := range []struct {
			name                string
			mode                Mode
			seqs, tokens, start int
		}{
			{"prefill 512", Extend, 1, 512, 0},
			{"decode 1", Decode, 1, 1, 128},
			{"decode 16", Decode, 16, 1, 128},
		} {
			b.Run(fmt.Sprintf("%s/workers %d", c.name, workers), func(b *testing.B) {
				r := benchRunner(b, bench191M, workers)
				batch := benchBatch(c.mode, c.seqs, c.tokens, c.start)
				if c.start > 0 { // otherwise the cache would be memory that was never written, which maps to a single page
					if _, err := r.Forward(benchBatch(Extend, c.seqs, c.start+c.tokens, 0)); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if _, err := r.Forward(batch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(batch.Tokens()*b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}
