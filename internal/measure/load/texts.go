package load

import (
	"context"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/jsonscan"
)

// piece is the text of one event and the place of its number of tokens.
type piece struct {
	text   string
	tokens *int
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
	var out []piece
	from := 0
	for i, end := range f.ends {
		if r.Chunks[i].Tokens >= 0 || r.Chunks[i].Text && end == from { // the text of a tool call is not kept
			return
		}
		out = append(out, piece{jsonscan.Unquote(f.text[from:end]), &r.Chunks[i].Tokens})
		from = end
	}
	f.run.piecesMu.Lock()
	defer f.run.piecesMu.Unlock()
	f.run.pieces = append(f.run.pieces, out...)
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
	for _, p := range r.pieces {
		texts, to = append(texts, p.text), append(to, p.tokens)
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
