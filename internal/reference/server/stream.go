package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// eventWriter formats the states of sequences as the events of one API.
type eventWriter interface {
	events(dst []byte, u *update) []byte
	end(dst []byte) []byte // appends the events before [DONE] of a stream without errors
}

// stream sends the events of b. The HTTP status is sent with the first event, so a request that the engine refuses
// immediately still gets an error status.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, b *batch, d dialect, ew eventWriter) {
	defer b.cancel(errClientGone)
	rc := http.NewResponseController(w)
	sent := make([]mark, len(b.seqs))
	var news []update
	var out []byte
	started := false
	for more := true; more; {
		var err error
		news, more, err = b.next(r.Context(), sent, news[:0])
		if err != nil {
			return
		}
		out = out[:0]
		for i := range news {
			u := &news[i]
			if e := u.failure(); e != nil {
				if !started && len(out) == 0 {
					s.refuse(w, d, e)
					return
				}
				out = wire.AppendEvent(out, e.event(d))
				more = false
				break
			}
			out = ew.events(out, u)
			if i == len(news)-1 && !more {
				out = ew.end(out)
			}
		}
		if !more {
			out = append(out, wire.Done...)
		}
		if !started {
			started = true
			w.Header().Set("Content-Type", wire.ContentTypeSSE)
			w.Header().Set("Cache-Control", "no-cache")
			w.WriteHeader(http.StatusOK)
		}
		rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout))
		if _, err := w.Write(out); err != nil {
			return
		}
		if err := rc.Flush(); err != nil {
			return
		}
	}
	rc.SetWriteDeadline(time.Time{})
}

// begin reads a request to a generation route and launches its sequences. It returns nil if the request was refused.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, d dialect, req json.Unmarshaler, specs func() ([]*spec, error), stream *bool) *batch {
	var list []*spec
	var b *batch
	body, err := s.front.Body(w, r)
	received := s.o.Now() // start of latencies
	if err == nil {
		var done func()
		if done, err = s.front.Turn(r, len(body)); err == nil {
			if err = wire.Decode(body, req); err == nil {
				list, err = specs()
			}
			done()
		}
	}
	if err == nil {
		b, err = s.launch(r.Context(), received, list, *stream)
	}
	if err != nil {
		s.refuse(w, d, err)
		return nil
	}
	return b
}

// whole waits for the end of all sequences of b. If one of them failed, it sends the error as the reply and returns
// nil. If the client has disconnected, whole also returns nil.
func (s *Server) whole(w http.ResponseWriter, r *http.Request, b *batch, d dialect) []update {
	done, err := b.wait(r.Context())
	if err != nil {
		return nil
	}
	for i := range done {
		if e := done[i].failure(); e != nil {
			s.refuse(w, d, e)
			return nil
		}
	}
	return done
}
