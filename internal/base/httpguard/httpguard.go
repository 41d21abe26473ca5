// Package httpguard is the HTTP front end that the server and the router share: access control, timeouts, and opening
// and closing the listener.
package httpguard

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Auth is the protection level of a route.
type Auth int

const (
	Open  Auth = iota // no key: probes and scrapes
	Key               // the API key, if set
	Admin             // the admin key if set, else the API key
)

// Route is one route with all paths under which it is served.
type Route struct {
	Methods string // space-separated
	Paths   string // space-separated: current name first, then older ones
	Auth    Auth
	Handler http.HandlerFunc
}

// At returns a row of a route table.
func At(methods, paths string, auth Auth, handler http.HandlerFunc) Route {
	return Route{methods, paths, auth, handler}
}

// Acts reports whether the route has side effects with any of its methods. GET does not exclude side effects: SGLang
// starts and stops profiles by GET too.
func (e *Route) Acts() bool { return e.Methods != http.MethodGet }

// Front checks requests before they reach their handlers.
type Front struct {
	APIKey, AdminAPIKey string
	AllowedHosts        []string // host names allowed without a key, in addition to loopback names
	BodyTimeout         time.Duration
	MaxBodyBytes        int64
	Log                 *slog.Logger
	// Refuse replies with an error in the format of the route's API.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, message string)

	// Around, if set, is called in place of next, the handler of a request, and must call next. path is empty for an
	// unknown route.
	Around func(path string, w http.ResponseWriter, r *http.Request, next http.HandlerFunc)

	Insecure bool        // whether to serve beyond loopback without a key
	Public   atomic.Bool // whether the server listens beyond loopback

	bodies bodies // memory limits for the bodies of all clients
}

// Mux returns a multiplexer with the routes. Requests for other paths get status 404 with the text that missing
// returns.
func (f *Front) Mux(routes []Route, missing func(r *http.Request) string) *http.ServeMux {
	mux := http.NewServeMux()
	for _, e := range routes {
		methods := strings.Fields(e.Methods)
		for path := range strings.FieldsSeq(e.Paths) {
			mux.HandleFunc(path, f.around(path, f.Protect(e.Auth, func(w http.ResponseWriter, r *http.Request) {
				get := r.Method == http.MethodHead && !e.Acts() && slices.Contains(methods, http.MethodGet)
				if !get && !slices.Contains(methods, r.Method) {
					w.Header().Set("Allow", strings.Join(methods, ", "))
					f.Refuse(w, r, http.StatusMethodNotAllowed, "Method Not Allowed")
					return
				}
				if !e.Acts() || f.MayAct(w, r) {
					e.Handler(w, r)
				}
			})))
		}
	}
	mux.HandleFunc("/", f.around("", f.Protect(Key, func(w http.ResponseWriter, r *http.Request) {
		f.Refuse(w, r, http.StatusNotFound, missing(r))
	})))
	return mux
}

func (f *Front) around(path string, next http.HandlerFunc) http.HandlerFunc {
	if f.Around == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) { f.Around(path, w, r, next) }
}

// Protect returns a handler that passes a request to next only if the request carries the key of the level.
func (f *Front) Protect(level Auth, next http.HandlerFunc) http.HandlerFunc {
	want := f.APIKey
	if level == Admin && f.AdminAPIKey != "" {
		want = f.AdminAPIKey
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if level != Open && !bears(r, want) {
			WriteJSON(w, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
			return
		}
		next(w, r)
	}
}

// httpLog forwards net/http's messages. Each message becomes an attribute of a constant message, because net/http's
// messages mention peers and so never repeat exactly.
type httpLog struct{ log *slog.Logger }

func (h httpLog) Write(p []byte) (int, error) {
	h.log.Warn("HTTP", "problem", string(p[:max(0, len(p)-1)]))
	return len(p), nil
}

// Serve serves ln until ctx ends. Then it calls drain, which lets running requests finish and may shut the server down.
// After drain, replies in progress get up to 5 more seconds. Beyond loopback an API key is required unless Insecure is
// set.
func (f *Front) Serve(ctx context.Context, ln net.Listener, h http.Handler, drain func(*http.Server)) error {
	if !loopback(ln.Addr()) {
		if f.APIKey == "" && !f.Insecure {
			return fmt.Errorf("%s: %w", ln.Addr(), ErrNeedKey)
		}
		f.Public.Store(true)
	}
	hs := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 20 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       withConn,
		ConnState:         answered,
		ErrorLog:          log.New(httpLog{f.Log}, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(halfway{ln}) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain(hs)
	last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := hs.Shutdown(last); err != nil {
		hs.Close()
	}
	<-failed
	return nil
}

// replyTimeout limits the time to send a whole reply. Streams instead have a limit for each write.
const replyTimeout = 2 * time.Minute

// WriteWhole sends a whole reply. The headers must already be set.
func WriteWhole(w http.ResponseWriter, status int, body []byte) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTimeout))
	w.WriteHeader(status)
	w.Write(body)
}

// WriteJSON sends JSON as the whole reply.
func WriteJSON(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	WriteWhole(w, status, text)
}

// WriteText sends text as the whole reply.
func WriteText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	WriteWhole(w, status, []byte(text))
}

// EnvBool parses a boolean environment variable as SGLang does: true and 1, in any case. If v is empty, it returns
// absent.
func EnvBool(v string, absent bool) bool {
	if v == "" {
		return absent
	}
	return strings.EqualFold(v, "true") || v == "1"
}
