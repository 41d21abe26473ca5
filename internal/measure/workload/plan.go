package workload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// planRow is a line of a plan. A plan is a file of JSON lines, one request each. The keys are the field names of
// DatasetRow, the class of the rows that SGLang's bench_serving samples. Prompts that bench_serving has sampled, with
// Python's generators and any tokenizer, can therefore be sent unchanged. To do this, write dataclasses.asdict(row) of
// each row as a line, and use --dataset-name plan --dataset-path FILE.
//
//	{"prompt":"Hello","prompt_len":2,"output_len":16}
//
// prompt is a text, a list of token ids, or a list of messages. For a conversation, prompt is a list of texts or of
// lists of messages, with one item per turn. If prompt_len is missing, the tokens are counted. Three keys are additions
// to SGLang's: "rounds", which replaces "prompt" for conversations whose turns have individual lengths; "lora"; and
// "at_ns", the send time since the start.
type planRow struct {
	Prompt     json.RawMessage            `json:"prompt,omitempty"`
	Rounds     []planRound                `json:"rounds,omitempty"`
	PromptLen  *int                       `json:"prompt_len,omitempty"`
	OutputLen  int                        `json:"output_len"`
	TextLen    *int                       `json:"text_prompt_len,omitempty"`
	VisionLen  int                        `json:"vision_prompt_len,omitempty"`
	Images     []string                   `json:"image_data,omitempty"`
	RoutingKey string                     `json:"routing_key,omitempty"`
	Extra      map[string]json.RawMessage `json:"extra_request_body,omitempty"`
	LoRA       string                     `json:"lora,omitempty"`
	At         time.Duration              `json:"at_ns,omitempty"`
}

type planRound struct {
	Prompt    json.RawMessage `json:"prompt"`
	PromptLen int             `json:"prompt_len"`
	OutputLen int             `json:"output_len"`
	Delay     time.Duration   `json:"delay_ns,omitempty"`
}

// Hash returns a hash that identifies a plan: equal hashes mean equal requests at equal times. The hash excludes
// routing keys, because they contain the time of day.
func Hash(requests []Request, times []time.Duration) string {
	h := sha256.New()
	if err := write(h, requests, times); err != nil {
		fmt.Fprint(h, err) // fails only if messages are not JSON, which cannot happen in the result of Build
	}
	return hex.EncodeToString(h.Sum(nil))
}

// write writes the requests as a plan, without their routing keys. The argument times replaces the field At of the
// requests. If times is nil, At is kept.
func write(w io.Writer, requests []Request, times []time.Duration) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range requests {
		row, err := toRow(&requests[i])
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if times != nil {
			row.At = times[i]
		}
		if err := enc.Encode(row); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

func toRow(r *Request) (*planRow, error) {
	row := &planRow{
		PromptLen: &r.PromptLen, OutputLen: r.OutputLen, TextLen: &r.TextLen, VisionLen: r.VisionLen,
		Images: r.Images, Extra: r.Extra, LoRA: r.LoRA, At: r.At,
	}
	var err error
	for _, turn := range r.Rounds {
		made := planRound{PromptLen: turn.PromptLen, OutputLen: turn.OutputLen, Delay: turn.Delay}
		if made.Prompt, err = prompt(turn.Prompt, nil, turn.Messages); err != nil {
			return nil, err
		}
		row.Rounds = append(row.Rounds, made)
	}
	if len(r.Rounds) == 0 {
		row.Prompt, err = prompt(r.Prompt, r.Tokens, r.Messages)
	}
	return row, err
}

func prompt(text string, tokens []int32, messages json.RawMessage) (json.RawMessage, error) {
	switch {
	case messages != nil:
		return messages, nil
	case tokens != nil:
		return json.Marshal(tokens)
	}
	var b bytes.Buffer // the encoder must not escape <, > and &
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(text)
	return bytes.TrimSpace(b.Bytes()), err
}

// plan reads the file of a plan. An invalid line is an error: a plan is sent unchanged or not at all.
func (b *builder) plan(ctx context.Context) ([]Request, error) {
	rows, err := b.open("", "a plan, a file with one request in each line")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make([]Request, b.limit(len(rows.at)))
	var count []int // requests without a length
	for i := range out {
		var row planRow
		ok, err := rows.read(i, &row)
		if err != nil {
			return nil, err
		}
		if ok {
			err = out[i].fromRow(&row)
		} else {
			err = fmt.Errorf("%s", rows.badCause)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", b.Path, rows.at[i].line, err)
		}
		if row.PromptLen == nil {
			count = append(count, i)
		}
	}
	if _, ok := b.tok.(Estimate); ok && len(count) > 0 {
		b.note("%d prompts have no prompt_len: their "+estimated, len(count))
	}
	for _, i := range count {
		r := &out[i]
		switch {
		case r.Tokens != nil:
			r.TextLen = len(r.Tokens)
		case r.Messages != nil:
			lens, err := b.chatLens(ctx, []json.RawMessage{r.Messages})
			if err != nil {
				return nil, err
			}
			r.TextLen = lens[0]
		default:
			if err := b.measure(ctx, out[i:i+1]); err != nil {
				return nil, err
			}
		}
		r.PromptLen = r.TextLen + r.VisionLen
		if len(r.Rounds) > 0 && r.Rounds[0].PromptLen == 0 {
			r.Rounds[0].PromptLen = r.PromptLen
		}
	}
	b.shorter(len(out))
	return out, nil
}

func (r *Request) fromRow(row *planRow) error {
	*r = Request{
		OutputLen: row.OutputLen, VisionLen: row.VisionLen, Images: row.Images, RoutingKey: row.RoutingKey,
		LoRA: row.LoRA, At: row.At, Extra: row.Extra,
	}
	if len(r.Extra) == 0 {
		r.Extra = nil // SGLang writes {}
	}
	if row.PromptLen != nil {
		r.PromptLen, r.TextLen = *row.PromptLen, *row.PromptLen-row.VisionLen
	}
	if row.TextLen != nil {
		r.TextLen = *row.TextLen
	}
	if r.OutputLen < 0 || r.PromptLen < 0 || r.TextLen < 0 || r.VisionLen < 0 || r.At < 0 {
		return fmt.Errorf("a length or a time is negative")
	}
	if row.Rounds == nil {
		rounds, err := r.fromPrompt(row.Prompt)
		if err != nil {
			return err
		}
		row.Rounds = rounds
	}
	for i, turn := range row.Rounds {
		var one Request
		if more, err := one.fromPrompt(turn.Prompt); err != nil || more != nil || one.Tokens != nil {
			return fmt.Errorf("rounds[%d]: prompt is neither a text nor a list of messages", i)
		}
		if turn.Delay < 0 || turn.OutputLen < 0 || turn.PromptLen < 0 {
			return fmt.Errorf("rounds[%d]: a length or a time is negative", i)
		}
		r.Rounds = append(r.Rounds, Round{one.Prompt, one.Messages, turn.PromptLen, turn.OutputLen, turn.Delay})
	}
	if len(r.Rounds) > 0 {
		r.Prompt, r.Messages = r.Rounds[0].Prompt, r.Rounds[0].Messages
	}
	return nil
}

// fromPrompt sets the prompt of r from raw, which may have any of the formats described at planRow. For a conversation,
// fromPrompt returns the turns instead.
func (r *Request) fromPrompt(raw json.RawMessage) ([]planRound, error) {
	var list []json.RawMessage
	switch {
	case len(raw) == 0:
		return nil, fmt.Errorf("there is no prompt")
	case raw[0] == '"':
		return nil, json.Unmarshal(raw, &r.Prompt)
	case raw[0] != '[' || json.Unmarshal(raw, &list) != nil || len(list) == 0:
		return nil, fmt.Errorf("prompt is neither a text nor a list of token ids, messages or turns")
	}
	switch list[0][0] {
	case '{':
		messages, err := messageList(raw)
		r.Messages = messages
		return nil, err
	case '"', '[': // turns
		rounds := make([]planRound, len(list))
		for i, turn := range list {
			rounds[i] = planRound{Prompt: turn, OutputLen: r.OutputLen}
		}
		rounds[0].PromptLen = r.PromptLen
		return rounds, nil
	}
	if err := json.Unmarshal(raw, &r.Tokens); err != nil {
		return nil, fmt.Errorf("prompt: %s", wire.JSONCause(err))
	}
	for _, id := range r.Tokens {
		if id < 0 {
			return nil, fmt.Errorf("prompt: token id %d is negative", id)
		}
	}
	return nil, nil
}
