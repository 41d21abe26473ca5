package workload

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/pyrand"
)

// If SGLang's client cannot be reproduced, random prompts are made from ids of words or of other text. A prompt sent as
// ids has the drawn length. A prompt sent as text rarely has the drawn length: the tokenizer may encode the text of two
// tokens as one or as three tokens. Each text is therefore encoded again. If the length is wrong, the new ids are cut
// or filled up to the desired length and decoded again. Ids that come from encoding a text nearly always encode to
// themselves. Words with a leading space remain single tokens after any text. One or two rounds are therefore
// sufficient. If a text does not converge, the end of the text is replaced by words with a leading space. The replaced
// part is twice as long in each round.

const (
	fitRounds = 10
	fitBatch  = 512 // texts per batch, to limit memory
)

// fitter makes texts with an exact length in tokens.
type fitter struct {
	tok    Tokenizer
	vocab  *Vocabulary
	py     pyrand.Random
	around int // number of special tokens that encoding adds to a text

	missed int // texts whose length could not be corrected
}

func (b *builder) fitter(ctx context.Context) (*fitter, error) {
	vocab, err := b.tok.Vocabulary(ctx)
	if err != nil {
		return nil, err
	}
	if len(vocab.Text) == 0 || len(vocab.Words) == 0 {
		return nil, fmt.Errorf("%s has no tokens for random prompts", b.tok)
	}
	around, err := specials(ctx, b.tok)
	if err != nil {
		return nil, err
	}
	return &fitter{tok: b.tok, vocab: vocab, py: b.py, around: len(around.before) + len(around.after)}, nil
}

// around holds the special tokens that encoding adds before and after a text.
type around struct{ before, after []int32 }

func specials(ctx context.Context, tok Tokenizer) (around, error) {
	const text = "a"
	with, err := tok.Encode(ctx, []string{text}, true)
	if err != nil {
		return around{}, err
	}
	bare, err := tok.Encode(ctx, []string{text}, false)
	if err != nil {
		return around{}, err
	}
	w, n := with[0], len(bare[0])
	for i := 0; i+n <= len(w); i++ {
		if slices.Equal(w[i:i+n], bare[0]) {
			return around{w[:i], w[i+n:]}, nil
		}
	}
	return around{}, nil
}

// draw returns n random ids of tokens that are text by themselves.
func (f *fitter) draw(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = f.vocab.Text[f.py.Choose(len(f.vocab.Text))]
	}
	return ids
}

// texts makes one text from each row of ids. It corrects the text until the number of ids to which the text encodes
// equals the length of the row. If special is set, the length of a text includes the special tokens that a server adds.
// The result lens holds the final lengths.
func (f *fitter) texts(ctx context.Context, rows [][]int32, special bool) (texts []string, lens []int, err error) {
	texts, lens = make([]string, len(rows)), make([]int, len(rows))
	for from := 0; from < len(rows); from += fitBatch {
		to := min(from+fitBatch, len(rows))
		if err := f.batch(ctx, rows[from:to], special, texts[from:to], lens[from:to]); err != nil {
			return nil, nil, err
		}
	}
	return texts, lens, nil
}

func (f *fitter) batch(ctx context.Context, rows [][]int32, special bool, texts []string, lens []int) error {
	around := 0
	if special {
		around = f.around
	}
	want := func(i int) int { return max(len(rows[i])-around, min(len(rows[i]), 1)) }
	left, ids := make([]int, len(rows)), make([][]int32, len(rows))
	for i, row := range rows {
		left[i], ids[i] = i, row[:want(i)]
	}
	for round := 0; len(left) > 0; round++ {
		made, err := f.tok.Decode(ctx, ids, false)
		if err != nil {
			return err
		}
		// Encode without special tokens, so that the ids can be cut and filled up.
		again, err := f.tok.Encode(ctx, made, false)
		if err != nil {
			return err
		}
		wrong := 0
		for k, i := range left {
			off := len(again[k]) - want(i)
			if round == 0 || abs(off) < abs(lens[i]-around-want(i)) {
				texts[i], lens[i] = made[k], len(again[k])+around
			}
			if off != 0 && round < fitRounds {
				left[wrong], ids[wrong] = i, f.mend(again[k], want(i), round)
				wrong++
			}
		}
		left, ids = left[:wrong], ids[:wrong]
	}
	for i := range rows {
		if lens[i] != len(rows[i]) {
			f.missed++
		}
	}
	return nil
}

// mend cuts or fills up ids to the length want. From the second round on, it also replaces a growing part at the end of
// ids by words.
func (f *fitter) mend(ids []int32, want, round int) []int32 {
	keep := min(len(ids), want)
	if round > 0 {
		keep = max(keep-1<<(round-1), 0)
	}
	ids = slices.Clone(ids[:keep])
	for len(ids) < want {
		ids = append(ids, f.vocab.Words[f.py.Choose(len(f.vocab.Words))])
	}
	return ids
}

func abs(x int) int { return max(x, -x) }

// report adds a note with the number of texts, among n, that have a wrong length.
func (f *fitter) report(b *builder, n int) {
	if f.missed > 0 {
		b.note("%d of %d prompts do not have the length that was drawn for them: their text encodes to more or fewer tokens; the lengths reported are those of the text", f.missed, n)
	}
}
