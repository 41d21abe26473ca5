package model

import "errors"

// Encode computes the states that a text's tokens have before the last layer, [tokens][Hidden]: what diffusion models
// take of a language model. They are valid until the next call. All ranks must be given the same tokens.
func (r *Runner) Encode(tokens []int32) ([]float32, error) {
	if !r.opt.Encoder {
		return nil, errors.New("this runner is no encoder")
	}
	blocks := make([]int32, blocksFor(len(tokens)))
	for i := range blocks {
		blocks[i] = int32(i)
	}
	if _, err := r.Forward(&Batch{Mode: Extend, Seqs: []Seq{{Tokens: tokens, Blocks: blocks, NoLogits: true}}}); err != nil {
		return nil, err
	}
	return r.buf.x[:len(tokens)*r.cfg.Hidden], nil
}
