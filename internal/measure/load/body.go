package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// body is a JSON object under construction. Its keys are ordered and unique.
type body struct {
	keys   []string
	values map[string]json.RawMessage
}

func (b *body) set(key string, value json.RawMessage) {
	if b.values == nil {
		b.values = map[string]json.RawMessage{}
	}
	if _, ok := b.values[key]; !ok {
		b.keys = append(b.keys, key)
	}
	b.values[key] = value
}

func (b *body) str(key, value string) { b.set(key, wire.AppendString(nil, value)) }
func (b *body) int(key string, n int) { b.set(key, strconv.AppendInt(nil, int64(n), 10)) }
func (b *body) bool(key string, v bool) {
	b.set(key, strconv.AppendBool(nil, v))
}
func (b *body) float(key string, v float64) { b.set(key, wire.AppendFloat(nil, v)) }

func (b *body) json() []byte {
	out := []byte{'{'}
	for i, k := range b.keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, k), ':')
		out = append(out, b.values[k]...)
	}
	return append(out, '}')
}

// extras returns the user's additional keys. The keys of a request override the keys of the run.
func (o *Options) extras(q *workload.Request) map[string]json.RawMessage {
	if len(q.Extra) == 0 {
		return o.ExtraBody
	}
	all := maps.Clone(o.ExtraBody)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, q.Extra)
	return all
}

// merge sets the extra keys in alphabetical order, because Go's maps have no order.
func (b *body) merge(extras map[string]json.RawMessage) {
	for _, k := range slices.Sorted(maps.Keys(extras)) {
		b.set(k, extras[k])
	}
}

// makeBody builds the body of a request, or of one round of a conversation with the given messages and output length.
// The body has the same format as in SGLang's bench_serving.
func makeBody(be Backend, o *Options, q *workload.Request, id string, messages []byte, output int) ([]byte, error) {
	var b body
	if id != "" && be.rid {
		b.str("rid", id)
	}
	extras := o.extras(q)
	switch be.family {
	case native:
		b.native(o, q, output, extras)
	case completions, chat:
		if err := b.openAI(be, o, q, messages, output, extras); err != nil {
			return nil, err
		}
	case embeddings:
		b.prompt("input", "input", q)
		b.str("model", o.Model)
		b.lora(q)
		b.merge(extras)
	case images:
		b.str("model", o.Model)
		b.str("prompt", q.Prompt)
		b.merge(extras)
	case trt:
		if q.Tokens != nil {
			return nil, errors.New("backend trt takes text, not token ids")
		}
		b.bool("accumulate_tokens", true)
		b.str("text_input", q.Prompt)
		b.float("temperature", 1e-6)
		b.float("top_p", 1)
		b.int("max_tokens", output)
		b.bool("stream", true)
		if o.IgnoreEOS {
			b.int("min_length", output)
			b.int("end_id", 1048576)
		}
		b.merge(extras)
	}
	return b.json(), nil
}

// native fills the body for SGLang's /generate.
func (b *body) native(o *Options, q *workload.Request, output int, extras map[string]json.RawMessage) {
	var p body
	p.float("temperature", o.Temperature)
	p.int("max_new_tokens", output)
	p.bool("ignore_eos", o.IgnoreEOS)
	if o.TopP < 1 {
		p.float("top_p", o.TopP)
	}
	b.prompt("input_ids", "text", q)
	b.set("sampling_params", p.json())
	b.bool("stream", o.Stream)
	b.set("lora_path", json.RawMessage("null"))
	if q.LoRA != "" {
		b.str("lora_path", q.LoRA)
	}
	b.bool("return_logprob", o.ReturnLogprob)
	b.bool("return_routed_experts", o.ReturnRoutedExperts)
	b.int("logprob_start_len", o.LogprobStartLen)
	b.merge(extras)
	if o.TopLogprobs > 0 {
		b.int("top_logprobs_num", o.TopLogprobs)
	}
	if o.TokenIDsLogprob != nil {
		list, _ := json.Marshal(o.TokenIDsLogprob)
		b.set("token_ids_logprob", list)
	}
	if len(q.Images) > 0 {
		b.set("image_data", stringList(q.Images))
	}
}

// openAI fills the body for completions or chat.
func (b *body) openAI(be Backend, o *Options, q *workload.Request, messages []byte, output int, extras map[string]json.RawMessage) error {
	b.str("model", o.Model)
	if be.family == chat {
		b.set("messages", messages)
		b.int("max_completion_tokens", output)
	} else {
		b.prompt("prompt", "prompt", q)
		b.int("best_of", 1)
		b.int("max_tokens", output)
	}
	b.bool("stream", o.Stream)
	if _, ok := extras["temperature"]; !ok {
		b.float("temperature", 0)
	}
	if _, ok := extras["ignore_eos"]; !ok {
		b.bool("ignore_eos", o.IgnoreEOS)
	}
	if be.family == completions && o.ReturnLogprob && o.TopLogprobs > 0 && !be.fixed {
		b.int("logprobs", o.TopLogprobs)
	}
	if o.CacheReport && be.rid {
		b.bool("return_cached_tokens_details", true)
	}
	b.merge(extras)
	if err := b.usage(o, len(q.Rounds) > 0); err != nil || be.fixed {
		return err
	}
	b.lora(q)
	if len(q.Images) > 0 && be.family == completions {
		b.set("image_data", stringList(q.Images))
	}
	return nil
}

// prompt sets the prompt. A prompt that is sent as token ids is set under the key given by tokens, any other prompt
// under the key given by text.
func (b *body) prompt(tokens, text string, q *workload.Request) {
	if q.Tokens != nil {
		b.set(tokens, append(append([]byte{'['}, wire.AppendTokens(nil, q.Tokens...)...), ']'))
	} else {
		b.str(text, q.Prompt)
	}
}

// lora sets the adapter under both SGLang's and vLLM's keys.
func (b *body) lora(q *workload.Request) {
	if q.LoRA != "" {
		b.str("model", q.LoRA)
		b.str("lora_path", q.LoRA)
	}
}

// usage adds the key that requests the server's token counts, unless the user has set this key.
func (b *body) usage(o *Options, conversation bool) error {
	if !o.Stream || !o.IncludeUsage && !o.ContinuousUsage && !conversation {
		return nil
	}
	var options map[string]json.RawMessage
	if given := b.values["stream_options"]; given != nil {
		if err := json.Unmarshal(given, &options); err != nil {
			return fmt.Errorf("stream_options is %s, not an object", given)
		}
	}
	if options == nil {
		options = map[string]json.RawMessage{}
	}
	ask := func(key string, wanted bool) {
		if _, ok := options[key]; !ok && wanted {
			options[key] = json.RawMessage("true")
		}
	}
	ask("include_usage", true)
	ask("continuous_usage_stats", o.ContinuousUsage)
	var s body
	s.merge(options)
	b.set("stream_options", s.json())
	return nil
}

// messages builds the messages of a chat with one prompt. Images come before the text.
func messages(q *workload.Request) []byte {
	if len(q.Messages) > 0 {
		return q.Messages
	}
	var content []byte
	if len(q.Images) == 0 {
		content = wire.AppendString(nil, q.Prompt)
	} else {
		content = append(content, '[')
		for _, image := range q.Images {
			content = append(content, `{"type":"image_url","image_url":{"url":`...)
			content = append(wire.AppendString(content, image), `}},`...)
		}
		content = append(content, `{"type":"text","text":`...)
		content = append(wire.AppendString(content, q.Prompt), `}]`...)
	}
	return append(append([]byte(`[{"role":"user","content":`), content...), `}]`...)
}

func stringList(all []string) []byte {
	out := []byte{'['}
	for i, s := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendString(out, s)
	}
	return append(out, ']')
}
