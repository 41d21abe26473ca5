package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// eventWriter turns the states of sequences into the events of one API.
type eventWriter interface {
	events(dst []byte, u *update) []byte
	end(dst []byte) []byte // before [DONE], when nothing failed
}

// stream sends the events of b. The status is sent with the first event: what the
// engine refuses at once still gets a real status.
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

// decode reads and decodes the body, within the limits of size and time. It
// returns when the request was there, from which its latencies count.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, dst json.Unmarshaler) (time.Time, error) {
	body, err := s.body(w, r)
	if err != nil {
		return time.Time{}, err
	}
	return s.o.Now(), wire.Decode(body, dst)
}

// body reads the whole body; guard has set the time for it.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBodyBytes))
	if err == nil {
		// Without a deadline again: net/http goes on reading to see the client leave.
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, nil
	}
	// The deadline stays, else net/http would wait for the rest of the body.
	w.Header().Set("Connection", "close")
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return nil, err
	}
	return nil, badRequest("the body could not be read: " + err.Error())
}
