package workload

import (
	"context"
	"fmt"
	"math"
	"time"
)

// sharedPrefix makes groups of prompts that share a system prompt, of random
// tokens. --num-prompts does not count: there are groups times prompts of them.
// With zipf, the group of each prompt is drawn, group 0 most often; questions and
// system prompts are those of uniform.
func (b *builder) sharedPrefix(ctx context.Context) ([]Request, error) {
	p := b.Prefix
	if err := p.check(); err != nil {
		return nil, err
	}
	total := p.Groups * p.PerGroup
	rng := b.stream(streamLengths)
	systemLens := lengths(rng, p.SystemLen, p.RangeRatio, p.Groups)
	questionLens := lengths(rng, p.QuestionLen, p.RangeRatio, total*p.Turns)
	outputLens := lengths(rng, p.OutputLen, p.RangeRatio, total)
	fit, err := b.fitter(ctx)
	if err != nil {
		return nil, err
	}
	systems, _, err := fit.random(ctx, systemLens, p.Fast)
	if err != nil {
		return nil, err
	}
	questions, lens, err := fit.random(ctx, questionLens, p.Fast)
	if err != nil {
		return nil, err
	}
	groups := b.stream(streamGroups)
	ranks := zipf(p.Groups, p.ZipfAlpha)
	keys := b.keys()
	out := make([]Request, total)
	for i := range out {
		group := i / p.PerGroup
		if p.Distribution == "zipf" {
			group = ranks.draw(groups)
		}
		r := textRequest(systems[group]+"\n\n"+questions[i*p.Turns], 1, outputLens[i])
		r.System = systems[group]
		if p.SendRoutingKey {
			r.RoutingKey = fmt.Sprintf("%s_%d", keys, group)
		}
		out[i] = r
	}
	if !p.Fast {
		if err := b.measure(ctx, out); err != nil {
			return nil, err
		}
	}
	if p.Turns > 1 {
		for i := range out {
			r := &out[i]
			r.Rounds = []Round{{Prompt: r.Prompt, PromptLen: r.PromptLen, OutputLen: r.OutputLen}}
			for t := i*p.Turns + 1; t < (i+1)*p.Turns; t++ {
				r.Rounds = append(r.Rounds, Round{Prompt: questions[t], PromptLen: lens[t], OutputLen: r.OutputLen})
			}
		}
	}
	if !p.Ordered {
		b.stream(streamOrder).Shuffle(total, func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	fit.report(b, p.Groups+len(questions))
	return out, nil
}

func (p *PrefixSpec) check() error {
	if err := first(
		count("--gsp-num-groups", p.Groups), count("--gsp-prompts-per-group", p.PerGroup),
		count("--gsp-system-prompt-len", p.SystemLen), count("--gsp-question-len", p.QuestionLen),
		count("--gsp-num-turns", p.Turns), checkRatio("--gsp-range-ratio", p.RangeRatio),
	); err != nil {
		return err
	}
	if n := float64(p.Groups) * float64(p.PerGroup) * float64(p.Turns); n > most {
		return fmt.Errorf("--gsp-num-groups times --gsp-prompts-per-group times --gsp-num-turns is %g: at most %d", n, most)
	}
	switch p.Distribution {
	case "uniform":
		if p.ZipfAlpha != 0 {
			return fmt.Errorf("--gsp-zipf-alpha goes with --gsp-group-distribution zipf only")
		}
	case "zipf":
		if !(p.ZipfAlpha > 0) || math.IsInf(p.ZipfAlpha, 1) {
			return fmt.Errorf("--gsp-group-distribution zipf needs --gsp-zipf-alpha, a number greater than 0")
		}
	default:
		return fmt.Errorf("--gsp-group-distribution %q is not known: give uniform or zipf", p.Distribution)
	}
	return nil
}

// random makes texts of random tokens; unverified ones have no lengths.
func (f *fitter) random(ctx context.Context, lens []int, unverified bool) ([]string, []int, error) {
	rows, err := f.uniform(ctx, lens, 0)
	if err != nil {
		return nil, nil, err
	}
	if unverified {
		texts, err := f.tok.Decode(ctx, rows, false)
		return texts, lens, err
	}
	return f.texts(ctx, rows, false)
}

// measure sets the lengths of prompts as a server will count them.
func (b *builder) measure(ctx context.Context, requests []Request) error {
	for from := 0; from < len(requests); from += fitBatch {
		batch := requests[from:min(from+fitBatch, len(requests))]
		texts := make([]string, len(batch))
		for i, r := range batch {
			texts[i] = r.Prompt
		}
		ids, err := b.tok.Encode(ctx, texts, true)
		if err != nil {
			return err
		}
		for i := range batch {
			batch[i].PromptLen, batch[i].TextLen = len(ids[i]), len(ids[i])
		}
	}
	return nil
}

// keys is what the routing keys of a run begin with: 8 hexadecimal digits and the
// time, YYYYMMDDhhmmss.
func (b *builder) keys() string {
	start := b.Start
	if start.IsZero() {
		start = time.Now()
	}
	return fmt.Sprintf("%08x_%s", b.stream(streamKeys).Uint32(), start.Format("20060102150405"))
}
