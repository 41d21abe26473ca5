package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
)

const (
	idle  = 15 * time.Second // time without an event before a keep-alive comment is sent
	write = 20 * time.Second // time limit for a page to accept an event
)

// stream sends server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func (l *Live) stream(w http.ResponseWriter, r *http.Request) {
	page, first := l.enter()
	if page == nil {
		refuse(w, http.StatusServiceUnavailable, "too many pages are connected already")
		return
	}
	defer l.leave(page)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(text string) bool {
		out.SetWriteDeadline(time.Now().Add(write))
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	say := func(e event) bool {
		text, err := json.Marshal(e.data)
		return err == nil && send("event: "+e.name+"\ndata: "+string(text)+"\n\n")
	}
	alive := time.NewTicker(idle)
	defer alive.Stop()
	for ok := say(event{"hello", first}); ok; {
		select {
		case e, more := <-page:
			ok = more && say(e)
		case <-alive.C:
			ok = send(": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// reply sends v as JSON.
func reply(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: all values have types of this package
	}
	httpguard.WriteJSON(w, status, text)
}
