package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// maxTexts is the maximum size of a body of /tokenize and /detokenize, in bytes. The limit is needed because the
// context length does not limit these texts.
const maxTexts = 4 << 20

// textRequest waits until it is the request's turn and decodes a request of /tokenize or /detokenize. The caller must
// call done to end the turn. If done is nil, the request has been refused.
func (s *Server) textRequest(w http.ResponseWriter, r *http.Request, dst json.Unmarshaler) (done func()) {
	body, err := s.front.BodyUpTo(w, r, maxTexts)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = &apiError{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the body is larger than %d bytes, the limit of this route: send the texts one at a time", big.Limit)}
	}
	if err == nil {
		done, err = s.front.Turn(r, len(body))
	}
	if err == nil {
		if err = wire.Decode(body, dst); err == nil {
			return done
		}
		done()
	}
	s.refuse(w, dialectOpenAI, err)
	return nil
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var req wire.TokenizeRequest
	done := s.textRequest(w, r, &req)
	if done == nil {
		return
	}
	defer done()
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
	done := s.textRequest(w, r, &req)
	if done == nil {
		return
	}
	defer done()
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
