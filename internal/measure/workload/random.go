package workload

import (
	"context"
	"errors"
)

var errNoIDs = errors.New("--tokenize-prompt needs a tokenizer: give a model directory as --tokenizer, or a server with /tokenize")

// random makes prompts of random lengths. With the data set random, the tokens are the tokens of ShareGPT's prompts,
// cut or repeated to the desired length. With random-ids, the tokens are consecutive ids of the vocabulary. If prompts
// are sent as text, the ids are decoded. The text may encode to a different number of tokens, but the recorded length
// is the number of ids, as in SGLang.
func (b *builder) random(ctx context.Context) ([]Request, error) {
	if err := first(
		count("--num-prompts", b.N), count("--random-input-len", b.InputLen), checkRatio("--random-range-ratio", b.RangeRatio),
	); err != nil {
		return nil, err
	}
	if _, guessed := b.tok.(Estimate); guessed && b.TokenIDs {
		return nil, errNoIDs
	}
	in, outs := b.lengths(b.InputLen, b.RangeRatio, b.N), b.lengths(b.OutputLen, b.RangeRatio, b.N)
	if b.Dataset == "random" {
		if b.findShareGPT(); b.Path != "" {
			return b.fromShareGPT(ctx, in, outs)
		}
		b.note("prompts consist of random tokens rather than, as in SGLang's client, of ShareGPT's tokens: no --dataset-path, which is %s", shareGPT)
		return b.madeUp(ctx, in, outs, (*fitter).uniform)
	}
	vocab, err := b.tok.Vocabulary(ctx)
	if err != nil {
		return nil, err
	}
	if vocab.All == nil {
		b.note(unlike, b.tok)
		return b.madeUp(ctx, in, outs, (*fitter).consecutive)
	}
	if err := b.roomForSpecials(ctx, in); err != nil {
		return nil, err
	}
	starts := make([]int, b.N)
	for i := range starts {
		starts[i] = b.np.Int(0, vocab.Own)
	}
	return b.sentAs(ctx, b.N, outs, func(i int) []int32 {
		ids := make([]int32, in[i])
		for j := range ids {
			ids[j] = int32((starts[i] + i + j) % vocab.Own)
		}
		return ids
	})
}

// unlike is the note that is shown if SGLang's prompts cannot be made with the tokenizer.
const unlike = "prompts consist of common words rather than, as in SGLang's client, of the vocabulary: %s does not list it; give a model directory as --tokenizer"

// roomForSpecials subtracts from the lengths the number of special tokens that a server adds.
func (b *builder) roomForSpecials(ctx context.Context, in []int) error {
	if b.TokenIDs {
		return nil
	}
	around, err := specials(ctx, b.tok)
	for i := range in {
		in[i] = max(1, in[i]-len(around.before)-len(around.after))
	}
	return err
}

// sentAs makes n requests from rows of ids. The prompts are sent as ids or as text, according to the Spec.
func (b *builder) sentAs(ctx context.Context, n int, outs []int, ids func(i int) []int32) ([]Request, error) {
	out := make([]Request, n)
	for from := 0; from < n; from += fitBatch {
		rows := make([][]int32, min(fitBatch, n-from))
		for i := range rows {
			rows[i] = ids(from + i)
			out[from+i] = Request{PromptLen: len(rows[i]), TextLen: len(rows[i]), OutputLen: outs[from+i]}
		}
		if b.TokenIDs {
			for i, row := range rows {
				out[from+i].Tokens = row
			}
			continue
		}
		texts, err := b.tok.Decode(ctx, rows, false)
		if err != nil {
			return nil, err
		}
		for i, text := range texts {
			out[from+i].Prompt = text
		}
	}
	return out, nil
}

// fromShareGPT makes requests from the tokens of ShareGPT's prompts, including the special tokens before and after a
// text.
func (b *builder) fromShareGPT(ctx context.Context, in, outs []int) ([]Request, error) {
	rows, err := b.open("", shareGPT)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if err := b.roomForSpecials(ctx, in); err != nil {
		return nil, err
	}
	order, err := b.dialogueOrder(rows)
	if err != nil {
		return nil, err
	}
	var ids [][]int32
	for len(ids) < b.N && len(order) > 0 {
		var prompts []string
		for len(prompts) < min(b.N-len(ids), fitBatch) && len(order) > 0 {
			var d dialogue
			ok, err := rows.read(order[0], &d)
			if err != nil {
				return nil, err
			}
			order = order[1:]
			if prompt, _, enough := d.turns(); ok && enough {
				prompts = append(prompts, prompt)
			}
		}
		encoded, err := b.tok.Encode(ctx, prompts, true)
		if err != nil {
			return nil, err
		}
		for _, some := range encoded {
			if len(some) == 0 {
				continue
			}
			row := make([]int32, in[len(ids)])
			for n := 0; n < len(row); n += len(some) {
				copy(row[n:], some)
			}
			ids = append(ids, row)
		}
	}
	out, err := b.sentAs(ctx, len(ids), outs, func(i int) []int32 { return ids[i] })
	if err != nil {
		return nil, err
	}
	b.shorter(len(out))
	return out, rows.finish(b, len(out))
}

// madeUp makes prompts of exact lengths. It is used if SGLang's prompts cannot be reproduced.
func (b *builder) madeUp(ctx context.Context, in, outs []int, fill func(f *fitter, lens []int, from int) [][]int32) ([]Request, error) {
	fit, err := b.fitter(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Request, 0, len(in))
	for from := 0; from < len(in); from += fitBatch {
		rows := fill(fit, in[from:min(from+fitBatch, len(in))], from)
		if b.TokenIDs {
			for i, row := range rows {
				out = append(out, Request{Tokens: row, PromptLen: len(row), TextLen: len(row), OutputLen: outs[from+i]})
			}
			continue
		}
		texts, lens, err := fit.texts(ctx, rows, true)
		if err != nil {
			return nil, err
		}
		for i := range texts {
			out = append(out, textRequest(texts[i], lens[i], outs[from+i]))
		}
	}
	fit.report(b, len(out))
	return out, nil
}

// uniform draws rows of random ids with the given lengths.
func (f *fitter) uniform(lens []int, _ int) [][]int32 {
	rows := make([][]int32, len(lens))
	for i, n := range lens {
		rows[i] = f.draw(n)
	}
	return rows
}

// consecutive makes rows of consecutive words: token j of a row is word (offset + row + j) modulo the number of words.
// from is the index of the first row.
func (f *fitter) consecutive(lens []int, from int) [][]int32 {
	rows, size := make([][]int32, len(lens)), len(f.vocab.Words)
	for i, n := range lens {
		rows[i] = make([]int32, n)
		at := f.py.Choose(size) + from + i
		for j := range rows[i] {
			rows[i][j] = f.vocab.Words[(at+j)%size]
		}
	}
	return rows
}
