package model

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// TestBatchCheck checks that a batch that would read or write outside its memory is refused and leaves the rank usable.
func TestBatchCheck(t *testing.T) {
	cfg := mustConfig(t, "llama-tiny", `{"num_hidden_layers": 1, "max_position_embeddings": 200}`)
	j := newJob(t, cfg, NewDummy(cfg, 1), layout{}, Options{NumBlocks: 4, MaxTokens: 10, MaxSeqs: 2}, device.Options{})
	one := []int32{1}
	cases := []struct {
		name string
		b    Batch
		want string
	}{
		{"empty", Batch{}, "batch of 0 sequences; want 1 to 2"},
		{"too many sequences", Batch{Seqs: make([]Seq, 3)}, "batch of 3 sequences"},
		{"too many tokens", Batch{Seqs: []Seq{{Tokens: make([]int32, 11), Blocks: one}}}, "batch of 11 tokens; at most 10 fit"},
		{"no tokens", Batch{Seqs: []Seq{{Blocks: one}}}, "0 new tokens"},
		{"two tokens to decode", Batch{Mode: Decode, Seqs: []Seq{{Tokens: []int32{1, 2}, Blocks: one}}}, "2 new tokens in a step of DECODE"},
		{"token too large", Batch{Seqs: []Seq{{Tokens: []int32{512}, Blocks: one}}}, "token 512 is outside the vocabulary of 512"},
		{"token below 0", Batch{Seqs: []Seq{{Tokens: []int32{-1}, Blocks: one}}}, "token -1"},
		{"block table too short", Batch{Seqs: []Seq{{Tokens: []int32{1, 2}, Start: 63, Blocks: one}}}, "1 blocks do not cover 65 positions"},
		{"block that does not exist", Batch{Seqs: []Seq{{Tokens: []int32{1}, Blocks: []int32{4}}}}, "block 4 of 4"},
		{"negative start", Batch{Seqs: []Seq{{Tokens: []int32{1}, Start: -1, Blocks: one}}}, "positions -1 to -1"},
		{"beyond the context", Batch{Mode: Decode, Seqs: []Seq{{Tokens: []int32{1}, Start: 200, Blocks: []int32{0, 1, 2, 3}}}}, "at most 200 fit"},
	}
	for _, c := range cases {
		if _, err := j.ranks[0].Forward(&c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
	if got := j.forward(t, &Batch{Seqs: []Seq{{Tokens: one, Blocks: one}}}); len(got) != 1 {
		t.Errorf("a good batch afterwards has %d rows of logits", len(got))
	}
}

func TestGraphSizes(t *testing.T) {
	for most, want := range map[int][]int{
		1:  {1},
		5:  {1, 2, 4, 5},
		40: {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40},
	} {
		if got := graphSizes(most); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	}
	cfg := mustConfig(t, "llama-tiny", `{"num_hidden_layers": 1}`)
	j := newJob(t, cfg, NewDummy(cfg, 1), layout{}, Options{NumBlocks: 4, MaxSeqs: 5}, device.Options{})
	if err := j.ranks[0].CaptureGraphs(); err != nil || len(j.ranks[0].graphs) != 4 {
		t.Errorf("%d graphs captured, error %v", len(j.ranks[0].graphs), err)
	}
}

// TestLostPeer checks that a rank whose peer is gone returns an error instead of waiting for ever.
func TestLostPeer(t *testing.T) {
	cfg := mustConfig(t, "llama-tiny", `{"num_hidden_layers": 1}`)
	j := newJob(t, cfg, NewDummy(cfg, 1), layout{tp: 2}, Options{NumBlocks: 1, MaxTokens: 8, MaxSeqs: 1}, device.Options{})
	j.ranks[1].dev.Close()
	j.ranks[1].groups.TP.Close()
	if _, err := j.ranks[0].Forward(&Batch{Seqs: []Seq{{Tokens: []int32{1}, Blocks: []int32{0}}}}); !errors.Is(err, comm.ErrAborted) {
		t.Errorf("error %v", err)
	}
}

func TestRunnerErrors(t *testing.T) {
	cfg := mustConfig(t, "llama-tiny", "")
	other := mustConfig(t, "llama-tiny", `{"num_hidden_layers": 5}`)
	d := device.New(device.Options{})
	defer d.Close()
	tp := group("tp", 2, 0, 1)
	for _, c := range []struct {
		cfg    *Config
		shard  Shard
		groups Groups
		opt    Options
		want   string
	}{
		{cfg, Shard{TPSize: 2}, Groups{}, Options{}, "rank 0 of the TP group of 2 has no communicator for such a group"},
		{cfg, Shard{TPSize: 2, TPRank: 1}, Groups{TP: tp[0]}, Options{}, "rank 1 of the TP group"},
		{cfg, Shard{PPSize: 2}, Groups{TP: tp[0]}, Options{}, "rank 0 of the PP group"},
		{cfg, Shard{}, Groups{}, Options{NumBlocks: -1}, "runner of -1 blocks"},
		{other, Shard{}, Groups{}, Options{}, `load weights: dummy weights: no tensor "model.layers.4.`},
	} {
		if _, err := NewRunner(c.cfg, NewDummy(cfg, 1), c.shard, d, c.groups, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// TestMemory checks that the reported memory equals the allocated memory.
func TestMemory(t *testing.T) {
	cfg := mustConfig(t, "qwen3-moe-tiny", `{"num_key_value_heads": 2}`)
	for _, l := range []layout{{}, {tp: 4, pp: 2}} {
		j := newJob(t, cfg, NewDummy(cfg, 1), l, Options{NumBlocks: 9, MaxTokens: 8, MaxSeqs: 1}, device.Options{})
		for _, r := range j.ranks {
			per, err := cfg.KVBytesPerBlock(r.geo.Shard)
			if err != nil {
				t.Fatal(err)
			}
			var have int64
			for _, c := range r.kv {
				have += int64(4 * (len(c.k) + len(c.v)))
			}
			if have != per*10 { // and the block of zeros
				t.Errorf("%s: %d bytes of cache for 9 blocks of %d", l, have, per)
			}
		}
		if l.tp == 0 {
			// float32, with nothing left out except norms; the router is included.
			norms := int64(cfg.Layers*(2*cfg.Hidden+2*cfg.HeadDim) + cfg.Hidden)
			if want, got := 4*(cfg.Params()-norms), j.ranks[0].WeightBytes(); got < want || got > want*3/2 {
				t.Errorf("%d bytes of weights, want %d and some padding", got, want)
			}
		}
	}
}

// TestPadding checks that rows that pad a graph occupy no expert and read the block of zeros, whatever ran before.
func TestPadding(t *testing.T) {
	cfg := mustConfig(t, "qwen3-moe-tiny", `{"num_hidden_layers": 1}`)
	j := newJob(t, cfg, NewDummy(cfg, 1), layout{}, Options{NumBlocks: 4, MaxSeqs: 3, GraphSizes: []int{3}}, device.Options{})
	r := j.ranks[0]
	for _, seqs := range []int{3, 1, 2} {
		b := &Batch{Mode: Decode}
		for i := range seqs {
			b.Seqs = append(b.Seqs, Seq{Tokens: []int32{int32(i)}, Start: i, Blocks: []int32{int32(i)}})
		}
		j.forward(t, b)
		if got, want := r.moe.pairs(), seqs*cfg.ExpertsPerToken; got != want {
			t.Errorf("%d sequences: %d pairs of token and expert, want %d", seqs, got, want)
		}
		in := r.graphs[3].in
		for pad := seqs; pad < 3; pad++ {
			if block := in.table[pad*in.width]; block != 4 || in.pos[pad] != 0 || in.slot[pad] != -1 {
				t.Errorf("%d sequences: row %d has block %d, position %d, slot %d", seqs, pad, block, in.pos[pad], in.slot[pad])
			}
		}
		for h := range r.kv[0].heads {
			if slices.ContainsFunc(r.kv[0].key(4, h), func(v float32) bool { return v != 0 }) {
				t.Errorf("%d sequences: the block of zeros was written", seqs)
			}
		}
	}
}
