package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/loglimit"
	"github.com/stepscope/stepscope/internal/base/prom"
	"github.com/stepscope/stepscope/internal/reference/windows"
)

// Server serves one engine over HTTP.
type Server struct {
	o       Options
	engine  Engine
	tok     Tokenizer
	info    Info
	name    string // served model name
	created time.Time
	metrics *metrics
	windows *windows.Windows
	front   httpguard.Front
	mux     http.Handler

	draining atomic.Bool
	abortAll context.CancelCauseFunc // ends the requests that are still running after the drain
	base     context.Context

	mu     sync.Mutex
	active map[string]*sequence // sequences in flight, by request id
	idle   chan struct{}        // closed and replaced when active becomes empty
	work   sync.WaitGroup       // collectors
}

// New returns a server for e.
func New(e Engine, o Options) *Server {
	s := &Server{
		o:      o.withDefaults(),
		engine: e,
		tok:    e.Tokenizer(),
		info:   e.Info(),
		active: map[string]*sequence{},
	}
	s.o.Log = loglimit.Log(s.o.Log)
	s.name = s.o.ServedModelName
	if s.name == "" {
		s.name = s.info.ModelPath
	}
	s.created = s.o.Now()
	s.metrics = newMetrics(fmt.Sprintf(`model_name="%s",engine_type="%s"`, prom.Escape(s.name), cmp.Or(s.info.Role, "unified")), max(1, s.info.DP))
	s.base, s.abortAll = context.WithCancelCause(context.Background())
	s.front = httpguard.Front{
		APIKey: s.o.APIKey, AdminAPIKey: s.o.AdminAPIKey, Insecure: s.o.Insecure, AllowedHosts: s.o.AllowedHosts,
		BodyTimeout: s.o.BodyTimeout, MaxBodyBytes: s.o.MaxBodyBytes, Log: s.o.Log,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			s.refuse(w, dialectGeneral, &apiError{status: status, message: message})
		},
	}
	if s.o.EnableMetrics {
		s.front.Around = s.metrics.calls.around
	}
	s.windows = windows.New(e, &s.front, windows.Options{
		Root: s.o.ProfileRoot, WriteTimeout: s.o.WriteTimeout, Log: s.o.Log, Getenv: s.o.Getenv, Now: s.o.Now,
		Refuse: func(w http.ResponseWriter, err error) { s.refuse(w, dialectGeneral, err) },
		Status: func(err error) (int, string, int) {
			e := asAPI(err)
			return e.status, e.message, e.retry
		},
		Idle: func() bool {
			return !slices.ContainsFunc(s.engine.Stats(), func(st api.Stats) bool { return st.Running+st.Waiting > 0 })
		},
	})
	s.mux = s.front.Guard(s.front.Mux(s.table(), func(*http.Request) string { return "Not Found" }))
	return s
}

// Handler returns the HTTP handler, for a server on loopback.
func (s *Server) Handler() http.Handler { return s.mux }

// Serve answers requests on ln until ctx ends. It then rejects new requests and waits at most Options.DrainTimeout for
// running requests to finish. Serve aborts the remaining requests with an error event and returns. If ln is not on
// loopback, an API key is required.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	err := s.front.Serve(ctx, ln, s.mux, func(*http.Server) { s.Drain() })
	s.abortAll(errShutdown)
	s.work.Wait()
	return err
}

// Drain rejects new requests and waits for running requests. It aborts the requests that are still running after
// Options.DrainTimeout or when Options.Hurry is closed.
func (s *Server) Drain() {
	s.draining.Store(true)
	n := s.running()
	s.o.Log.Info("shutting down", "running", n, "limit", s.o.DrainTimeout)
	t := time.NewTimer(s.o.DrainTimeout)
	defer t.Stop()
	select {
	case <-s.whenIdle():
	case <-s.o.Hurry:
		s.o.Log.Warn("aborting requests at the second signal", "n", s.running())
	case <-t.C:
		s.o.Log.Warn("aborting requests at shutdown", "n", s.running())
	}
	s.abortAll(errShutdown)
}

// whenIdle returns a channel that is closed once no sequence is running.
func (s *Server) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.active) == 0 {
		c := make(chan struct{})
		close(c)
		return c
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	return s.idle
}

// running returns the number of sequences in flight.
func (s *Server) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active)
}

// admit registers either all sequences of a request or none.
func (s *Server) admit(seqs []*sequence) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return unavailable("the server is shutting down")
	}
	if len(s.active)+len(seqs) > s.o.MaxInFlight {
		return unavailable(fmt.Sprintf("too many requests in flight (%d, limit %d)", len(s.active), s.o.MaxInFlight))
	}
	for i, q := range seqs {
		if s.active[q.req.ID] != nil {
			for _, r := range seqs[:i] {
				delete(s.active, r.req.ID)
			}
			return badRequest(fmt.Sprintf("rid: %q is already in use", q.req.ID))
		}
		s.active[q.req.ID] = q
	}
	return nil
}

// forget removes a sequence from the registry.
func (s *Server) forget(q *sequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[q.req.ID] == q {
		delete(s.active, q.req.ID)
	}
	if len(s.active) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}
