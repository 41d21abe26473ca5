package workload

import (
	"context"
	"errors"
)

var errNoIDs = errors.New("--tokenize-prompt needs a tokenizer: give --tokenizer a model directory, or a server with /tokenize")

// random makes prompts of random lengths. Their tokens are those of ShareGPT's
// prompts, cut or repeated, if the file is given (random), random ones if not, or
// ones that follow one another in the vocabulary (random-ids).
func (b *builder) random(ctx context.Context) ([]Request, error) {
	if err := first(
		count("--num-prompts", b.N), count("--random-input-len", b.InputLen), checkRatio("--random-range-ratio", b.RangeRatio),
	); err != nil {
		return nil, err
	}
	_, guessed := b.tok.(Estimate)
	if guessed && b.TokenIDs {
		return nil, errNoIDs
	}
	rng := b.stream(streamLengths)
	in, outs := lengths(rng, b.InputLen, b.RangeRatio, b.N), lengths(rng, b.OutputLen, b.RangeRatio, b.N)
	fit, err := b.fitter(ctx)
	if err != nil {
		return nil, err
	}
	fill := fit.uniform
	rows := new(records)
	switch {
	case b.Dataset == "random-ids":
		fill = fit.consecutive
		if _, served := b.tok.(*Served); served {
			b.note("the ids of random-ids are those of %d common words: a server does not list its vocabulary, --tokenizer would", len(fit.vocab.IDs))
		}
	case b.Path != "":
		if rows, err = b.open("", shareGPT); err != nil {
			return nil, err
		}
		defer rows.Close()
		s := &sampler{b: b, rows: rows, order: b.stream(streamOrder).Perm(len(rows.at))}
		fill = s.fill
	default:
		b.note("prompts are made of random tokens: no --dataset-path, which for random is %s", shareGPT)
	}
	var requests []Request
	for from := 0; from < b.N; from += fitBatch {
		to := min(from+fitBatch, b.N)
		ids, err := fill(ctx, in[from:to], from)
		if err != nil {
			return nil, err
		}
		made, err := fit.requests(ctx, ids, outs[from:], b.TokenIDs)
		if err != nil {
			return nil, err
		}
		requests = append(requests, made...)
		if len(ids) < to-from {
			break
		}
	}
	fit.report(b, len(requests))
	b.shorter(len(requests))
	return requests, rows.finish(b, len(requests))
}

// requests sends rows as they are or makes texts of them.
func (f *fitter) requests(ctx context.Context, rows [][]int32, outs []int, asIDs bool) ([]Request, error) {
	out := make([]Request, len(rows))
	if asIDs {
		for i, row := range rows {
			out[i] = Request{Tokens: row, PromptLen: len(row), TextLen: len(row), OutputLen: outs[i]}
		}
		return out, nil
	}
	texts, lens, err := f.texts(ctx, rows, true)
	for i := range texts {
		out[i] = textRequest(texts[i], lens[i], outs[i])
	}
	return out, err
}

// uniform draws rows of the lengths wanted.
func (f *fitter) uniform(_ context.Context, lens []int, _ int) ([][]int32, error) {
	rows := make([][]int32, len(lens))
	for i, n := range lens {
		rows[i] = f.draw(n)
	}
	return rows, nil
}

// consecutive makes rows whose token j is (offset + row + j) mod the vocabulary;
// from is the first row's number.
func (f *fitter) consecutive(_ context.Context, lens []int, from int) ([][]int32, error) {
	rows, size := make([][]int32, len(lens)), len(f.vocab.IDs)
	for i, n := range lens {
		rows[i] = make([]int32, n)
		at := f.rng.IntN(size) + from + i
		for j := range rows[i] {
			rows[i][j] = f.vocab.IDs[(at+j)%size]
		}
	}
	return rows, nil
}

// sampler takes the tokens of ShareGPT's prompts.
type sampler struct {
	b     *builder
	rows  *records
	order []int // rows not yet looked at
}

// fill returns fewer rows than lengths when the file has no more.
func (s *sampler) fill(ctx context.Context, lens []int, _ int) ([][]int32, error) {
	var out [][]int32
	for len(out) < len(lens) && len(s.order) > 0 {
		var prompts []string
		for len(prompts) < len(lens)-len(out) && len(s.order) > 0 {
			var d dialogue
			ok, err := s.rows.read(s.order[0], &d)
			if err != nil {
				return nil, err
			}
			s.order = s.order[1:]
			if prompt, _, enough := d.turns(); ok && enough {
				prompts = append(prompts, prompt)
			}
		}
		encoded, err := s.b.tok.Encode(ctx, prompts, false)
		if err != nil {
			return nil, err
		}
		for _, ids := range encoded {
			if len(ids) == 0 {
				continue
			}
			row := make([]int32, lens[len(out)])
			for n := 0; n < len(row); n += len(ids) {
				copy(row[n:], ids)
			}
			out = append(out, row)
		}
	}
	return out, nil
}
