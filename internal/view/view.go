// Package view shows captures and runs in a browser. It serves one page, on loopback, and the data that the page shows.
//
// Handlers in Go prepare the data, so that it only needs to be drawn. Times are in nanoseconds, sizes in bytes, and
// arrays are never null. The page (ui/, in TypeScript) draws the data, and keeps its whole state in its address. The
// server provides only the captures given on the command line and the runs of one directory.
package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/view/live"
	"github.com/stepscope/stepscope/internal/view/load"
)

// Options configures a Server.
type Options struct {
	Given []*Capture        // captures, of which the first is shown initially; empty: the list of runs is shown
	Root  string            // directory of the runs; "": none
	Run   *runs.Run         // benchmark run that is shown initially, from any directory; nil: none
	Say   *progress.Console // receives warnings about incomplete runs
	Live  *live.Live        // running servers to show; nil: none
	// Open opens another capture. id is the id of a run or, for one of several servers of a run, the id in
	// Capture.Servers. If id names a run with several servers, Open opens the capture of the first server that can be
	// shown.
	Open func(ctx context.Context, id string) (*Capture, error)
	// Perfetto adds a button that opens a capture in Perfetto; see Capture.Perfetto.
	Perfetto bool
	Version  string
	APIKey   string // required if the server listens beyond loopback; see httpguard.Front
	Log      *slog.Logger
}

// Server serves the page and its data.
type Server struct {
	Options
	front    *httpguard.Front
	captures *captures
	loads    *load.Views
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{Options: o, captures: newCaptures(o.Given, o.Open)}
	s.loads = &load.Views{Root: o.Root, Given: o.Run, Say: o.Say, Recorded: s.recorded}
	s.front = &httpguard.Front{
		APIKey: o.APIKey, Log: o.Log, BodyTimeout: 20 * time.Second, MaxBodyBytes: httpguard.MostControl,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			text, _ := json.Marshal(map[string]string{"error": message}) // cannot fail for a map of strings
			httpguard.WriteJSON(w, status, text)
		},
	}
	return s
}

// recorded yields the recording of each server of a run.
func (s *Server) recorded(ctx context.Context, run *runs.Run) iter.Seq2[load.Recorded, error] {
	return func(yield func(load.Recorded, error) bool) {
		c, err := s.captures.get(ctx, run.ID())
		if err != nil || len(c.Servers) == 0 {
			of := load.Recorded{}
			if err == nil {
				of = load.Recorded{Role: c.Role, Capture: c.ID, Traces: c.Traces, Report: c.Report}
			}
			yield(of, err)
			return
		}
		for _, server := range c.Servers {
			of := load.Recorded{Name: server.Name, Role: server.Role, Capture: server.ID}
			if c, err = s.captures.get(ctx, server.ID); err == nil {
				of.Traces, of.Report = c.Traces, c.Report
			}
			if !yield(of, err) {
				return
			}
		}
	}
}

// answers returns the handlers of requests below /api/, by path.
func (s *Server) answers() map[string]func(*http.Request) (any, error) {
	all := map[string]func(*http.Request) (any, error){
		"session":         s.session,
		"runs":            s.list,
		"timeline/{what}": s.of(timelines),
		"summary":         s.of(summaryOf),
		"kernels":         s.of(s.table),
		"flame":           s.of(s.flame),
		"light":           s.of(lightOf),
		"whatif":          s.of(s.whatIf),
		"report":          s.of(func(c *Capture, _ *http.Request) (any, error) { return c.Report, nil }),
	}
	maps.Copy(all, s.loads.Answers())
	return all
}

// routes returns the routes of the page and of its data.
func (s *Server) routes() []httpguard.Route {
	routes := pages()
	for path, answer := range s.answers() {
		routes = append(routes, httpguard.At("GET", "/api/"+path, httpguard.Key, s.json(answer)))
	}
	if s.Live != nil {
		routes = append(routes, s.Live.Routes()...)
	}
	if s.Perfetto {
		routes = append(routes, httpguard.At("GET", "/perfetto/{c}/{$} /perfetto/{c}/trace", httpguard.Key, s.handOver), httpguard.At("POST", "/perfetto/{c}/report", httpguard.Key, s.handOver))
	}
	return routes
}

// handOver answers requests of Perfetto for a capture.
func (s *Server) handOver(w http.ResponseWriter, r *http.Request) {
	c, err := s.captures.get(r.Context(), r.PathValue("c"))
	var handler http.Handler
	if err == nil && c.Perfetto == nil {
		err = errStatus{http.StatusNotFound, fmt.Errorf("%s cannot be opened in Perfetto", c.Title())}
	}
	if err == nil {
		handler, err = c.Perfetto.Handler(r.Context())
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	handler.ServeHTTP(w, r)
}

// Handler returns a handler for all routes.
func (s *Server) Handler() http.Handler {
	mux := s.front.Mux(s.routes(), func(r *http.Request) string { return "there is no " + r.URL.Path })
	return headers(s.front.Guard(keyed(mux)))
}

// Serve serves on ln until ctx has ended and any capture in progress has been stopped. It then releases all captures.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	defer s.captures.close()
	if s.Live != nil {
		ctx, cancel := context.WithCancel(ctx) // ends Live, too, if the listener fails
		var live sync.WaitGroup
		live.Go(func() { s.Live.Run(ctx) })
		defer live.Wait()
		defer cancel()
	}
	return s.front.Serve(ctx, ln, s.Handler(), func(hs *http.Server) { hs.Close() })
}

// Session is the initial state of the page.
type Session struct {
	Version  string `json:"version"`
	Captures []Head `json:"captures"`
	Opened   string `json:"opened"`   // id of the requested capture; "": none
	Runs     bool   `json:"runs"`     // there is a directory of runs
	Run      string `json:"run"`      // the initial benchmark run; "": none
	Live     bool   `json:"live"`     // there are running servers to show
	Perfetto bool   `json:"perfetto"` // captures can be opened in Perfetto
	// Exported describes the content of an exported page. It is nil if a server provides the data.
	Exported *Exported `json:"exported"`
}

// session returns the given captures, and the run named by the parameter "open". It leaves out captures that other
// requests opened, so that an address always shows the same content.
func (s *Server) session(r *http.Request) (any, error) {
	heads, opened := []Head{}, ""
	for _, c := range s.Given {
		heads = append(heads, c.head())
	}
	if id := r.FormValue("open"); id != "" {
		c, err := s.captures.get(r.Context(), id)
		if err != nil {
			return nil, err
		}
		if opened = c.ID; !slices.Contains(s.Given, c) {
			heads = append(heads, c.head())
		}
	}
	out := &Session{Version: s.Version, Captures: heads, Opened: opened, Runs: s.Root != "", Live: s.Live != nil, Perfetto: s.Perfetto}
	if s.Options.Run != nil {
		out.Run = s.Options.Run.ID()
	}
	return out, nil
}

// errStatus is an error with an HTTP status.
type errStatus struct {
	status int
	error
}

// bad returns an error with the status of an invalid request.
func bad(format string, args ...any) error {
	return errStatus{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// json returns a handler that sends the result of answer as JSON. Raw bytes are sent unchanged.
func (s *Server) json(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(r)
		if whole, ok := v.([]byte); ok && err == nil {
			w.Header().Set("Content-Type", "application/octet-stream")
			httpguard.WriteWhole(w, http.StatusOK, whole)
			return
		}
		var text []byte
		if err == nil {
			text, err = json.Marshal(v)
		}
		if err == nil {
			httpguard.WriteJSON(w, http.StatusOK, text)
			return
		}
		s.refuse(w, r, err)
	}
}

// refuse replies with an error, using the HTTP status of the error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	if own, ok := errors.AsType[errStatus](err); ok {
		status = own.status
	} else if refused, ok := errors.AsType[*httpguard.Error](err); ok {
		status = refused.Status
	} else if errors.Is(err, runs.ErrNotFound) {
		status = http.StatusNotFound
	}
	s.front.Refuse(w, r, status, err.Error())
}
