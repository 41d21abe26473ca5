package load

import (
	"context"

	"github.com/stepscope/stepscope/bench"
)

// texts decodes the texts of the replies and counts the tokens of these texts. It is called after the run, so that it
// does not disturb the measurement.
func (r *run) texts(ctx context.Context) error {
	o := r.opt
	if o.Retokenize == nil {
		return nil
	}
	var texts []string
	var to []*int
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
