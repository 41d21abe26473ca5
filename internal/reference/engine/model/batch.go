package model

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// BlockLen is the number of positions in a block of the KV cache.
const BlockLen = tensor.BlockLen

// Mode is the kind of a forward step.
type Mode uint8

// Kinds of forward steps.
const (
	Extend Mode = iota // prefill: any number of new tokens per sequence
	Decode             // one new token for each sequence
)

func (m Mode) String() string { return [...]string{"EXTEND", "DECODE"}[m&1] }

// Seq is one sequence's part of a batch.
type Seq struct {
	Tokens []int32 // the new tokens
	Start  int     // position of the first new token; earlier positions are in the cache
	// Blocks is the block table: block i holds the positions from i·BlockLen on. It must cover the new tokens.
	Blocks   []int32
	WantAll  bool // return logits after every new token, not only after the last
	NoLogits bool // return no logits, because this prompt chunk is not the last
}

// Batch is one forward step. All ranks of a model must get the same batch.
type Batch struct {
	Mode Mode
	Seqs []Seq
	// Stored is called, if it is set, for each layer of the rank as soon as the batch's keys and values for that layer
	// are in the cache. Layers are numbered over the whole model. Stored must not block. Only Extend steps call it.
	Stored func(layer int)
}

// Tokens returns the number of new tokens.
func (b *Batch) Tokens() int {
	n := 0
	for i := range b.Seqs {
		n += len(b.Seqs[i].Tokens)
	}
	return n
}

// check returns an error if a batch cannot run.
func (r *Runner) check(b *Batch) error {
	if n := len(b.Seqs); n == 0 || n > r.opt.MaxSeqs {
		return fmt.Errorf("batch of %d sequences; want 1 to %d", n, r.opt.MaxSeqs)
	}
	if n := b.Tokens(); n > r.rows {
		return fmt.Errorf("batch of %d tokens; at most %d fit", n, r.rows)
	}
	for i := range b.Seqs {
		if err := r.checkSeq(b.Mode, &b.Seqs[i]); err != nil {
			return fmt.Errorf("sequence %d of the batch: %w", i, err)
		}
	}
	return nil
}

func (r *Runner) checkSeq(mode Mode, s *Seq) error {
	n := len(s.Tokens)
	end := s.Start + n
	switch {
	case n == 0 || mode == Decode && n != 1:
		return fmt.Errorf("%d new tokens in a step of %s", n, mode)
	case s.Start < 0 || end > r.positions:
		return fmt.Errorf("positions %d to %d; at most %d fit", s.Start, end-1, r.positions)
	case len(s.Blocks)*BlockLen < end:
		return fmt.Errorf("%d blocks do not cover %d positions", len(s.Blocks), end)
	}
	for _, id := range s.Tokens {
		if id < 0 || int(id) >= r.cfg.Vocab {
			return fmt.Errorf("token %d is outside the vocabulary of %d", id, r.cfg.Vocab)
		}
	}
	for _, id := range s.Blocks[:blocksFor(end)] {
		if id < 0 || int(id) >= r.opt.NumBlocks {
			return fmt.Errorf("block %d of %d", id, r.opt.NumBlocks)
		}
	}
	return nil
}

// blocksFor returns the number of blocks that hold n positions.
func blocksFor(n int) int { return (n + BlockLen - 1) / BlockLen }

// inputs is the batch in the layout that the kernels of one pass read. The batch is one buffer, so that one copy
// transfers it to the device. The sizes of the buffer are fixed, so that a captured graph finds each new batch at the
// same addresses. Rows beyond the batch, which are the padding of a graph, have token 0, position 0, slot -1 and a
// block of zeros.
type inputs struct {
	buf    []int32
	seqs   int
	width  int // entries of a block table
	n      []int32
	tokens []int32 // [rows]
	pos    []int32 // [rows]
	slot   []int32 // [rows]: block·BlockLen + offset in the block; -1: store nothing
	table  []int32 // [seqs][width]
	tile   []int32 // [tiles][3]: sequence, first row, number of rows; see tileRows
	pick   []int32 // [rows]: rows whose logits are requested, in order
}

func newInputs(rows, seqs, width, tiles int) *inputs {
	in := &inputs{seqs: seqs, width: width}
	in.buf = make([]int32, 1+4*rows+seqs*width+3*tiles)
	rest := in.buf
	take := func(n int) []int32 {
		s := rest[:n:n]
		rest = rest[n:]
		return s
	}
	in.n, in.tokens, in.pos, in.slot = take(1), take(rows), take(rows), take(rows)
	in.table, in.tile, in.pick = take(seqs*width), take(3*tiles), take(rows)
	return in
}

// tileRows is the maximum number of tokens of one sequence that attend together, which means that they share the reads
// of keys and values.
const tileRows = 48

// tilesOf counts the tiles of a batch.
func tilesOf(b *Batch) int {
	n := 0
	for i := range b.Seqs {
		n += (len(b.Seqs[i].Tokens) + tileRows - 1) / tileRows
	}
	return n
}

// fill lays out a batch and returns the number of requested rows of logits. zeros is the number of the block that
// padding rows read.
func (in *inputs) fill(b *Batch, zeros int) (picked int) {
	row, tile := 0, 0
	for i := range b.Seqs {
		s := &b.Seqs[i]
		copy(in.table[i*in.width:][:in.width], s.Blocks)
		for at := 0; at < len(s.Tokens); at += tileRows {
			n := min(tileRows, len(s.Tokens)-at)
			copy(in.tile[3*tile:], []int32{int32(i), int32(row + at), int32(n)})
			tile++
		}
		for j, id := range s.Tokens {
			pos := s.Start + j
			in.tokens[row], in.pos[row] = id, int32(pos)
			in.slot[row] = s.Blocks[pos/BlockLen]*BlockLen + int32(pos%BlockLen)
			if !s.NoLogits && (s.WantAll || j == len(s.Tokens)-1) {
				in.pick[picked] = int32(row)
				picked++
			}
			row++
		}
	}
	in.n[0] = int32(row)
	for pad := len(b.Seqs); pad < in.seqs; pad++ { // only in a decode, which has one row per sequence
		in.tokens[row], in.pos[row], in.slot[row], in.pick[row] = 0, 0, -1, int32(row)
		in.table[pad*in.width] = int32(zeros)
		copy(in.tile[3*tile:], []int32{int32(pad), int32(row), 1})
		row, tile = row+1, tile+1
	}
	return picked
}
