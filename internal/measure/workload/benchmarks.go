package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// longbenchOutputLen is the output length of an answer: tokens for a letter and a short word.
const longbenchOutputLen = 10

// longbench reads LongBench v2: long documents with multiple-choice questions.
func (b *builder) longbench(ctx context.Context) ([]Request, error) {
	rows, err := b.open("", "data.json of the Hugging Face data set THUDM/LongBench-v2, or its rows as JSON lines (Parquet is not read)")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	output := longbenchOutputLen
	if b.FixedOutputLen > 0 {
		output = b.FixedOutputLen
	}
	var out []Request
	for _, i := range b.order(len(rows.at)) {
		if len(out) == b.limit(len(rows.at)) {
			break
		}
		var row struct {
			Context, Question *string
			A                 string `json:"choice_A"`
			B                 string `json:"choice_B"`
			C                 string `json:"choice_C"`
			D                 string `json:"choice_D"`
		}
		if ok, err := rows.read(i, &row); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if row.Context == nil || row.Question == nil {
			rows.skip(i, "the context or the question is missing")
			continue
		}
		prompt := fmt.Sprintf("%s\n\nQuestion: %s\nA. %s\nB. %s\nC. %s\nD. %s\nAnswer:", *row.Context, *row.Question, row.A, row.B, row.C, row.D)
		ids, err := b.tok.Encode(ctx, []string{prompt}, true)
		if err != nil {
			return nil, err
		}
		if n := len(ids[0]); b.ContextLen == 0 || n+output <= b.ContextLen {
			out = append(out, textRequest(prompt, n, output))
		}
	}
	b.shorter(len(out))
	return out, rows.finish(b, len(out))
}

// speedBench reads SPEED-Bench: prompts grouped by the predictability of their replies.
func (b *builder) speedBench(ctx context.Context) ([]Request, error) {
	if c := b.SpeedBenchCategory; c != "" && !slices.Contains([]string{"low_entropy", "mixed", "high_entropy"}, c) {
		return nil, fmt.Errorf("unknown --speed-bench-category %q: give low_entropy, mixed or high_entropy", c)
	}
	if err := count("--speed-bench-output-len", b.SpeedBenchOutputLen); err != nil {
		return nil, err
	}
	rows, err := b.open("", "a split of the Hugging Face data set nvidia/SPEED-Bench as JSON lines")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var prompts []string
	for i := range rows.at {
		var row struct {
			Category string
			Turns    []string
		}
		if ok, err := rows.read(i, &row); err != nil {
			return nil, err
		} else if ok && len(row.Turns) > 0 && (b.SpeedBenchCategory == "" || row.Category == b.SpeedBenchCategory) {
			prompts = append(prompts, row.Turns[0])
		}
	}
	if len(prompts) == 0 && rows.bad == 0 {
		return nil, fmt.Errorf("%s: no row has the category %q", b.Path, b.SpeedBenchCategory)
	}
	if len(prompts) == 0 {
		return nil, rows.finish(b, 0)
	}
	all := make([]Request, len(prompts))
	for i, p := range prompts {
		all[i] = textRequest(p, 0, b.SpeedBenchOutputLen)
	}
	if _, ok := b.tok.(ChatTokenizer); ok {
		made, err := b.rendered(ctx, asked(prompts))
		if err != nil {
			return nil, err
		}
		for i, m := range made {
			all[i] = textRequest(m.Text, m.Len, b.SpeedBenchOutputLen)
		}
	} else if err := b.measure(ctx, all); err != nil {
		return nil, err
	}
	n := cmp.Or(b.N, len(prompts))
	out := make([]Request, n)
	if n <= len(prompts) {
		for i, k := range b.py.Sample(len(prompts), n) {
			out[i] = all[k]
		}
	} else { // fewer rows than requests: rows are reused
		for i, k := range b.order(n) {
			out[i] = all[k%len(prompts)]
		}
	}
	if n > len(prompts) {
		b.note("%s has %d prompts: they are repeated to make %d requests", b.Path, len(prompts), n)
	}
	return out, rows.finish(b, len(out))
}
