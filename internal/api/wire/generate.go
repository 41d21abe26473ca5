package wire

import (
	"encoding/json"
)

// GenerateRequest is the body of POST /generate. Exactly one of Text and InputIDs is set. If the field is a list of
// prompts, the request is a batch.
type GenerateRequest struct {
	RID             OneOrMany[string]          `json:"rid,omitzero"`
	Text            OneOrMany[string]          `json:"text,omitzero"`
	InputIDs        OneOrMany[[]int32]         `json:"input_ids,omitzero"`
	SamplingParams  OneOrMany[SamplingParams]  `json:"sampling_params,omitzero"`
	ReturnLogprob   OneOrMany[bool]            `json:"return_logprob,omitzero"`
	LogprobStartLen OneOrMany[int]             `json:"logprob_start_len,omitzero"` // prompt position; -1: output only
	TopLogprobsNum  OneOrMany[int]             `json:"top_logprobs_num,omitzero"`
	TextInLogprobs  bool                       `json:"return_text_in_logprobs,omitzero"`
	Stream          bool                       `json:"stream,omitzero"`
	DPRank          *int                       `json:"routed_dp_rank,omitempty"`
	Priority        *int                       `json:"priority,omitempty"`
	NoLogs          bool                       `json:"no_logs,omitzero"`
	Extra           map[string]json.RawMessage `json:"-"` // fields not named above, as received
}

// UnmarshalJSON decodes leniently.
func (r *GenerateRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	*r = GenerateRequest{}
	value(f, "rid", &r.RID, parseOneOrMany(parseString))
	value(f, "text", &r.Text, parseOneOrMany(parseString))
	value(f, "input_ids", &r.InputIDs, parseTokenLists)
	value(f, "sampling_params", &r.SamplingParams, parseOneOrMany(parseSampling))
	value(f, "return_logprob", &r.ReturnLogprob, parseOneOrMany(parseBool))
	value(f, "logprob_start_len", &r.LogprobStartLen, parseOneOrMany(parseCount))
	value(f, "top_logprobs_num", &r.TopLogprobsNum, parseOneOrMany(parseCount))
	value(f, "return_text_in_logprobs", &r.TextInLogprobs, parseBool)
	value(f, "stream", &r.Stream, parseBool)
	optional(f, "data_parallel_rank", &r.DPRank, parseCount) // older name of the field
	optional(f, "routed_dp_rank", &r.DPRank, parseCount)
	optional(f, "priority", &r.Priority, parseCount)
	value(f, "no_logs", &r.NoLogs, parseBool)
	if f.err != nil {
		return f.err
	}
	r.Extra = f.rest()
	return r.check()
}

func parseSampling(raw json.RawMessage) (SamplingParams, error) {
	var p SamplingParams
	return p, p.UnmarshalJSON(raw)
}

func (r *GenerateRequest) check() error {
	text, ids := !r.Text.IsZero(), !r.InputIDs.IsZero()
	switch {
	case text && ids:
		return Refuse("", "give text or input_ids, not both")
	case !text && !ids:
		return Refuse("", "text or input_ids is needed")
	case r.Batch() == 0:
		return Refuse("", "the batch is empty")
	}
	for i, ids := range r.InputIDs.Values {
		if len(ids) == 0 {
			if !r.InputIDs.Many {
				return Refuse("input_ids", "is empty")
			}
			return Refuse("input_ids", "[%d] is empty", i)
		}
	}
	lists := []struct {
		name string
		many bool
		n    int
	}{
		{"sampling_params", r.SamplingParams.Many, len(r.SamplingParams.Values)},
		{"return_logprob", r.ReturnLogprob.Many, len(r.ReturnLogprob.Values)},
		{"logprob_start_len", r.LogprobStartLen.Many, len(r.LogprobStartLen.Values)},
		{"top_logprobs_num", r.TopLogprobsNum.Many, len(r.TopLogprobsNum.Values)},
		{"rid", r.RID.Many, len(r.RID.Values)},
	}
	for _, l := range lists {
		if l.many && l.n != r.Batch() {
			return Refuse(l.name, "has %d entries for a batch of %d", l.n, r.Batch())
		}
	}
	return nil
}

// Batch returns the number of prompts.
func (r *GenerateRequest) Batch() int {
	if !r.Text.IsZero() {
		return len(r.Text.Values)
	}
	return len(r.InputIDs.Values)
}

// IsBatch reports whether the reply is a list.
func (r *GenerateRequest) IsBatch() bool { return r.Text.Many || r.InputIDs.Many }

// FinishReason is the reason why a request ended.
type FinishReason struct {
	Type    string          `json:"type"` // stop, length or abort
	Matched json.RawMessage `json:"matched,omitempty"`
	Length  int             `json:"length,omitempty"`
	Message string          `json:"message,omitempty"`
	Status  int             `json:"status_code,omitempty"`
	ErrType string          `json:"err_type,omitempty"`
}

// CachedTokensDetails counts the cached prompt tokens by the level of the cache in which they were found.
type CachedTokensDetails struct {
	Device         int    `json:"device"`
	Host           int    `json:"host"`
	Storage        *int   `json:"storage,omitempty"`
	StorageBackend string `json:"storage_backend,omitempty"`
}

// MetaInfo is the meta_info object of one reply or event.
type MetaInfo struct {
	ID               string               `json:"id"`
	FinishReason     *FinishReason        `json:"finish_reason"`
	PromptTokens     int                  `json:"prompt_tokens"`
	CompletionTokens int                  `json:"completion_tokens"`
	CachedTokens     int                  `json:"cached_tokens"`
	CachedDetails    *CachedTokensDetails `json:"cached_tokens_details,omitempty"`
	WeightVersion    string               `json:"weight_version"`
	Retractions      int                  `json:"total_retractions"`
	DPRank           *int                 `json:"dp_rank,omitempty"`
	InputLogprobs    []TokenLogprob       `json:"input_token_logprobs,omitempty"`
	OutputLogprobs   []TokenLogprob       `json:"output_token_logprobs,omitempty"`
	InputTop         [][]TokenLogprob     `json:"input_top_logprobs,omitempty"`
	OutputTop        [][]TokenLogprob     `json:"output_top_logprobs,omitempty"`
	E2ELatency       *float64             `json:"e2e_latency,omitempty"` // s; final event only
	SpecVerify       int                  `json:"spec_verify_ct,omitzero"`
	SpecAcceptLength float64              `json:"spec_accept_length,omitzero"`

	// HasLogprobs and HasTop make the encoder write the lists of log probabilities even if these are empty.
	HasLogprobs bool `json:"-"`
	HasTop      bool `json:"-"`
}
