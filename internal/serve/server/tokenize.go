package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// What /tokenize and /detokenize take: they need no place among the engine's requests, and tokens of a text take thirty
// times its memory.
const (
	maxTexts    = 4 << 20   // bytes of a request's body
	largeText   = 256 << 10 // bytes of a body from which a request waits for its turn
	textsAtOnce = 2
)

// textRequest decodes a request of /tokenize or /detokenize when it is its turn; nil: it was refused. The function ends the
// turn.
func (s *Server) textRequest(w http.ResponseWriter, r *http.Request, dst json.Unmarshaler) (done func()) {
	body, err := s.front.Body(w, r)
	if err == nil && len(body) > maxTexts {
		err = &apiError{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the body has %d bytes: this route takes %d, send the texts one by one", len(body), maxTexts)}
	}
	if err != nil {
		s.refuse(w, dialectOpenAI, err)
		return nil
	}
	done = func() {}
	if len(body) >= largeText {
		select {
		case s.texts <- struct{}{}:
		case <-r.Context().Done():
			return nil
		}
		done = func() {
			debug.FreeOSMemory() // at once, not when the next steps have made garbage
			<-s.texts
		}
	}
	if err := wire.Decode(body, dst); err != nil {
		done()
		s.refuse(w, dialectOpenAI, err)
		return nil
	}
	return done
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
