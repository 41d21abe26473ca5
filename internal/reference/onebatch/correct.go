package onebatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// Correct checks that three methods of computing the same tokens give the same results:
//
//	cut     compute the first tokens of each prompt, then the rest on top of the cached
//	        prefix, then one token at a time (prefill, extend, decode)
//	uncut   compute each prompt at once, then one token at a time
//	at once compute prompt and output as one prompt: at each position the most probable
//	        token must be the next one of the output
//
// It prints the output of SGLang's --correctness-test, followed by the differences.
type Correct struct {
	Prompts [][]int32
	CutLen  int // number of tokens in the first piece of the method "cut"; 0: no prompt is cut
	Output  int
	Text    func([]int32) string
}

// ErrDiffers is returned when the results of the three methods differ.
var ErrDiffers = errors.New("prefill, extend and decode do not agree")

// Check runs the test. The KV cache must be large enough for a batch in which all prompts are as long as the longest
// one.
func (b *Bench) Check(ctx context.Context, t Correct) error {
	c := batch.Case{Batch: len(t.Prompts), Output: t.Output}
	for i, p := range t.Prompts {
		if len(p) <= t.CutLen {
			return fmt.Errorf("prompt %d has %d tokens: --cut-len %d must be less", i, len(p), t.CutLen)
		}
		c.Input = max(c.Input, len(p))
	}
	fmt.Fprintf(b.Out, "\ninput_ids=%s\n\n", strings.ReplaceAll(fmt.Sprint(t.Prompts), " ", ", ")) // as Python writes them
	cut, err := b.generate(ctx, c, t, t.CutLen)
	if err != nil {
		return err
	}
	uncut := cut
	if t.CutLen > 0 {
		if uncut, err = b.generate(ctx, c, t, 0); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	once, err := b.atOnce(t, c, uncut)
	if err != nil {
		return err
	}
	var wrong []string
	for i, prompt := range t.Prompts {
		fmt.Fprintf(b.Out, "========== Prompt %d ==========\n%s \n\n", i, t.Text(slices.Concat(prompt, cut.tokens[i])))
		same := []string{
			uncut.compare(i, cut, "cut"),
			uncut.compare(i, once, "computed at once"),
		}
		fmt.Fprintf(b.Out, "uncut:   %v\ncut:     %v\nat once: %v\n", uncut.tokens[i], cut.tokens[i], once.tokens[i])
		for _, text := range same {
			if text != "" {
				fmt.Fprintln(b.Out, text)
				wrong = append(wrong, fmt.Sprintf("prompt %d, %s", i, text))
			}
		}
		fmt.Fprintln(b.Out)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w: %s", ErrDiffers, wrong[0])
	}
	_, err = fmt.Fprintf(b.Out, "prefill, extend and decode agree on %d tokens of each of %d prompts\n", t.Output, len(t.Prompts))
	return err
}

// way is the output of one of the three methods. It contains the tokens of each sequence and the logits from which
// these tokens were chosen.
type way struct {
	tokens [][]int32
	logits [][][]float32
}

func (w *way) keep(rows [][]float32) {
	for i, row := range rows {
		w.logits[i] = append(w.logits[i], slices.Clone(row)) // copy: a row is valid only until the next step
	}
}

// generate computes the prompts in one or two pieces and then decodes.
func (b *Bench) generate(ctx context.Context, c batch.Case, t Correct, cut int) (*way, error) {
	u := b.start(c, t.Prompts)
	w := &way{tokens: u.tokens, logits: make([][][]float32, c.Batch)}
	if cut > 0 {
		rows, err := u.forward(model.Extend, func(i int) ([]int32, int) { return u.prompts[i][:cut], 0 })
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b.Out, "prefill logits (first half): %s \n\n", tensor(rows))
	}
	rows, err := u.prefill(cut)
	if err != nil {
		return nil, err
	}
	if cut == t.CutLen {
		fmt.Fprintf(b.Out, "prefill logits (final): %s \n\n", tensor(rows))
	}
	w.keep(rows)
	for range c.Output - 1 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if rows, err = u.decode(); err != nil {
			return nil, err
		}
		w.keep(rows)
	}
	return w, nil
}

// atOnce computes each prompt together with its output tokens in one prefill, one sequence after another.
func (b *Bench) atOnce(t Correct, c batch.Case, given *way) (*way, error) {
	w := &way{tokens: make([][]int32, c.Batch), logits: make([][][]float32, c.Batch)}
	u := b.start(c, t.Prompts)
	for i, prompt := range t.Prompts {
		tokens := slices.Concat(prompt, given.tokens[i][:c.Output-1])
		rows, err := b.run(&model.Batch{Seqs: []model.Seq{{Tokens: tokens, Blocks: u.blocks[i], WantAll: true}}})
		if err != nil {
			return nil, err
		}
		for _, row := range rows[len(prompt)-1:] {
			best := 0
			for id := range row {
				if row[id] > row[best] {
					best = id
				}
			}
			w.tokens[i] = append(w.tokens[i], int32(best))
			w.logits[i] = append(w.logits[i], slices.Clone(row))
		}
	}
	return w, nil
}

// near is the maximum difference between the results of two methods, as a fraction of the logits' spread. Correct
// results differ because sums are formed in a different order and stored in bf16. A wrong result differs by about the
// whole spread.
const near = 0.05

// compare describes the first difference between w and o in sequence i. It returns "" if there is no difference. If two
// tokens differ but their logits are nearly equal, the tokens are a tie, which is not a difference. After a tie, later
// tokens cannot be compared.
func (w *way) compare(i int, o *way, name string) string {
	for k, row := range w.logits[i] {
		difference := 0.0
		for id, v := range row {
			difference = max(difference, math.Abs(float64(v-o.logits[i][k][id])))
		}
		if !(difference <= near*spread(row)) {
			return fmt.Sprintf("token %d: the logits of the prompt %s differ by %.3g, where their spread is %.3g", k, name, difference, spread(row))
		}
		if w.tokens[i][k] != o.tokens[i][k] {
			return ""
		}
	}
	return ""
}

// spread returns the standard deviation of a row of logits.
func spread(row []float32) float64 {
	mean, sum := metric.Mean(row), 0.0
	for _, v := range row {
		sum += (float64(v) - mean) * (float64(v) - mean)
	}
	return math.Sqrt(sum / float64(len(row)))
}

// tensor formats logits in the way in which torch prints a tensor, with only the ends of each row.
func tensor(rows [][]float32) string {
	var lines []string
	for _, r := range rows {
		var parts []string
		for i, v := range r {
			if len(r) > 6 && i == 3 {
				parts = append(parts, "...")
			}
			if i < 3 || i >= len(r)-3 {
				parts = append(parts, fmt.Sprintf("%8.4f", v))
			}
		}
		lines = append(lines, "["+strings.Join(parts, ", ")+"]")
	}
	return "tensor([" + strings.Join(lines, ",\n        ") + "])"
}
