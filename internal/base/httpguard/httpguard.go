// Package httpguard is what stands before the routes of a server and of a router
// alike: who may ask, in how much time, and how a listener is opened and closed.
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

// Auth is how a route is protected.
type Auth int

const (
	Open  Auth = iota // probes and scrapes need no secret
	Key               // the API key, when there is one
	Admin             // the admin key when there is one, else the API key
)

// Route is one, under all of its names.
type Route struct {
	Methods string // space-separated
	Paths   string // space-separated: the present name first, then older ones
	Auth    Auth
	Handler http.HandlerFunc
}

// At is a row of a table of routes.
func At(methods, paths string, auth Auth, handler http.HandlerFunc) Route {
	return Route{methods, paths, auth, handler}
}

// Acts tells whether the route does something, by whichever of its methods: SGLang starts and stops profiles by GET too.
func (e *Route) Acts() bool { return e.Methods != http.MethodGet }

// Front is what a server asks of requests before it looks at what they want.
type Front struct {
	APIKey, AdminAPIKey string
	AllowedHosts        []string // names, besides those of loopback, for one without a key
	BodyTimeout         time.Duration
	MaxBodyBytes        int64
	Log                 *slog.Logger
	// Refuse replies with an error in the form of the route's API.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, message string)

	// Around, if there is one, calls next for a request of a path, which is empty where
	// there is no such route.
	Around func(path string, w http.ResponseWriter, r *http.Request, next http.HandlerFunc)

	Insecure bool        // beyond loopback it needs no key
	Public   atomic.Bool // listening beyond loopback

	bodies bodies // of all clients
}

// Mux has the routes, and for all other paths the reply that there is none.
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

// Protect lets those through who bring the key of a level.
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

// httpLog passes on what net/http says, which is of its peers and never twice the same.
type httpLog struct{ log *slog.Logger }

func (h httpLog) Write(p []byte) (int, error) {
	h.log.Warn("HTTP", "problem", string(p[:max(0, len(p)-1)]))
	return len(p), nil
}

// Serve answers on ln until ctx ends. Then drain lets running requests come to
// their end, for which it may shut the server down, and replies that are on their
// way out have some seconds more. Beyond loopback it wants an API key.
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

// replyTimeout bounds the sending of a whole reply; streams have a bound for each
// write.
const replyTimeout = 2 * time.Minute

// WriteWhole sends a whole reply, whose header is set.
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

// EnvBool reads a boolean of the environment as SGLang does: true and 1, in any case.
func EnvBool(v string, absent bool) bool {
	if v == "" {
		return absent
	}
	return strings.EqualFold(v, "true") || v == "1"
}
