package wire

import (
	"encoding/json"
	"strconv"
)

// Usage counts the tokens of a reply.
type Usage struct {
	PromptTokens     int            `json:"prompt_tokens"`
	TotalTokens      int            `json:"total_tokens"`
	CompletionTokens int            `json:"completion_tokens"`
	PromptDetails    *PromptDetails `json:"prompt_tokens_details"` // null unless the server reports cache hits
	ReasoningTokens  int            `json:"reasoning_tokens"`
}

// PromptDetails counts the prompt tokens that were found in the prefix cache.
type PromptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// SGLExt holds SGLang's additions to OpenAI's replies.
type SGLExt struct {
	CachedTokensDetails *CachedTokensDetails `json:"cached_tokens_details,omitempty"`
}

// CompletionLogprobs holds the log probabilities of a completion.
type CompletionLogprobs struct {
	TextOffset    []int                `json:"text_offset"` // -1: not computed, as in SGLang
	TokenLogprobs []*float64           `json:"token_logprobs"`
	Tokens        []string             `json:"tokens"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
}

// ChatLogprobs holds the log probabilities of a chat choice.
type ChatLogprobs struct {
	Content []ChatLogprob `json:"content"`
}

// ChatLogprob is one token of a chat choice.
type ChatLogprob struct {
	Token       string        `json:"token"`
	Bytes       []int         `json:"bytes"`
	Logprob     float64       `json:"logprob"`
	TopLogprobs []ChatLogprob `json:"top_logprobs,omitzero"`
}

// Completion is the reply of /v1/completions, and one event of its stream.
type Completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"` // text_completion
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []CompletionChoice `json:"choices"`
	Usage   *Usage             `json:"usage"`
	Ext     *SGLExt            `json:"sglext,omitempty"`
}

// CompletionChoice is one choice of a completion. In a stream, Text is only the text added by the event.
type CompletionChoice struct {
	Index        int                 `json:"index"`
	Text         string              `json:"text"`
	Logprobs     *CompletionLogprobs `json:"logprobs"`
	FinishReason *string             `json:"finish_reason"`
	MatchedStop  json.RawMessage     `json:"matched_stop"`
}

// Chat is the reply from /v1/chat/completions.
type Chat struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"` // chat.completion
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   *Usage       `json:"usage"`
	Ext     *SGLExt      `json:"sglext,omitempty"`
}

// ChatChoice is one choice of a chat.
type ChatChoice struct {
	Index        int             `json:"index"`
	Message      ChatMessage     `json:"message"`
	Logprobs     *ChatLogprobs   `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
	MatchedStop  json.RawMessage `json:"matched_stop"`
}

// ChatMessage is the answer of a chat.
type ChatMessage struct {
	Role             string  `json:"role"`
	Content          string  `json:"content"`
	ReasoningContent *string `json:"reasoning_content"`
}

// ChatChunk is one event of a chat's stream.
type ChatChunk struct {
	ID      string            `json:"id"`
	Object  string            `json:"object"` // chat.completion.chunk
	Created int64             `json:"created"`
	Model   string            `json:"model"`
	Choices []ChatChunkChoice `json:"choices"`
	Usage   *Usage            `json:"usage,omitempty"`
	Ext     *SGLExt           `json:"sglext,omitempty"`
}

// ChatChunkChoice is the part of one choice that one event of a stream carries.
type ChatChunkChoice struct {
	Index        int             `json:"index"`
	Delta        Delta           `json:"delta"`
	Logprobs     *ChatLogprobs   `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
	MatchedStop  json.RawMessage `json:"matched_stop"`
}

// Delta is the text that one event adds to a message.
type Delta struct {
	Role             *string `json:"role,omitempty"`
	Content          *string `json:"content,omitempty"`
	ReasoningContent *string `json:"reasoning_content"`
}

// ModelList is the reply of /v1/models.
type ModelList struct {
	Object string      `json:"object"` // list
	Data   []ModelCard `json:"data"`
}

// ModelCard names one served model.
type ModelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"` // model
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

// ModelInfo is the reply of /model_info.
type ModelInfo struct {
	ModelPath               string          `json:"model_path"`
	ServedModelName         string          `json:"served_model_name"`
	TokenizerPath           string          `json:"tokenizer_path"`
	IsGeneration            bool            `json:"is_generation"`
	PreferredSamplingParams json.RawMessage `json:"preferred_sampling_params"`
	WeightVersion           string          `json:"weight_version"`
	LoadFormat              string          `json:"load_format"`
	ReasoningParser         *string         `json:"reasoning_parser"` // always null, because this server has no parsers
	ToolCallParser          *string         `json:"tool_call_parser"` // always null, for the same reason
	DisaggregationMode      string          `json:"disaggregation_mode"`
	HasImageUnderstanding   bool            `json:"has_image_understanding"`
	HasAudioUnderstanding   bool            `json:"has_audio_understanding"`
	ModelType               string          `json:"model_type"`
	Architectures           []string        `json:"architectures"`
}

// Error is the error object of the OpenAI routes. Other routes reply with it to a malformed body.
type Error struct {
	Object  string  `json:"object"` // error
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"` // the HTTP status
}

// NativeError is the error object of /generate.
type NativeError struct {
	Error NativeErrorBody `json:"error"`
}

// NativeErrorBody is the object inside a NativeError. Type and Code appear only in streams.
type NativeErrorBody struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
	Code    int    `json:"code,omitempty"`
}

// Piece is one event of a completion or chat stream, with its text already escaped ([AppendEscaped]).
type Piece struct {
	ID, Model string
	Created   int64
	Index     int
	Text      []byte
	Role      bool // chat: whether this is the event that opens the message
	Logprobs  any  // *CompletionLogprobs or *ChatLogprobs; nil: null
	Finish    string
	Matched   json.RawMessage
	Usage     *Usage
}

func (p *Piece) head(dst []byte, object string) []byte {
	dst = AppendString(append(dst, `{"id":`...), p.ID)
	dst = AppendString(append(dst, `,"object":`...), object)
	dst = strconv.AppendInt(append(dst, `,"created":`...), p.Created, 10)
	dst = AppendString(append(dst, `,"model":`...), p.Model)
	dst = append(dst, `,"choices":[{"index":`...)
	return strconv.AppendInt(dst, int64(p.Index), 10)
}

func (p *Piece) tail(dst []byte) []byte {
	dst = append(dst, `,"logprobs":`...)
	dst = appendJSON(dst, p.Logprobs)
	dst = append(dst, `,"finish_reason":`...)
	if p.Finish == "" {
		dst = append(dst, "null"...)
	} else {
		dst = AppendString(dst, p.Finish)
	}
	dst = append(dst, `,"matched_stop":`...)
	if p.Matched == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, p.Matched...)
	}
	return append(dst, `}]`...)
}

// AppendCompletion appends p as an event of a completion stream. The JSON is that of a [Completion] with one choice.
func (p *Piece) AppendCompletion(dst []byte) []byte {
	dst = p.head(dst, "text_completion")
	dst = append(append(append(dst, `,"text":"`...), p.Text...), '"')
	dst = p.tail(dst)
	dst = append(dst, `,"usage":`...)
	if p.Usage == nil {
		return append(dst, `null}`...)
	}
	return append(appendJSON(dst, p.Usage), '}')
}

// AppendChat appends p as an event of a chat stream. The JSON is that of a [ChatChunk] with one choice.
func (p *Piece) AppendChat(dst []byte) []byte {
	dst = p.head(dst, "chat.completion.chunk")
	dst = append(dst, `,"delta":{`...)
	if p.Role {
		dst = append(dst, `"role":"assistant","content":"",`...)
	} else if len(p.Text) > 0 {
		dst = append(append(append(dst, `"content":"`...), p.Text...), `",`...)
	}
	dst = append(dst, `"reasoning_content":null}`...)
	dst = p.tail(dst)
	if p.Usage != nil {
		dst = appendJSON(append(dst, `,"usage":`...), p.Usage)
	}
	return append(dst, '}')
}

// appendJSON appends v in the form of encoding/json. v must be of one of the types of this file, whose encoding cannot
// fail.
func appendJSON(dst []byte, v any) []byte {
	switch p := v.(type) {
	case *CompletionLogprobs:
		if p == nil {
			return append(dst, "null"...)
		}
	case *ChatLogprobs:
		if p == nil {
			return append(dst, "null"...)
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic("wire: " + err.Error())
	}
	return append(dst, text...)
}
