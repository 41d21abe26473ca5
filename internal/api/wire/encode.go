package wire

import (
	"encoding/json"
	"maps"
)

// openAINames maps the names of sampling parameters to the names that the OpenAI routes use. On these routes the
// parameters are at the top level of the body.
var openAINames = map[string]string{"max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens", "sampling_seed": "seed"}

// encode returns the fields of c for the body. Extra fields take precedence, so that a caller can set fields that this
// package does not know.
func (c *Common) encode(limit string) (map[string]any, error) {
	out := map[string]any{}
	for _, part := range []any{c, &c.Sampling} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, err
		}
		for name, v := range fields {
			if as, ok := openAINames[name]; ok {
				name = as
			}
			if name == "max_tokens" {
				if string(v) == "null" {
					continue
				}
				name = limit
			}
			out[name] = v
		}
	}
	for name, v := range c.Extra {
		out[name] = v
	}
	return out, nil
}

// MarshalJSON writes the body of /v1/completions.
func (r *CompletionRequest) MarshalJSON() ([]byte, error) {
	out, err := r.Common.encode("max_tokens")
	if err != nil {
		return nil, err
	}
	more := map[string]any{"prompt": r.Text}
	if r.Text.IsZero() {
		more["prompt"] = r.IDs
	}
	if r.Echo {
		more["echo"] = true
	}
	if r.Logprobs != nil {
		more["logprobs"] = *r.Logprobs
	}
	if r.Suffix != "" {
		more["suffix"] = r.Suffix
	}
	maps.Copy(more, out)
	return json.Marshal(more)
}

// MarshalJSON writes the body of /v1/chat/completions.
func (r *ChatRequest) MarshalJSON() ([]byte, error) {
	out, err := r.Common.encode("max_completion_tokens")
	if err != nil {
		return nil, err
	}
	more := map[string]any{"messages": r.Messages}
	if r.Logprobs {
		more["logprobs"], more["top_logprobs"] = true, r.TopLogprobs
	}
	if r.ContinueFinal {
		more["continue_final_message"] = true
	}
	if r.TemplateKwargs != nil {
		more["chat_template_kwargs"] = r.TemplateKwargs
	}
	maps.Copy(more, out)
	return json.Marshal(more)
}
