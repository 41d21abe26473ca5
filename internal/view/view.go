// Package view shows captures and runs in a browser: it serves one page on loopback, and what the page draws.
//
// Go decides, TypeScript draws: handlers send what is to be shown in ready shapes, numbers in nanoseconds and bytes,
// arrays never null; the page (ui/) turns them into pictures and holds all that it shows in its address. Nothing else
// is served than what was given on the command line and the runs of one directory.
package view

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/serve/front"
)

// Options say what is shown, and to whom.
type Options struct {
	Given   []*Capture // the first is shown at first; none: the list of runs is
	Root    string     // where runs are; "": nowhere
	Open    func(ctx context.Context, id string) (*Capture, error)
	Version string
	APIKey  string // beyond loopback; see front
	Log     *slog.Logger
}

// Server answers the page.
type Server struct {
	Options
	front    *front.Front
	captures *captures
}

// New makes a server of what there is to show.
func New(o Options) *Server {
	s := &Server{Options: o, captures: newCaptures(o.Given, o.Open)}
	s.front = &front.Front{
		APIKey: o.APIKey, Log: o.Log, BodyTimeout: 20 * time.Second, MaxBodyBytes: front.MostControl,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			text, _ := json.Marshal(map[string]string{"error": message}) // a string always can
			front.WriteJSON(w, status, text)
		},
	}
	return s
}

// routes are those of the page, and below /api/ what it asks for.
func (s *Server) routes() []front.Route {
	get := func(path string, answer func(*http.Request) (any, error)) front.Route {
		return front.At("GET", path, front.Key, s.json(answer))
	}
	return append([]front.Route{
		get("/api/session", s.session),
		get("/api/report", s.of(func(c *Capture, _ *http.Request) (any, error) { return c.Report, nil })),
	}, pages()...)
}

// Handler is all of it.
func (s *Server) Handler() http.Handler {
	mux := s.front.Mux(s.routes(), func(r *http.Request) string { return "there is no " + r.URL.Path })
	return headers(s.front.Guard(keyed(mux)))
}

// Serve answers on ln until ctx ends.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.front.Serve(ctx, ln, s.Handler(), func(hs *http.Server) { hs.Close() })
}

// Session is what the page begins with.
type Session struct {
	Version  string `json:"version"`
	Captures []Head `json:"captures"`
	Runs     bool   `json:"runs"`     // there may be some to open
	Exported bool   `json:"exported"` // a page by itself: nothing is behind it
}

func (s *Server) session(*http.Request) (any, error) {
	return &Session{Version: s.Version, Captures: s.captures.heads(), Runs: s.Root != ""}, nil
}

// errStatus is an error with the status that it is sent with.
type errStatus struct {
	status int
	error
}

// json sends what answer gives.
func (s *Server) json(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(r)
		var text []byte
		if err == nil {
			text, err = json.Marshal(v)
		}
		if err == nil {
			front.WriteJSON(w, http.StatusOK, text)
			return
		}
		status := http.StatusInternalServerError
		if own, ok := errors.AsType[errStatus](err); ok {
			status = own.status
		} else if errors.Is(err, runs.ErrNotFound) {
			status = http.StatusNotFound
		}
		s.front.Refuse(w, r, status, err.Error())
	}
}
