package server

import (
	"encoding/json"
	"math"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// openAIReply is the common part of the replies of both OpenAI routes.
type openAIReply struct {
	s       *Server
	common  *wire.Common
	id      string
	model   string
	created int64
	n       int // samples per prompt
	counts  []tokenCount
}

type tokenCount struct{ prompt, completion, cached int }

func (s *Server) openAIReply(c *wire.Common, b *batch) openAIReply {
	model := c.Model
	if model == "" {
		model = s.name
	}
	return openAIReply{
		s: s, common: c, id: b.seqs[0].req.ID, model: model, created: s.o.Now().Unix(),
		n: pick(c.Sampling.N, 1), counts: make([]tokenCount, len(b.seqs)),
	}
}

// see records the token counts of a sequence, which are needed for the usage.
func (o *openAIReply) see(u *update) {
	o.counts[u.q.index] = tokenCount{len(u.q.req.Input), u.mark.n, u.cached}
}

func (o *openAIReply) piece(u *update) wire.Piece {
	return wire.Piece{ID: u.q.req.ID, Model: o.model, Created: o.created, Index: u.q.index}
}

// usage sums the token counts of all choices. A prompt with several samples is counted only once.
func (o *openAIReply) usage() *wire.Usage {
	var sum tokenCount
	for i, c := range o.counts {
		if i%o.n == 0 {
			sum.prompt += c.prompt
			sum.cached += c.cached
		}
		sum.completion += c.completion
	}
	return o.usageFrom(sum)
}

func (o *openAIReply) usageOf(u *update) *wire.Usage {
	return o.usageFrom(o.counts[u.q.index])
}

func (o *openAIReply) usageFrom(c tokenCount) *wire.Usage {
	out := &wire.Usage{PromptTokens: c.prompt, CompletionTokens: c.completion, TotalTokens: c.prompt + c.completion}
	if o.s.o.CacheReport {
		out.PromptDetails = &wire.PromptDetails{CachedTokens: c.cached}
	}
	return out
}

// ext returns the cache details if the request asks for them.
func (o *openAIReply) ext() *wire.SGLExt {
	if !o.common.CachedDetails {
		return nil
	}
	return &wire.SGLExt{CachedTokensDetails: &wire.CachedTokensDetails{Device: o.counts[0].cached}}
}

// tail appends the chunks without choices that end a stream. They contain the cache details and the usage, if
// requested.
func (o *openAIReply) tail(dst []byte, chunk func(*wire.SGLExt, *wire.Usage) any) []byte {
	add := func(ext *wire.SGLExt, usage *wire.Usage) {
		text, _ := json.Marshal(chunk(ext, usage)) // cannot fail: plain structs
		dst = wire.AppendEvent(dst, text)
	}
	if ext := o.ext(); ext != nil {
		add(ext, nil)
	}
	if o.common.StreamOptions.IncludeUsage {
		add(nil, o.usage())
	}
	return dst
}

func finishOf(u *update) (*string, json.RawMessage) {
	r := u.reason()
	return &r.Type, r.Matched
}

// unescape undoes wire.AppendEscaped.
func unescape(text []byte) string {
	var s string
	if err := json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &s); err != nil {
		panic("server: " + err.Error()) // cannot happen: AppendEscaped wrote the text
	}
	return s
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
