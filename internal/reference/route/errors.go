package route

import (
	"encoding/json"
	"net/http"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// failure is one of the router's own errors, with its HTTP status.
type failure struct {
	status  int
	message string
}

func (e *failure) Error() string { return e.message }

// value returns the error object in the format of native or OpenAI routes.
func (e *failure) value(native bool) any {
	typ := http.StatusText(e.status)
	if native {
		return wire.NativeError{Error: wire.NativeErrorBody{Message: e.message, Type: typ, Code: e.status}}
	}
	return wire.Error{Object: "error", Message: e.message, Type: typ, Code: e.status}
}

// event returns the error as the events that end a stream.
func (e *failure) event(native bool) []byte {
	v := e.value(native)
	if !native {
		v = map[string]any{"error": v}
	}
	text, _ := json.Marshal(v) // cannot fail: only strings and numbers
	return append(wire.AppendEvent(nil, text), wire.Done...)
}

// native reports whether a path belongs to SGLang's own API. Errors of that API have a different format.
func native(path string) bool { return path == "/generate" }

// refuse writes the error as the reply.
func (rt *Router) refuse(rw http.ResponseWriter, path string, e *failure) {
	if e.status == http.StatusServiceUnavailable {
		rw.Header().Set("Retry-After", "1")
	}
	rt.metrics.refused.Add(1)
	writeJSON(rw, e.status, e.value(native(path)))
}

func writeJSON(rw http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a worker sent an unexpected value
		status, text = http.StatusBadGateway, []byte(`{"object":"error","message":"a worker's reply cannot be forwarded"}`)
	}
	httpguard.WriteJSON(rw, status, text)
}

// passWhole sends the complete reply of a worker to the client.
func passWhole(rw http.ResponseWriter, status int, header http.Header, body []byte) {
	copyHeader(rw.Header(), header)
	httpguard.WriteWhole(rw, status, body)
}
