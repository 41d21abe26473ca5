package server

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// maxTopLogprobs is the maximum number of top logprobs of one token.
const maxTopLogprobs = 128

// unsupported lists SGLang's request fields for features that this server lacks. A request with such a field is
// rejected, unless the field's value is false, 0 or empty.
var unsupported = []string{
	"input_embeds", "image_data", "video_data", "audio_data", "lora_path", "session_params", "custom_logit_processor",
	"return_hidden_states", "return_routed_experts", "token_ids_logprob", "return_sampling_mask", "tools", "functions",
	"stop_regex", "positional_embed_overrides", "watermark", "suffix",
}

func checkExtra(extra map[string]json.RawMessage) error {
	for _, name := range unsupported {
		switch raw := string(extra[name]); raw {
		case "", "null", "false", "0", "[]", "{}", `""`, "[null]":
		default:
			return wire.Refuse(name, "is not supported by this server")
		}
	}
	return nil
}

// sampling checks the parameters against the model and fills in defaults. prompt is the length of the input.
func (s *Server) sampling(p *wire.SamplingParams, prompt int) (api.Sampling, error) {
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"json_schema", p.JSONSchema != ""}, {"regex", p.Regex != ""}, {"ebnf", p.EBNF != ""}, {"structural_tag", p.StructuralTag != ""},
	} {
		if c.set {
			return api.Sampling{}, wire.Refuse(c.name, "constrained output is not supported by this server")
		}
	}
	switch {
	case len(p.StopRegex) > 0:
		return api.Sampling{}, wire.Refuse("stop_regex", "is not supported by this server, use stop")
	case p.BeamWidth != nil && *p.BeamWidth > 1:
		return api.Sampling{}, wire.Refuse("beam_width", "beam search is not supported by this server")
	}
	out := p.Sampling(max(0, min(s.info.ContextLen, s.info.TokenCapacity)-prompt))
	for id := range out.LogitBias {
		if id < 0 || int(id) >= s.info.VocabSize {
			return out, wire.Refuse("logit_bias", "token %d is outside the vocabulary of %d", id, s.info.VocabSize)
		}
	}
	room := s.info.ContextLen - prompt
	if room <= 0 {
		return out, badRequest(fmt.Sprintf("The input (%d tokens) is longer than the model's context length (%d tokens).", prompt, s.info.ContextLen))
	}
	if out.MaxNewTokens > room {
		return out, badRequest(fmt.Sprintf("Requested token count exceeds the model's maximum context length of %d tokens. "+
			"You requested a total of %d tokens: %d tokens from the input messages and %d tokens for the completion. "+
			"Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
			s.info.ContextLen, prompt+out.MaxNewTokens, prompt, out.MaxNewTokens))
	}
	return out, nil
}

func pick[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}

// encode tokenizes a prompt, which must not be empty.
func (s *Server) encode(field, text string, special bool) ([]int32, error) {
	if len(text) > s.textLimit() {
		// Do not tokenize the text, because no tokenizer would encode so much text in so few tokens.
		return nil, badRequest(fmt.Sprintf("%s: %d bytes of text cannot fit the context length of %d tokens", field, len(text), s.info.ContextLen))
	}
	ids, err := s.tok.Encode(text, special)
	if err != nil {
		return nil, wire.Refuse(field, "%v", err)
	}
	if len(ids) == 0 {
		return nil, wire.Refuse(field, "the prompt has no tokens")
	}
	return ids, nil
}

// textLimit returns the maximum size, in bytes, of a text passed to the tokenizer. The limit assumes an average number
// of bytes per token that no vocabulary in use reaches.
func (s *Server) textLimit() int {
	const bytesPerToken = 256
	if s.info.ContextLen > math.MaxInt/bytesPerToken {
		return math.MaxInt
	}
	return s.info.ContextLen * bytesPerToken
}

// checkIDs rejects tokens outside the vocabulary.
func (s *Server) checkIDs(field string, ids []int32) error {
	for i, id := range ids {
		if id < 0 || int(id) >= s.info.VocabSize {
			return wire.Refuse(field, "[%d]: token %d is outside the vocabulary of %d", i, id, s.info.VocabSize)
		}
	}
	return nil
}

// samples creates n specs of one prompt. Each sample has a different seed, because with equal seeds all samples would
// be equal.
func (s *Server) samples(proto spec, p *wire.SamplingParams, id string, n int) ([]*spec, error) {
	params, err := s.sampling(p, len(proto.req.Input))
	if err != nil {
		return nil, err
	}
	proto.stops, proto.noTrim = p.Stop, p.NoStopTrim
	proto.skipSpecial = pick(p.SkipSpecialTokens, true)
	proto.interval = pick(p.StreamInterval, 1)
	out := make([]*spec, n)
	for j := range out {
		sp, req := proto, *proto.req
		req.Params = params
		req.ID, req.Bootstrap = id, req.Bootstrap.Sample(j)
		if n > 1 {
			req.ID = fmt.Sprintf("%s_%d", id, j)
			if params.Seed != nil {
				req.Params.Seed = new(*params.Seed + int64(j))
			}
		}
		sp.req = &req
		out[j] = &sp
	}
	return out, nil
}

// checkTop returns an error if the number of top logprobs is out of range.
func (s *Server) checkTop(field string, n int) error {
	if most := min(maxTopLogprobs, s.info.VocabSize); n < 0 || n > most {
		return wire.Refuse(field, "must be in [0, %d], got %d", most, n)
	}
	return nil
}

// dpRank returns the requested data-parallel rank, or -1 if the request names none.
func (s *Server) dpRank(rank *int) (int, error) {
	dp := pick(rank, -1)
	if dp >= max(1, s.info.DP) || dp < -1 {
		return -1, wire.Refuse("routed_dp_rank", "there is no rank %d, the server has %d", dp, max(1, s.info.DP))
	}
	return dp, nil
}

// checkTotal rejects a request that has more sequences than the maximum number of sequences in flight.
func (s *Server) checkTotal(prompts, n int) error {
	if total := prompts * n; total > s.o.MaxInFlight {
		return wire.Refuse("", "the request asks for %d sequences, at most %d are allowed", total, s.o.MaxInFlight)
	}
	return nil
}
