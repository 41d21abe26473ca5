package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/measure/workload"
)

// Prompts are the prompts of one batch.
type Prompts struct {
	Case
	IDs    [][]int32
	Tokens int      // tokens of all prompts together
	LoRA   []string // adapter of each prompt; nil: none
}

// Data describes the source of the prompts.
type Data struct {
	Dataset string // random, random-ids, generated-shared-prefix
	Path    string
	Seed    int64
	// Step is the difference in length between consecutive prompts of a batch, as a fraction of the input length. The
	// lengths are centred on the input length (random, random-ids).
	Step float64
	// Lens are the lengths of the prompts: prompt i has length Lens[i % len(Lens)] (random, random-ids).
	Lens []int

	Groups, SystemLen, QuestionLen, OutputLen int // generated-shared-prefix

	File         string // text file that replaces the data set: every prompt is the text of the file
	ChatTemplate bool   // apply the chat template to File

	LoRANames        []string
	LoRADistribution string
	LoRAAlpha        float64

	Tok  workload.Tokenizer
	Note func(string)

	fixed []int32 // token ids of File
}

// Open reads d.File if it is set.
func (d *Data) Open(ctx context.Context) error {
	if d.File == "" {
		return nil
	}
	text, err := os.ReadFile(d.File)
	if err != nil {
		return fmt.Errorf("--fixed-prompt-file: %w", err)
	}
	prompt := string(text)
	if d.ChatTemplate {
		chats, ok := d.Tok.(workload.ChatTokenizer)
		if !ok {
			return fmt.Errorf("--apply-chat-template: %s has no chat template", d.Tok)
		}
		message, err := json.Marshal([]map[string]string{{"role": "user", "content": prompt}})
		if err != nil {
			return err
		}
		rendered, err := chats.Chats(ctx, []json.RawMessage{message}, true)
		if err != nil {
			return fmt.Errorf("--apply-chat-template: %w", err)
		}
		prompt = rendered[0].Text
	}
	// The chat template has already written BOS.
	ids, err := d.Tok.Encode(ctx, []string{prompt}, !d.ChatTemplate)
	if err != nil {
		return fmt.Errorf("--fixed-prompt-file: %w", err)
	}
	if len(ids[0]) == 0 {
		return fmt.Errorf("--fixed-prompt-file %s: is empty", d.File)
	}
	d.fixed = ids[0]
	return nil
}

// Lengths returns c with the lengths that the prompts of c will have. They may differ from the requested lengths, which
// some data sets ignore.
func (d *Data) Lengths(c Case) Case {
	switch {
	case d.fixed != nil:
		c.Input = len(d.fixed)
	case d.Dataset == "generated-shared-prefix":
		c.Input, c.Output = d.SystemLen+d.QuestionLen, d.OutputLen
	case len(d.Lens) > 0:
		sum := 0
		for i := range c.Batch {
			sum += d.Lens[i%len(d.Lens)]
		}
		c.Input = sum / c.Batch
	}
	return c
}

// Prompts creates the prompts of a case.
func (d *Data) Prompts(ctx context.Context, c Case) (*Prompts, error) {
	p := &Prompts{Case: d.Lengths(c)}
	of := p.Case
	if len(d.Lens) > 0 {
		of.Input = c.Input // the data set makes prompts of this length; the prompts are then cut or repeated
	}
	requests, err := d.requests(ctx, of)
	if err != nil {
		return nil, err
	}
	for i, r := range requests {
		ids := r.Tokens
		if ids == nil {
			list, err := d.Tok.Encode(ctx, []string{r.Prompt}, true)
			if err != nil {
				return nil, err
			}
			ids = list[0]
		} else if d.Step != 0 {
			ids = ids[:d.length(c, i)]
		} else if len(d.Lens) > 0 {
			n := d.Lens[i%len(d.Lens)]
			ids = slices.Repeat(ids, n/len(ids)+1)[:n]
		}
		p.IDs = append(p.IDs, ids)
		p.Tokens += len(ids)
		if r.LoRA != "" {
			p.LoRA = append(p.LoRA, r.LoRA)
		}
	}
	p.Input = p.Tokens / p.Batch
	return p, nil
}

// length returns the length of prompt i. The lengths of a batch are spread in the same way as in SGLang's tool.
func (d *Data) length(c Case, i int) int {
	return max(1, int(float64(c.Input)*(1+(float64(i)-float64(c.Batch-1)/2)*d.Step)))
}

func (d *Data) requests(ctx context.Context, c Case) ([]workload.Request, error) {
	s := workload.Default()
	s.Dataset, s.Path, s.N, s.Seed, s.RangeRatio, s.Note = d.Dataset, d.Path, c.Batch, d.Seed, 1, d.Note
	s.LoRANames, s.LoRADistribution, s.LoRAAlpha = d.LoRANames, d.LoRADistribution, d.LoRAAlpha
	s.InputLen, s.OutputLen = c.Input, c.Output
	switch {
	case d.fixed != nil:
		s.Dataset, s.Path, s.TokenIDs, s.InputLen, s.Note = "random-ids", "", true, 1, nil // used only for the adapters
	case d.Dataset == "generated-shared-prefix":
		groups := min(d.Groups, c.Batch)
		s.Prefix.Groups, s.Prefix.PerGroup = groups, (c.Batch+groups-1)/groups
		s.Prefix.SystemLen, s.Prefix.QuestionLen, s.Prefix.OutputLen = d.SystemLen, d.QuestionLen, d.OutputLen
	default:
		s.TokenIDs = strings.HasPrefix(d.Dataset, "random")
		s.InputLen = max(d.length(c, 0), d.length(c, c.Batch-1))
	}
	if _, guess := d.Tok.(workload.Estimate); guess {
		return nil, errors.New("prompts need a tokenizer: give --local-tokenizer-path a model directory")
	}
	out, err := workload.Build(ctx, s, d.Tok)
	if err != nil {
		return nil, err
	}
	if len(out) < c.Batch {
		return nil, fmt.Errorf("data set %s: has %d prompts for a batch of %d", d.Dataset, len(out), c.Batch)
	}
	out = slices.Clone(out[:c.Batch])
	for i := range out {
		if d.fixed != nil {
			out[i].Tokens = d.fixed
		}
	}
	return out, nil
}
