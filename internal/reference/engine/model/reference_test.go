package model

import (
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// TestReference checks every way to run a model against transformers: logits to 1e-4, and the same 64 greedy tokens.
func TestReference(t *testing.T) {
	alone := []int{7}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	cases := []struct {
		name    string
		layout  layout
		which   []int
		chunk   int
		noGraph bool
		workers int
		format  tensor.Format
	}{
		{name: "batch 1", which: alone, chunk: 1000},
		{name: "batch 1, no graph", which: alone, chunk: 1000, noGraph: true},
		{name: "batch 8", which: all, chunk: 1000, workers: 3},
		{name: "batch 8, no graph", which: all, chunk: 1000, noGraph: true},
		{name: "chunked prefill", which: all, chunk: 13, workers: 2},
		{name: "padded graph", which: []int{3, 0, 6}, chunk: 64},
		{name: "bf16 weights", which: all, chunk: 1000, format: tensor.BF16}, // exact if they are stored as bf16
		{name: "tp 2", layout: layout{tp: 2}, which: all, chunk: 1000},
		{name: "tp 4", layout: layout{tp: 4}, which: all, chunk: 50},
		{name: "tp 4, no graph", layout: layout{tp: 4}, which: []int{3, 6}, chunk: 50, noGraph: true},
		{name: "pp 2", layout: layout{pp: 2}, which: all, chunk: 40},
		{name: "tp 2, pp 2", layout: layout{tp: 2, pp: 2}, which: []int{3, 0, 6}, chunk: 40},
		{name: "ep 2", layout: layout{tp: 2, ep: 2}, which: all, chunk: 30},
		{name: "tp 4, ep 2", layout: layout{tp: 4, ep: 2}, which: []int{3, 0, 6}, chunk: 30},
	}
	for _, name := range fixtures {
		f := loadFixture(t, name)
		for _, c := range cases {
			if c.layout.ep > 1 && f.cfg.Experts == 0 || c.format == tensor.BF16 && f.cfg.DType != "bfloat16" {
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				opt := Options{Format: c.format, NumBlocks: 32, MaxTokens: 128, MaxSeqs: 8, NoGraphs: c.noGraph}
				j := newJob(t, f.cfg, f.src, c.layout, opt, device.Options{Workers: c.workers})
				tokens := j.generate(t, f, c.which, c.chunk, len(f.Tokens[0]))
				for k, i := range c.which {
					for step, id := range tokens[k] {
						if id != f.Tokens[i][step] {
							t.Fatalf("prompt %d: token %d is %d, transformers has %d", i, step, id, f.Tokens[i][step])
						}
					}
				}
			})
		}
	}
}
