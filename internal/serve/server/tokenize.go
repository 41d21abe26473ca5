package server

import (
	"net/http"

	"github.com/stepscope/stepscope/internal/api/wire"
)

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var req wire.TokenizeRequest
	if _, err := s.decode(w, r, &req); err != nil {
		s.refuse(w, dialectOpenAI, err)
		return
	}
	out := wire.Tokenized{MaxModelLen: s.info.ContextLen}
	if req.Messages != nil {
		ids, err := s.chatInput(req.Messages, ChatOptions{Generate: pick(req.AddGenerationPrompt, true), Kwargs: req.TemplateKwargs})
		if err != nil {
			s.refuse(w, dialectOpenAI, err)
			return
		}
		out.Tokens, out.Count = ids, len(ids)
		s.reply(w, out)
		return
	}
	lists, counts := [][]int32{}, []int{}
	for _, text := range req.Prompt.Values {
		ids, err := s.tok.Encode(text, pick(req.AddSpecialTokens, true))
		if err != nil {
			s.refuse(w, dialectOpenAI, wire.Refuse("prompt", "%v", err))
			return
		}
		if ids == nil {
			ids = []int32{}
		}
		lists, counts = append(lists, ids), append(counts, len(ids))
	}
	out.Tokens, out.Count = lists, counts
	if !req.Prompt.Many {
		out.Tokens, out.Count = lists[0], counts[0]
	}
	s.reply(w, out)
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var req wire.DetokenizeRequest
	if _, err := s.decode(w, r, &req); err != nil {
		s.refuse(w, dialectOpenAI, err)
		return
	}
	texts := []string{}
	for _, ids := range req.Tokens.Values {
		if err := s.checkIDs("tokens", ids); err != nil {
			s.refuse(w, dialectOpenAI, err)
			return
		}
		texts = append(texts, s.tok.Decode(ids, pick(req.SkipSpecialTokens, true)))
	}
	if req.Tokens.Many {
		s.reply(w, wire.Detokenized{Text: texts})
		return
	}
	s.reply(w, wire.Detokenized{Text: texts[0]})
}
