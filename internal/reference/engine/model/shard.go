package model

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/op"
)

// Shard holds a rank's coordinates in the job. A tensor-parallel group (TP) splits the vocabulary, and the query heads
// and the feed-forward width of every layer. KV heads are also split. If there are fewer KV heads than ranks, KV heads
// are replicated. The TP size must be a multiple of the expert-parallel size (EP). The group is divided into EP parts,
// and each part has a share of the experts. The TP/EP ranks of a part split the width of each expert, as in SGLang. A
// pipeline (PP) splits the list of layers. Zero sizes count as 1.
type Shard struct {
	TPRank, TPSize int
	PPRank, PPSize int
	EPSize         int
}

func (s Shard) normal() Shard {
	s.TPSize, s.PPSize, s.EPSize = max(s.TPSize, 1), max(s.PPSize, 1), max(s.EPSize, 1)
	return s
}

// geometry is the share of one rank.
type geometry struct {
	Shard
	layers op.Span // layers of the model
	heads  op.Span // query heads
	kv     op.Span // KV heads
	ffn    op.Span // this rank's part of Intermediate
	vocab  op.Span // existing rows of embedding and head
	// vocabWidth is the size of each rank's part of the vocabulary, including padding.
	vocabWidth int
	experts    op.Span // this rank's part of Experts
	expertFFN  op.Span // this rank's part of MoEIntermediate
	headless   bool    // the last layer, the final norm and the head are omitted
}

func (g *geometry) first() bool { return g.PPRank == 0 }
func (g *geometry) last() bool  { return !g.headless && g.PPRank == g.PPSize-1 }

// cut returns the share of the rank with coordinates s. If a size of the model cannot be divided, cut returns an error
// that names that size.
func (c *Config) cut(s Shard) (*geometry, error) {
	s = s.normal()
	switch {
	case s.TPRank < 0 || s.TPRank >= s.TPSize || s.PPRank < 0 || s.PPRank >= s.PPSize:
		return nil, fmt.Errorf("rank TP %d of %d, PP %d of %d does not exist", s.TPRank, s.TPSize, s.PPRank, s.PPSize)
	case c.Heads%s.TPSize != 0:
		return nil, fmt.Errorf("num_attention_heads %d is not divisible by tp-size %d", c.Heads, s.TPSize)
	case c.KVHeads%s.TPSize != 0 && s.TPSize%c.KVHeads != 0:
		return nil, fmt.Errorf("num_key_value_heads %d and tp-size %d: one must divide the other", c.KVHeads, s.TPSize)
	case c.Intermediate < s.TPSize || c.Vocab <= (s.TPSize-1)*((c.Vocab+s.TPSize-1)/s.TPSize):
		return nil, fmt.Errorf("intermediate_size %d and vocab_size %d are too small for tp-size %d", c.Intermediate, c.Vocab, s.TPSize)
	case s.PPSize > c.Layers:
		return nil, fmt.Errorf("pp-size %d exceeds the %d layers", s.PPSize, c.Layers)
	case s.TPSize%s.EPSize != 0:
		return nil, fmt.Errorf("tp-size %d is not divisible by ep-size %d: experts are spread over the TP group", s.TPSize, s.EPSize)
	case s.EPSize > 1 && c.Experts == 0:
		return nil, fmt.Errorf("ep-size %d for a model without experts", s.EPSize)
	case c.Experts > 0 && c.MoEIntermediate < s.TPSize/s.EPSize:
		return nil, fmt.Errorf("moe_intermediate_size %d is too small for tp-size %d and ep-size %d", c.MoEIntermediate, s.TPSize, s.EPSize)
	case s.EPSize > 1 && c.Experts%s.EPSize != 0:
		return nil, fmt.Errorf("num_experts %d is not divisible by ep-size %d", c.Experts, s.EPSize)
	}
	g := &geometry{
		Shard:      s,
		layers:     op.Part(c.Layers, s.PPSize, s.PPRank),
		heads:      op.Part(c.Heads, s.TPSize, s.TPRank),
		ffn:        op.Part(c.Intermediate, s.TPSize, s.TPRank),
		vocabWidth: (c.Vocab + s.TPSize - 1) / s.TPSize,
	}
	if c.KVHeads >= s.TPSize {
		g.kv = op.Part(c.KVHeads, s.TPSize, s.TPRank)
	} else {
		kv := s.TPRank * c.KVHeads / s.TPSize
		g.kv = op.Span{Lo: kv, Hi: kv + 1}
	}
	lo := min(s.TPRank*g.vocabWidth, c.Vocab)
	g.vocab = op.Span{Lo: lo, Hi: min(lo+g.vocabWidth, c.Vocab)}
	if c.Experts > 0 {
		width := s.TPSize / s.EPSize // ranks that share an expert
		g.experts = op.Part(c.Experts, s.EPSize, s.TPRank/width)
		g.expertFFN = op.Part(c.MoEIntermediate, width, s.TPRank%width)
	}
	return g, nil
}

// CheckShard returns an error if the model cannot be split as s requires.
func (c *Config) CheckShard(s Shard) error {
	_, err := c.cut(s)
	return err
}
