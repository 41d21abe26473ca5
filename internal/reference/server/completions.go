package server

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// completions is POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	var req wire.CompletionRequest
	b := s.begin(w, r, dialectOpenAI, &req, func() ([]*spec, error) { return s.completionSpecs(&req) }, &req.Stream)
	if b == nil {
		return
	}
	c := &completionReply{openAIReply: s.openAIReply(&req.Common, b), req: &req}
	if req.Stream {
		s.stream(w, r, b, dialectOpenAI, c)
		return
	}
	done := s.whole(w, r, b, dialectOpenAI)
	if done == nil {
		return
	}
	out := wire.Completion{ID: c.id, Object: "text_completion", Created: c.created, Model: c.model}
	for i := range done {
		u := &done[i]
		c.see(u)
		choice := wire.CompletionChoice{Index: i, Text: c.echo(u) + unescape(u.text), Logprobs: c.logprobs(u)}
		choice.FinishReason, choice.MatchedStop = finishOf(u)
		out.Choices = append(out.Choices, choice)
	}
	out.Usage, out.Ext = c.usage(), c.ext()
	text, _ := json.Marshal(out) // cannot fail: plain structs
	httpguard.WriteJSON(w, http.StatusOK, text)
}

func (s *Server) completionSpecs(req *wire.CompletionRequest) ([]*spec, error) {
	if err := checkExtra(req.Extra); err != nil {
		return nil, err
	}
	if req.Suffix != "" {
		return nil, wire.Refuse("suffix", "is not supported by this server")
	}
	top := pick(req.Logprobs, 0)
	if err := s.checkTop("logprobs", top); err != nil {
		return nil, err
	}
	dp, err := s.dpRank(req.DPRank)
	if err != nil {
		return nil, err
	}
	prompts := max(len(req.Text.Values), len(req.IDs.Values))
	n := pick(req.Sampling.N, 1)
	if err := s.checkTotal(prompts, n); err != nil {
		return nil, err
	}
	id := req.RID
	if id == "" {
		id = s.o.NewID()
	}
	meetings, err := s.meetings(req.Extra, prompts)
	if err != nil {
		return nil, err
	}
	var out []*spec
	for i := range prompts {
		meet, err := meetings.at(i)
		if err != nil {
			return nil, err
		}
		proto := spec{
			textLogprob: true,
			req: &api.Request{
				ReturnLogprob: req.Logprobs != nil, TopLogprobs: top, LogprobStart: -1, DPRank: dp, Bootstrap: meet, Priority: req.Priority,
			},
		}
		if req.Echo && req.Logprobs != nil {
			proto.req.LogprobStart = 0
		}
		if !req.Text.IsZero() {
			proto.prompt = req.Text.Values[i]
			proto.req.Input, err = s.encode("prompt", proto.prompt, true)
		} else {
			proto.req.Input = req.IDs.Values[i]
			err = s.checkIDs("prompt", proto.req.Input)
			if err == nil && len(proto.req.Input) == 0 {
				err = wire.Refuse("prompt", "[%d] is empty", i)
			}
			if err == nil && req.Echo {
				proto.prompt = s.tok.Decode(proto.req.Input, true)
			}
		}
		if err != nil {
			return nil, err
		}
		rid := id
		if prompts > 1 {
			rid = id + "_" + strconv.Itoa(i)
		}
		more, err := s.samples(proto, &req.Sampling, rid, n)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// completionReply writes the events of a completion stream.
type completionReply struct {
	openAIReply
	req *wire.CompletionRequest
}

// echo returns the prompt if the request asks for an echo and no text has been sent yet. Otherwise it returns "".
func (c *completionReply) echo(u *update) string {
	if c.req.Echo && u.prev == (mark{}) {
		return u.q.prompt
	}
	return ""
}

func (c *completionReply) events(dst []byte, u *update) []byte {
	c.see(u)
	p := c.piece(u)
	p.Text = u.text[u.prev.text:]
	if e := c.echo(u); e != "" {
		p.Text = append(wire.AppendEscaped(nil, e), p.Text...)
	}
	p.Logprobs = c.logprobs(u)
	if u.mark.final {
		p.Finish, p.Matched = u.reason().Type, u.reason().Matched
	}
	if c.common.StreamOptions.ContinuousUsage {
		p.Usage = c.usageOf(u)
	}
	return append(p.AppendCompletion(append(dst, "data: "...)), "\n\n"...)
}

func (c *completionReply) end(dst []byte) []byte {
	return c.tail(dst, func(ext *wire.SGLExt, usage *wire.Usage) any {
		return wire.Completion{ID: c.id, Object: "text_completion", Created: c.created, Model: c.model, Choices: []wire.CompletionChoice{}, Ext: ext, Usage: usage}
	})
}

// logprobs returns the logprobs of the tokens since the previous state.
func (c *completionReply) logprobs(u *update) *wire.CompletionLogprobs {
	if c.req.Logprobs == nil {
		return nil
	}
	tokens, top := u.logprobs[u.prev.n:], u.top[u.prev.n:]
	if c.req.Echo && u.prev == (mark{}) {
		tokens = append(append([]wire.TokenLogprob{}, u.prompts...), tokens...)
		top = append(append([][]wire.TokenLogprob{}, u.ptop...), top...)
	}
	out := &wire.CompletionLogprobs{TextOffset: []int{}, TokenLogprobs: []*float64{}, Tokens: []string{}, TopLogprobs: []map[string]float64{}}
	for _, t := range tokens {
		out.TextOffset = append(out.TextOffset, -1)
		out.TokenLogprobs = append(out.TokenLogprobs, finite(t.Logprob))
		out.Tokens = append(out.Tokens, *t.Text)
	}
	if *c.req.Logprobs == 0 {
		return out
	}
	for _, list := range top {
		var m map[string]float64
		for _, t := range list {
			if m == nil {
				m = map[string]float64{}
			}
			// Two tokens may have the same text. The more probable token comes first and is kept.
			if _, had := m[*t.Text]; !had && finite(t.Logprob) != nil {
				m[*t.Text] = t.Logprob
			}
		}
		out.TopLogprobs = append(out.TopLogprobs, m)
	}
	return out
}
