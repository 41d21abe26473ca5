package onebatch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/reference/onebatch"
)

// TestCheck checks that correct ranks pass, and that errors in each kind of step are found.
func TestCheck(t *testing.T) {
	// A row is changed by as much as the spread of its logits.
	shift := func(rows [][]float32) {
		for _, row := range rows {
			row[0] += 2
		}
	}
	for _, c := range []struct {
		name   string
		cut    int
		output int
		spoil  func(sched.Step, [][]float32)
		want   string // in the error
		says   string // in the output
	}{
		{"right", 4, 10, func(sched.Step, [][]float32) {}, "", "prefill, extend and decode agree on 10 tokens of each of 2 prompts"},
		{"right, not cut", 0, 3, func(sched.Step, [][]float32) {}, "", "agree on 3 tokens"},
		{"right, one token", 4, 1, func(sched.Step, [][]float32) {}, "", "agree on 1 tokens"},
		{"extend", 4, 10, func(s sched.Step, rows [][]float32) {
			if s.Batch.Mode == model.Extend && s.Batch.Seqs[0].Start > 0 {
				shift(rows)
			}
		}, "prompt 0, token 0: the logits of the prompt cut differ by 2", "uncut:   ["},
		{"decode", 4, 10, func(s sched.Step, rows [][]float32) {
			if s.Batch.Mode == model.Decode {
				shift(rows)
			}
		}, "prompt 0, token 1: the logits of the prompt computed at once differ by 2", "at once: ["},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, out := bench(t, 2)
			b.Ranks = spoiled{b.Ranks, c.spoil}
			err := b.Check(t.Context(), onebatch.Correct{
				Prompts: [][]int32{{256, 84, 104, 101, 32, 99}, {256, 65, 110, 110, 97, 32, 105, 115, 32}}, CutLen: c.cut, Output: c.output,
				Text: func(ids []int32) string { return "the text" },
			})
			if (err != nil) != (c.want != "") || err != nil && (!errors.Is(err, onebatch.ErrDiffers) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if !strings.Contains(out.String(), c.says) {
				t.Errorf("printed\n%s\nwant %q", out, c.says)
			}
			for _, text := range []string{"\ninput_ids=[[256, 84, 104, 101, 32, 99], [256, 65,", "prefill logits (final): tensor([[", "========== Prompt 1 ==========\nthe text"} {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%q is not printed:\n%s", text, out)
				}
			}
		})
	}
	b, _ := bench(t, 1)
	err := b.Check(t.Context(), onebatch.Correct{Prompts: [][]int32{{1, 2, 3}}, CutLen: 3, Output: 2})
	if err == nil || !strings.Contains(err.Error(), "prompt 0 has 3 tokens: --cut-len 3 must be less") {
		t.Errorf("error %v", err)
	}
}
