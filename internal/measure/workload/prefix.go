package workload

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/pyrand"
)

// sharedPrefix makes groups of prompts from random tokens. The prompts of a group share a system prompt. The number of
// prompts is the number of groups times the prompts per group; --num-prompts is ignored. With the distribution zipf,
// the group of each prompt is drawn at random, and group 0 is drawn most often. The questions and system prompts are
// the same as with the distribution uniform.
func (b *builder) sharedPrefix(ctx context.Context) ([]Request, error) {
	p := b.Prefix
	if err := p.check(); err != nil {
		return nil, err
	}
	if b.TokenIDs && p.Turns > 1 {
		return nil, fmt.Errorf("--tokenize-prompt works only with --gsp-num-turns 1")
	}
	total := p.Groups * p.PerGroup
	systemLens := b.lengths(p.SystemLen, p.RangeRatio, p.Groups)
	questionLens := b.lengths(p.QuestionLen, p.RangeRatio, total*p.Turns)
	outputLens := b.lengths(p.OutputLen, p.RangeRatio, total)
	made, err := b.randomTexts(ctx, append(systemLens, questionLens...))
	if err != nil {
		return nil, err
	}
	systems, questions := made[:p.Groups], made[p.Groups:]
	group := func(i int) int { return i / p.PerGroup }
	if p.Distribution == "zipf" {
		// A separate random generator is used, so that the draws of the other generators remain unchanged.
		ranks := pyrand.NewWeights(p.Groups, func(i int) float64 { return 1 / math.Pow(float64(i+1), p.ZipfAlpha) })
		rng := pyrand.NewGenerator(uint32(b.Seed))
		group = func(int) int { return ranks.At(rng.Float()) }
	}
	keys := b.keys()
	out := make([]Request, total)
	for i := range out {
		of := group(i)
		system, question := systems[of], questions[i*p.Turns]
		r := Request{OutputLen: outputLens[i]}
		if b.TokenIDs {
			r.Tokens = slices.Concat(system.ids, question.ids)
			r.PromptLen, r.TextLen = len(r.Tokens), len(r.Tokens)
		} else {
			r = textRequest(system.text+"\n\n"+question.text, 1, outputLens[i])
		}
		if p.SendRoutingKey {
			r.RoutingKey = fmt.Sprintf("%s_%d", keys, of)
		}
		out[i] = r
	}
	if !p.Fast && !b.TokenIDs {
		if err := b.measure(ctx, out); err != nil {
			return nil, err
		}
	}
	if p.Turns > 1 {
		for i := range out {
			r := &out[i]
			r.Rounds = []Round{{Prompt: r.Prompt, PromptLen: r.PromptLen, OutputLen: r.OutputLen}}
			for t := i*p.Turns + 1; t < (i+1)*p.Turns; t++ {
				r.Rounds = append(r.Rounds, Round{Prompt: questions[t].text, PromptLen: questionLens[t], OutputLen: r.OutputLen})
			}
		}
	}
	if !p.Ordered {
		b.py.Shuffle(total, func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out, nil
}

// madeText holds random ids. It also holds their decoded text if prompts are sent as text.
type madeText struct {
	ids  []int32
	text string
}

// randomTexts draws texts of the given lengths from the whole vocabulary, including special tokens, as SGLang's client
// does. If the tokenizer does not list its vocabulary, randomTexts uses common words and corrects the lengths.
func (b *builder) randomTexts(ctx context.Context, lens []int) ([]madeText, error) {
	if _, guessed := b.tok.(Estimate); guessed && b.TokenIDs {
		return nil, errNoIDs
	}
	vocab, err := b.tok.Vocabulary(ctx)
	if err != nil {
		return nil, err
	}
	from := vocab.All
	if b.Dataset == "image" { // some special tokens represent images
		from = slices.DeleteFunc(slices.Clone(from), func(id int32) bool { return slices.Contains(vocab.Named, id) })
	}
	mend := len(from) == 0
	if mend {
		b.note(unlike, b.tok)
		from = vocab.Words
	}
	if len(from) == 0 {
		return nil, fmt.Errorf("%s has no tokens for random prompts", b.tok)
	}
	out, rows := make([]madeText, len(lens)), make([][]int32, len(lens))
	for i, n := range lens {
		rows[i] = make([]int32, n)
		for j := range rows[i] {
			rows[i][j] = from[b.py.Choose(len(from))]
		}
		out[i].ids = rows[i]
	}
	if b.TokenIDs {
		return out, nil
	}
	var texts []string
	if fast := b.Dataset != "image" && b.Prefix.Fast; mend && !fast {
		fit, err := b.fitter(ctx)
		if err != nil {
			return nil, err
		}
		if texts, _, err = fit.texts(ctx, rows, false); err != nil {
			return nil, err
		}
		fit.report(b, len(rows))
	} else if texts, err = b.tok.Decode(ctx, rows, false); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].text = texts[i]
	}
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
			return fmt.Errorf("--gsp-zipf-alpha works only with --gsp-group-distribution zipf")
		}
	case "zipf":
		if !(p.ZipfAlpha > 0) || math.IsInf(p.ZipfAlpha, 1) {
			return fmt.Errorf("--gsp-group-distribution zipf needs --gsp-zipf-alpha, a number greater than 0")
		}
	default:
		return fmt.Errorf("unknown --gsp-group-distribution %q: give uniform or zipf", p.Distribution)
	}
	return nil
}

// measure sets the lengths of the prompts to the numbers of tokens that a server will count.
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

// keys returns the prefix of a run's routing keys: 8 random hexadecimal digits and the time, YYYYMMDDhhmmss.
func (b *builder) keys() string {
	start := b.Start
	if start.IsZero() {
		start = time.Now()
	}
	return fmt.Sprintf("%08x_%s", rand.Uint32(), start.Format("20060102150405"))
}
