package server

import (
	"encoding/json"
	"net/http"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// chat is POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req wire.ChatRequest
	b := s.begin(w, r, dialectOpenAI, &req, func() ([]*spec, error) { return s.chatSpecs(&req) }, &req.Stream)
	if b == nil {
		return
	}
	c := &chatReply{openAIReply: s.openAIReply(&req.Common, b), req: &req, opened: make([]bool, len(b.seqs))}
	if req.Stream {
		s.stream(w, r, b, dialectOpenAI, c)
		return
	}
	done := s.whole(w, r, b, dialectOpenAI)
	if done == nil {
		return
	}
	out := wire.Chat{ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model}
	for i := range done {
		u := &done[i]
		c.see(u)
		choice := wire.ChatChoice{Index: i, Message: wire.ChatMessage{Role: "assistant", Content: unescape(u.text)}, Logprobs: c.logprobs(u)}
		choice.FinishReason, choice.MatchedStop = finishOf(u)
		out.Choices = append(out.Choices, choice)
	}
	out.Usage, out.Ext = c.usage(), c.ext()
	text, _ := json.Marshal(out)
	httpguard.WriteJSON(w, http.StatusOK, text)
}

func (s *Server) chatSpecs(req *wire.ChatRequest) ([]*spec, error) {
	if err := checkExtra(req.Extra); err != nil {
		return nil, err
	}
	n := pick(req.Sampling.N, 1)
	if err := s.checkTotal(1, n); err != nil {
		return nil, err
	}
	if err := s.checkTop("top_logprobs", req.TopLogprobs); err != nil {
		return nil, err
	}
	if _, ok := req.TemplateKwargs["chat_template"]; ok {
		return nil, wire.Refuse("chat_template_kwargs", "a chat_template in the request is not allowed")
	}
	dp, err := s.dpRank(req.DPRank)
	if err != nil {
		return nil, err
	}
	meetings, err := s.meetings(req.Extra, 1)
	if err != nil {
		return nil, err
	}
	meet, err := meetings.at(0)
	if err != nil {
		return nil, err
	}
	ids, err := s.chatInput(req.Messages, ChatOptions{
		Generate: !req.ContinueFinal, Continue: req.ContinueFinal, Kwargs: req.TemplateKwargs,
	})
	if err != nil {
		return nil, err
	}
	id := req.RID
	if id == "" {
		id = s.o.NewID()
	}
	p := req.Sampling
	// The model's defaults apply to parameters that the request omits.
	if p.Temperature == nil {
		p.Temperature = s.info.Temperature
	}
	if p.TopP == nil {
		p.TopP = s.info.TopP
	}
	if p.TopK == nil {
		p.TopK = s.info.TopK
	}
	return s.samples(spec{
		textLogprob: true,
		req: &api.Request{
			Input: ids, ReturnLogprob: req.Logprobs, TopLogprobs: req.TopLogprobs, LogprobStart: -1, DPRank: dp, Bootstrap: meet, Priority: req.Priority,
		},
	}, &p, id, n)
}

// chatInput renders and encodes a chat. The template contains the special tokens, so the tokenizer must not add special
// tokens.
func (s *Server) chatInput(messages []wire.Message, o ChatOptions) ([]int32, error) {
	text, err := s.tok.ChatPrompt(messages, o)
	if err != nil {
		return nil, wire.Refuse("messages", "%v", err)
	}
	return s.encode("messages", text, false)
}

// chatReply writes the events of a chat stream.
type chatReply struct {
	openAIReply
	req    *wire.ChatRequest
	opened []bool
}

func (c *chatReply) events(dst []byte, u *update) []byte {
	c.see(u)
	if !c.opened[u.q.index] {
		c.opened[u.q.index] = true
		p := c.piece(u)
		p.Role = true
		dst = append(p.AppendChat(append(dst, "data: "...)), "\n\n"...)
	}
	p := c.piece(u)
	p.Text = u.text[u.prev.text:]
	if lp := c.logprobs(u); lp != nil && len(lp.Content) > 0 {
		p.Logprobs = lp
	}
	if len(p.Text) > 0 || p.Logprobs != nil {
		if c.common.StreamOptions.ContinuousUsage {
			p.Usage = c.usageOf(u)
		}
		dst = append(p.AppendChat(append(dst, "data: "...)), "\n\n"...)
	}
	if u.mark.final {
		p = c.piece(u)
		p.Finish, p.Matched = u.reason().Type, u.reason().Matched
		dst = append(p.AppendChat(append(dst, "data: "...)), "\n\n"...)
	}
	return dst
}

func (c *chatReply) end(dst []byte) []byte {
	return c.tail(dst, func(ext *wire.SGLExt, usage *wire.Usage) any {
		return wire.ChatChunk{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model, Choices: []wire.ChatChunkChoice{}, Ext: ext, Usage: usage}
	})
}

// logprobs returns the logprobs of the tokens since the previous state.
func (c *chatReply) logprobs(u *update) *wire.ChatLogprobs {
	if !c.req.Logprobs {
		return nil
	}
	out := &wire.ChatLogprobs{Content: []wire.ChatLogprob{}}
	for i := u.prev.n; i < u.mark.n; i++ {
		t := c.chatLogprob(u.logprobs[i])
		t.TopLogprobs = []wire.ChatLogprob{}
		for _, alt := range u.top[i] {
			t.TopLogprobs = append(t.TopLogprobs, c.chatLogprob(alt))
		}
		out.Content = append(out.Content, t)
	}
	return out
}

func (c *chatReply) chatLogprob(t wire.TokenLogprob) wire.ChatLogprob {
	out := wire.ChatLogprob{Token: *t.Text, Bytes: []int{}, Logprob: t.Logprob}
	if finite(t.Logprob) == nil {
		out.Logprob = -9999 // OpenAI's value for a practically impossible token
	}
	for _, b := range c.s.tok.Bytes(t.ID) {
		out.Bytes = append(out.Bytes, int(b))
	}
	return out
}
