package wire

import (
	"encoding/json"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
)

// Reply texts of the profile routes, verbatim from SGLang.
const (
	ProfileStarted = "Start profiling.\n"
	ProfileStopped = "Stop profiling. This will take some time.\n"
)

// ProfileRequest is the body of /start_profile. Nil pointers and slices mean the server's defaults.
type ProfileRequest struct {
	OutputDir      *string  `json:"output_dir,omitempty"`
	StartStep      *int64   `json:"start_step,omitempty"` // absolute forward count; 0: unset
	NumSteps       *int     `json:"num_steps,omitempty"`  // nil or 0: until /stop_profile
	Activities     []string `json:"activities"`           // CPU, GPU, MEM, RPD, CUDA_PROFILER, XPU
	ProfileByStage bool     `json:"profile_by_stage"`
	ProfileStages  []string `json:"profile_stages,omitempty"` // prefill, decode
	WithStack      *bool    `json:"with_stack,omitempty"`
	RecordShapes   *bool    `json:"record_shapes,omitempty"`
	MergeProfiles  bool     `json:"merge_profiles"`
	ProfilePrefix  *string  `json:"profile_prefix,omitempty"`
	ProfileID      *string  `json:"profile_id,omitempty"`
	Detailed       bool     `json:"detailed_annotations,omitempty"`
	Unknown        []string `json:"-"` // names of fields that are not in ProfileFields
}

// ProfileFields lists the fields of /start_profile in SGLang 0.5.11 to 0.5.23. SGLang accepts the last three but does
// not use them.
var ProfileFields = []string{
	"output_dir", "start_step", "num_steps", "activities", "profile_by_stage", "profile_stages", "with_stack", "record_shapes",
	"merge_profiles", "profile_prefix", "detailed_annotations", "profile_id", "rid", "http_worker_ipc", "req_type",
}

// UnmarshalJSON decodes leniently, because SGLang's clients send integers as strings.
func (r *ProfileRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	*r = ProfileRequest{}
	optional(f, "output_dir", &r.OutputDir, parseString)
	optional(f, "start_step", &r.StartStep, parseInt)
	optional(f, "num_steps", &r.NumSteps, parseCount)
	value(f, "activities", &r.Activities, parseList(parseString))
	value(f, "profile_by_stage", &r.ProfileByStage, parseBool)
	value(f, "profile_stages", &r.ProfileStages, parseList(parseString))
	optional(f, "with_stack", &r.WithStack, parseBool)
	optional(f, "record_shapes", &r.RecordShapes, parseBool)
	value(f, "merge_profiles", &r.MergeProfiles, parseBool)
	optional(f, "profile_prefix", &r.ProfilePrefix, parseString)
	value(f, "detailed_annotations", &r.Detailed, parseBool)
	optional(f, "profile_id", &r.ProfileID, parseString)
	for name := range f.rest() {
		if !slices.Contains(ProfileFields, name) {
			r.Unknown = append(r.Unknown, name)
		}
	}
	slices.Sort(r.Unknown)
	switch {
	case f.err != nil:
		return f.err
	case r.StartStep != nil && *r.StartStep < 0:
		return Refuse("start_step", "must be at least 0, got %d", *r.StartStep)
	case r.NumSteps != nil && *r.NumSteps < 0:
		return Refuse("num_steps", "must be at least 0, got %d", *r.NumSteps)
	}
	for i, s := range r.ProfileStages {
		if s != api.Prefill && s != api.Decode {
			return Refuse("profile_stages", "[%d] must be prefill or decode, got %q", i, s)
		}
	}
	return nil
}

// AbortRequest is the body of /abort_request.
type AbortRequest struct {
	RID      string `json:"rid"`
	AbortAll bool   `json:"abort_all"`
}

// UnmarshalJSON decodes leniently.
func (r *AbortRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	value(f, "rid", &r.RID, parseString)
	value(f, "abort_all", &r.AbortAll, parseBool)
	return f.err
}

// TokenizeRequest is the body of /tokenize: one prompt, several prompts, or a chat.
type TokenizeRequest struct {
	Prompt              OneOrMany[string]          `json:"prompt,omitzero"`
	Messages            []Message                  `json:"messages,omitempty"`
	AddSpecialTokens    *bool                      `json:"add_special_tokens,omitempty"` // default true
	AddGenerationPrompt *bool                      `json:"add_generation_prompt,omitempty"`
	TemplateKwargs      map[string]json.RawMessage `json:"chat_template_kwargs,omitempty"`
}

// UnmarshalJSON decodes leniently. It also accepts the prompt under the name "text", which older servers use.
func (r *TokenizeRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	value(f, "text", &r.Prompt, parseOneOrMany(parseString))
	value(f, "prompt", &r.Prompt, parseOneOrMany(parseString))
	value(f, "messages", &r.Messages, parseList(parseMessage))
	optional(f, "add_special_tokens", &r.AddSpecialTokens, parseBool)
	optional(f, "add_generation_prompt", &r.AddGenerationPrompt, parseBool)
	value(f, "chat_template_kwargs", &r.TemplateKwargs, parseRawObject)
	if f.err == nil && r.Prompt.IsZero() == (r.Messages == nil) {
		return Refuse("", "give exactly one of prompt and messages")
	}
	return f.err
}

// Tokenized is the reply of /tokenize. For several prompts, Tokens is a list of lists and Count is a list.
type Tokenized struct {
	Tokens      any `json:"tokens"`
	Count       any `json:"count"`
	MaxModelLen int `json:"max_model_len"`
}

// DetokenizeRequest is the body of /detokenize.
type DetokenizeRequest struct {
	Tokens            OneOrMany[[]int32] `json:"tokens"`
	SkipSpecialTokens *bool              `json:"skip_special_tokens,omitempty"` // default true
}

// UnmarshalJSON decodes leniently.
func (r *DetokenizeRequest) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	value(f, "tokens", &r.Tokens, parseTokenLists)
	optional(f, "skip_special_tokens", &r.SkipSpecialTokens, parseBool)
	if f.err == nil && r.Tokens.IsZero() {
		return Refuse("tokens", "is needed")
	}
	return f.err
}

// Detokenized is the reply of /detokenize: a string, or a list of strings.
type Detokenized struct {
	Text any `json:"text"`
}

func parseRawObject(raw json.RawMessage) (map[string]json.RawMessage, error) {
	f := openObject(raw)
	return f.raw, f.err
}
