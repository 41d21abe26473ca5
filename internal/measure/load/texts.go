package load

import (
	"context"
	"math"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/jsonscan"
)

// parts has the texts of the events of a reply.
type parts struct {
	rec   *bench.Record
	texts []string
}

// severalTokens is the share of tokens without an event of their own above which the tokens of each event are counted.
const severalTokens = 0.05

// split keeps the texts of the events of a reply if the server counts more tokens than events, as with speculative
// decoding, but does not count the tokens of each event.
func (f *flight) split() {
	r := f.rec
	if f.run.opt.Retokenize == nil || len(f.ends) != len(r.Chunks) || r.OutputFrom != bench.FromServer || float64(r.OutputLen-len(r.Chunks)) <= severalTokens*float64(r.OutputLen) {
		return
	}
	out := parts{rec: r}
	from := 0
	for i, end := range f.ends {
		if r.Chunks[i].Tokens >= 0 || r.Chunks[i].Text && end == from { // the text of a tool call is not kept
			return
		}
		out.texts = append(out.texts, jsonscan.Unquote(f.text[from:end]))
		from = end
	}
	f.run.partsMu.Lock()
	defer f.run.partsMu.Unlock()
	f.run.parts = append(f.run.parts, out)
}

// divide divides the server's count of tokens between the events of a reply, in proportion to the tokenizer's counts of
// their texts. These counts alone can be too large: a text can begin inside a word, or the server can have another
// tokenizer.
func (p parts) divide(counts []int) {
	total := 0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return
	}
	sum, before := 0, 0
	for i, n := range counts {
		sum += n
		upTo := int(math.Round(float64(p.rec.OutputLen) * float64(sum) / float64(total)))
		p.rec.Chunks[i].Tokens, before = upTo-before, upTo
	}
}

// texts decodes the texts of the replies and counts the tokens of these texts. It is called after the run, so that it
// does not disturb the measurement.
func (r *run) texts(ctx context.Context) error {
	o := r.opt
	if o.Retokenize == nil {
		return nil
	}
	var texts []string
	var to []*int
	for _, p := range r.parts {
		texts = append(texts, p.texts...)
	}
	for _, f := range r.flights {
		for i := range f.recs {
			rec := &f.recs[i]
			if len(rec.Chunks) > 0 {
				texts, to = append(texts, rec.Text), append(to, &rec.Retokenized)
			}
		}
	}
	counts, err := o.Retokenize(ctx, texts)
	if err != nil {
		return err
	}
	for _, p := range r.parts {
		n := len(p.texts)
		p.divide(counts[:n])
		counts = counts[n:]
	}
	for i, n := range counts {
		*to[i] = n
	}
	for i := range r.records {
		rec := &r.records[i]
		if rec.OutputFrom == bench.FromChunks && rec.Retokenized >= 0 {
			rec.OutputLen, rec.OutputFrom = rec.Retokenized, bench.FromTokenizer
		}
		if !o.KeepText {
			rec.Text = ""
		}
	}
	return nil
}
