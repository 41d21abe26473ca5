package model

import "errors"

// Encode computes the states of a text's tokens, [tokens][Hidden], as they are before the last layer. Diffusion models
// use these states of a language model. The result is valid until the next call. All ranks must get the same tokens.
func (r *Runner) Encode(tokens []int32) ([]float32, error) {
	if !r.opt.Encoder {
		return nil, errors.New("this runner is not an encoder")
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
