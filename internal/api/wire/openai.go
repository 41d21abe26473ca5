package wire

import (
	"encoding/json"
)

// StreamOptions is the stream_options object of the OpenAI routes.
type StreamOptions struct {
	IncludeUsage    bool `json:"include_usage,omitzero"`
	ContinuousUsage bool `json:"continuous_usage_stats,omitzero"`
}

func parseStreamOptions(raw json.RawMessage) (StreamOptions, error) {
	var o StreamOptions
	f := openObject(raw)
	value(f, "include_usage", &o.IncludeUsage, parseBool)
	value(f, "continuous_usage_stats", &o.ContinuousUsage, parseBool)
	return o, f.err
}

// Common holds the fields that completions and chat completions share.
type Common struct {
	Model         string                     `json:"model,omitempty"`
	Sampling      SamplingParams             `json:"-"`
	Stream        bool                       `json:"stream,omitzero"`
	StreamOptions StreamOptions              `json:"stream_options,omitzero"`
	CachedDetails bool                       `json:"return_cached_tokens_details,omitzero"`
	RID           string                     `json:"rid,omitempty"`
	DPRank        *int                       `json:"routed_dp_rank,omitempty"`
	Priority      *int                       `json:"priority,omitempty"`
	Extra         map[string]json.RawMessage `json:"-"` // fields not named above, as received
}

func (c *Common) decode(f *fields) {
	value(f, "model", &c.Model, parseString)
	c.Sampling.common(f)
	value(f, "min_tokens", &c.Sampling.MinNewTokens, parseCount)
	optional(f, "temperature", &c.Sampling.Temperature, parseFloat)
	optional(f, "seed", &c.Sampling.Seed, parseInt)
	value(f, "json_schema", &c.Sampling.JSONSchema, parseSchema)
	var format responseFormat
	value(f, "response_format", &format, parseResponseFormat)
	if format.schema != "" {
		c.Sampling.JSONSchema = format.schema
	}
	c.Sampling.StructuralTag = format.tag
	value(f, "stream", &c.Stream, parseBool)
	value(f, "stream_options", &c.StreamOptions, parseStreamOptions)
	value(f, "return_cached_tokens_details", &c.CachedDetails, parseBool)
	value(f, "rid", &c.RID, parseString)
	optional(f, "data_parallel_rank", &c.DPRank, parseCount)
	optional(f, "routed_dp_rank", &c.DPRank, parseCount)
	optional(f, "priority", &c.Priority, parseCount)
}

// finish checks the sampling parameters and reports errors under the names that these routes use.
func (c *Common) finish(f *fields) error {
	if f.err != nil {
		return f.err
	}
	c.Extra = f.rest()
	err := c.Sampling.Check()
	if fe, ok := err.(*FieldError); ok {
		if name, ok := map[string]string{"max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens"}[fe.Field]; ok {
			fe.Field = name
		}
	}
	return err
}

type responseFormat struct{ schema, tag string }

func parseResponseFormat(raw json.RawMessage) (responseFormat, error) {
	var out responseFormat
	f := openObject(raw)
	var kind string
	value(f, "type", &kind, parseString)
	switch kind {
	case "", "text":
	case "json_object":
		out.schema = `{"type":"object"}`
	case "json_schema":
		out.schema = string(f.take("json_schema"))
		if out.schema == "" {
			out.schema = "{}"
		}
	case "structural_tag":
		out.tag = string(raw)
	default:
		return out, Refuse("type", "unknown format %q", kind)
	}
	return out, f.err
}

// CompletionRequest is the body of /v1/completions.
type CompletionRequest struct {
	Common
	Text     OneOrMany[string]  // the prompt as text
	IDs      OneOrMany[[]int32] // the prompt as token ids
	Echo     bool
	Logprobs *int // number of top tokens at each position
	Suffix   string
}

// UnmarshalJSON decodes leniently.
func (r *CompletionRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	*r = CompletionRequest{}
	r.Sampling.MaxNewTokens = new(16)
	optional(f, "max_tokens", &r.Sampling.MaxNewTokens, parseCount)
	r.Common.decode(f)
	if raw := f.take("prompt"); raw != nil {
		r.prompt(f, raw)
	}
	value(f, "echo", &r.Echo, parseBool)
	optional(f, "logprobs", &r.Logprobs, parseCount)
	value(f, "suffix", &r.Suffix, parseString)
	if err := r.Common.finish(f); err != nil {
		return err
	}
	switch {
	case *r.Sampling.MaxNewTokens <= 0:
		return Refuse("max_tokens", "must be positive, got %d", *r.Sampling.MaxNewTokens)
	case r.Text.IsZero() && r.IDs.IsZero():
		return Refuse("prompt", "is needed")
	case r.Logprobs != nil && *r.Logprobs < 0:
		return Refuse("logprobs", "must be at least 0, got %d", *r.Logprobs)
	}
	return r.checkPrompt()
}

// prompt reads the field prompt in one of four forms: a text, a list of texts, a list of ids, or a list of lists of
// ids.
func (r *CompletionRequest) prompt(f *fields, raw json.RawMessage) {
	var err error
	isText := raw[0] == '"'
	if raw[0] == '[' {
		var items []json.RawMessage
		if err = json.Unmarshal(raw, &items); err == nil {
			isText = len(items) > 0 && items[0][0] == '"'
		}
	}
	if isText {
		r.Text, err = parseOneOrMany(parseString)(raw)
	} else {
		r.IDs, err = parseTokenLists(raw)
	}
	if err != nil {
		f.err = Within("prompt", err)
	}
}

func (r *CompletionRequest) checkPrompt() error {
	empty := true
	for _, s := range r.Text.Values {
		empty = empty && s == ""
	}
	for _, ids := range r.IDs.Values {
		empty = empty && len(ids) == 0
	}
	if empty {
		return Refuse("", "Prompt cannot be empty")
	}
	return nil
}

// Message is one message of a chat, with its content parts joined into one text.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Name    string `json:"name,omitempty"`

	Reasoning string     `json:"reasoning_content,omitempty"` // assistant only
	ToolCalls []ToolCall `json:"-"`                           // assistant only
}

func parseMessage(raw json.RawMessage) (Message, error) {
	var m Message
	f := openObject(raw)
	value(f, "role", &m.Role, parseRole)
	value(f, "name", &m.Name, parseString)
	none := string(f.raw["content"]) == "null" || f.raw["content"] == nil
	value(f, "content", &m.Content, parseContent)
	value(f, "reasoning_content", &m.Reasoning, parseString)
	value(f, "tool_calls", &m.ToolCalls, parseList(parseToolCall))
	switch {
	case f.err != nil:
	case m.Role == "":
		f.err = Refuse("role", "is needed")
	case m.Role == "user" && none:
		f.err = Refuse("content", "is needed")
	case m.Role != "assistant": // only the assistant's are read; SGLang ignores others too
		m.Reasoning, m.ToolCalls = "", nil
	}
	return m, f.err
}

// parseContent returns the text of a message: its content, or its text parts joined. Parts of other types are not
// supported.
func parseContent(raw json.RawMessage) (string, error) {
	if raw[0] != '[' {
		return parseString(raw)
	}
	parts, err := parseList(func(raw json.RawMessage) (string, error) {
		f := openObject(raw)
		var kind, text string
		value(f, "type", &kind, parseString)
		if f.err == nil && kind != "text" {
			return "", Refuse("type", "%q parts are not supported by this server, only text", kind)
		}
		value(f, "text", &text, parseString)
		return text, f.err
	})(raw)
	if err != nil {
		return "", err
	}
	var text string
	for i, p := range parts {
		if i > 0 {
			text += " "
		}
		text += p
	}
	return text, nil
}

// ChatRequest is the body of /v1/chat/completions.
type ChatRequest struct {
	Common
	Messages       []Message
	Logprobs       bool
	TopLogprobs    int
	ContinueFinal  bool // whether to continue the last message instead of answering it
	TemplateKwargs map[string]json.RawMessage
}

// UnmarshalJSON decodes leniently.
func (r *ChatRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	*r = ChatRequest{}
	optional(f, "max_tokens", &r.Sampling.MaxNewTokens, parseCount)
	optional(f, "max_completion_tokens", &r.Sampling.MaxNewTokens, parseCount)
	r.Common.decode(f)
	value(f, "messages", &r.Messages, parseList(parseMessage))
	value(f, "logprobs", &r.Logprobs, parseBool)
	value(f, "top_logprobs", &r.TopLogprobs, parseCount)
	value(f, "continue_final_message", &r.ContinueFinal, parseBool)
	value(f, "chat_template_kwargs", &r.TemplateKwargs, parseRawObject)
	r.tools(f)
	if err := r.Common.finish(f); err != nil {
		return err
	}
	switch {
	case len(r.Messages) == 0:
		return Refuse("messages", "Messages cannot be empty.")
	case r.Sampling.MaxNewTokens != nil && *r.Sampling.MaxNewTokens <= 0:
		return Refuse("max_completion_tokens", "must be positive, got %d", *r.Sampling.MaxNewTokens)
	case r.TopLogprobs < 0:
		return Refuse("top_logprobs", "must be at least 0, got %d", r.TopLogprobs)
	}
	return nil
}
