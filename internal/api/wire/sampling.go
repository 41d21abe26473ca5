package wire

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/stepscope/stepscope/internal/api"
)

// Limits of sampling parameters, as in SGLang.
const (
	DefaultMaxNewTokens = 128
	maxStops            = 32
	maxStopTokens       = 1024
	maxSamples          = 128
)

// SamplingParams holds the sampling parameters of the native API. A nil pointer means SGLang's default.
type SamplingParams struct {
	MaxNewTokens      *int               `json:"max_new_tokens"` // nil (null): up to the context length; absent in a body: 128
	MinNewTokens      int                `json:"min_new_tokens,omitzero"`
	Temperature       *float64           `json:"temperature,omitempty"` // 1; 0 is greedy
	TopP              *float64           `json:"top_p,omitempty"`       // 1
	TopK              *int               `json:"top_k,omitempty"`       // -1: the whole vocabulary
	MinP              float64            `json:"min_p,omitzero"`
	FrequencyPenalty  float64            `json:"frequency_penalty,omitzero"`
	PresencePenalty   float64            `json:"presence_penalty,omitzero"`
	RepetitionPenalty *float64           `json:"repetition_penalty,omitempty"` // 1
	Stop              []string           `json:"stop,omitempty"`
	StopTokenIDs      []int32            `json:"stop_token_ids,omitempty"`
	N                 *int               `json:"n,omitempty"` // 1
	IgnoreEOS         bool               `json:"ignore_eos,omitzero"`
	NoStopTrim        bool               `json:"no_stop_trim,omitzero"`
	SkipSpecialTokens *bool              `json:"skip_special_tokens,omitempty"` // true
	Seed              *int64             `json:"sampling_seed,omitempty"`
	LogitBias         map[string]float64 `json:"logit_bias,omitempty"`      // key: token id
	StreamInterval    *int               `json:"stream_interval,omitempty"` // tokens between events
	JSONSchema        string             `json:"json_schema,omitempty"`
	Regex             string             `json:"regex,omitempty"`
	EBNF              string             `json:"ebnf,omitempty"`
	StructuralTag     string             `json:"structural_tag,omitempty"`
	StopRegex         []string           `json:"stop_regex,omitempty"`
	BeamWidth         *int               `json:"beam_width,omitempty"`
}

// UnmarshalJSON decodes leniently and checks the ranges.
func (p *SamplingParams) UnmarshalJSON(data []byte) error {
	f := openObject(data)
	*p = SamplingParams{}
	if _, given := f.raw["max_new_tokens"]; !given {
		p.MaxNewTokens = new(DefaultMaxNewTokens)
	}
	optional(f, "max_new_tokens", &p.MaxNewTokens, parseCount)
	p.common(f)
	value(f, "min_new_tokens", &p.MinNewTokens, parseCount)
	optional(f, "temperature", &p.Temperature, parseFloat)
	optional(f, "sampling_seed", &p.Seed, parseInt)
	optional(f, "stream_interval", &p.StreamInterval, parseCount)
	value(f, "structural_tag", &p.StructuralTag, parseString)
	value(f, "json_schema", &p.JSONSchema, parseSchema)
	optional(f, "beam_width", &p.BeamWidth, parseCount)
	if f.err != nil {
		return f.err
	}
	return p.Check()
}

// common reads the fields that have the same name in the native API and on both OpenAI routes.
func (p *SamplingParams) common(f *fields) {
	optional(f, "top_p", &p.TopP, parseFloat)
	optional(f, "top_k", &p.TopK, parseCount)
	value(f, "min_p", &p.MinP, parseFloat)
	value(f, "frequency_penalty", &p.FrequencyPenalty, parseFloat)
	value(f, "presence_penalty", &p.PresencePenalty, parseFloat)
	optional(f, "repetition_penalty", &p.RepetitionPenalty, parseFloat)
	value(f, "stop", &p.Stop, parseStrings)
	value(f, "stop_token_ids", &p.StopTokenIDs, parseTokens)
	optional(f, "n", &p.N, parseCount)
	value(f, "ignore_eos", &p.IgnoreEOS, parseBool)
	value(f, "no_stop_trim", &p.NoStopTrim, parseBool)
	optional(f, "skip_special_tokens", &p.SkipSpecialTokens, parseBool)
	value(f, "logit_bias", &p.LogitBias, parseBias)
	value(f, "regex", &p.Regex, parseString)
	value(f, "ebnf", &p.EBNF, parseString)
	value(f, "stop_regex", &p.StopRegex, parseStrings)
}

// Check returns an error for the first value that is out of range, in the same way as SGLang's verify.
func (p *SamplingParams) Check() error {
	n, k, interval := or(p.N, 1), or(p.TopK, -1), or(p.StreamInterval, 1)
	topP, rep := or(p.TopP, 1), or(p.RepetitionPenalty, 1)
	switch t := or(p.Temperature, 1); {
	case t < 0:
		return Refuse("temperature", "must be at least 0, got %v", t)
	case topP <= 0 || topP > 1:
		return Refuse("top_p", "must be in (0, 1], got %v", topP)
	case k != -1 && k < 1:
		return Refuse("top_k", "must be -1 (off) or at least 1, got %d", k)
	case p.MinP < 0 || p.MinP > 1:
		return Refuse("min_p", "must be in [0, 1], got %v", p.MinP)
	case math.Abs(p.FrequencyPenalty) > 2:
		return Refuse("frequency_penalty", "must be in [-2, 2], got %v", p.FrequencyPenalty)
	case math.Abs(p.PresencePenalty) > 2:
		return Refuse("presence_penalty", "must be in [-2, 2], got %v", p.PresencePenalty)
	case rep > 0 && rep < leastRepetition:
		return Refuse("repetition_penalty", "must be at least %v, got %v", leastRepetition, rep)
	case rep <= 0 || rep > 2:
		return Refuse("repetition_penalty", "must be in (0, 2], got %v", rep)
	case p.MaxNewTokens != nil && *p.MaxNewTokens < 0:
		return Refuse("max_new_tokens", "must be at least 0, got %d", *p.MaxNewTokens)
	case p.MinNewTokens < 0:
		return Refuse("min_new_tokens", "must be at least 0, got %d", p.MinNewTokens)
	case p.MaxNewTokens != nil && p.MinNewTokens > *p.MaxNewTokens:
		return Refuse("min_new_tokens", "must be in [0, max_new_tokens(%d)], got %d", *p.MaxNewTokens, p.MinNewTokens)
	case n < 1 || n > maxSamples:
		return Refuse("n", "must be in [1, %d], got %d", maxSamples, n)
	case interval < 1:
		return Refuse("stream_interval", "must be at least 1, got %d", interval)
	case len(p.Stop) > maxStops:
		return Refuse("stop", "at most %d stop strings are allowed, got %d", maxStops, len(p.Stop))
	case len(p.StopTokenIDs) > maxStopTokens:
		return Refuse("stop_token_ids", "at most %d are allowed, got %d", maxStopTokens, len(p.StopTokenIDs))
	}
	return nil
}

// Limits to which parameters are clamped so that the model's logits stay finite. More extreme values would have no
// additional effect.
const (
	leastRepetition = 1e-6
	mostBias        = 1e9
)

// greedy is the temperature below which SGLang always chooses the most probable token.
const greedy = 1e-6

// Sampling returns the parameters for the engine. If MaxNewTokens is nil, the maximum number of new tokens is room.
func (p *SamplingParams) Sampling(room int) api.Sampling {
	out := api.Sampling{
		MaxNewTokens: or(p.MaxNewTokens, room), MinNewTokens: p.MinNewTokens,
		Temperature: or(p.Temperature, 1), TopP: or(p.TopP, 1), TopK: max(or(p.TopK, -1), 0), MinP: p.MinP,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: or(p.RepetitionPenalty, 1),
		StopTokens: p.StopTokenIDs, IgnoreEOS: p.IgnoreEOS, Seed: p.Seed,
	}
	if out.Temperature < greedy {
		out.Temperature = 0
	}
	for key, bias := range p.LogitBias {
		if out.LogitBias == nil {
			out.LogitBias = map[int32]float32{}
		}
		id, _ := strconv.ParseInt(key, 10, 32) // the key was checked when the body was decoded
		out.LogitBias[int32(id)] = float32(bias)
	}
	return out
}

// or returns *v, or absent if v is nil.
func or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}

// parseBias parses {"token id": bias}.
func parseBias(raw json.RawMessage) (map[string]float64, error) {
	f := openObject(raw)
	if f.err != nil {
		return nil, f.err
	}
	out := make(map[string]float64, len(f.raw))
	for key, v := range f.raw {
		if _, err := strconv.ParseInt(key, 10, 32); err != nil {
			return nil, Refuse(key, "want a token id as the key")
		}
		x, err := parseFloat(v)
		if err != nil {
			return nil, Within(key, err)
		}
		if math.Abs(x) > mostBias {
			return nil, Refuse(key, "must be in [%v, %v], got %v", -mostBias, mostBias, x)
		}
		out[key] = x
	}
	return out, nil
}

// parseSchema parses a JSON schema that is given as text or as an object.
func parseSchema(raw json.RawMessage) (string, error) {
	if raw[0] == '"' {
		return parseString(raw)
	}
	return string(raw), nil
}
