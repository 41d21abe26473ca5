// Package images serves the HTTP API of SGLang's diffusion server for a pipeline. It has OpenAI's route for images,
// which optionally returns a profile or a timing report. It also has stepscope's own routes for a window over several
// requests. Images are generated one at a time, and other requests wait in a bounded queue.
package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/loglimit"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
	"github.com/stepscope/stepscope/internal/reference/windows"
)

// Engine generates images, one at a time.
type Engine interface {
	// Request returns a request for an image of the model's default size. Check returns an error if a request is
	// impossible.
	Request(prompt, negative string) (*diffusion.Request, error)
	Check(q *diffusion.Request) error
	Generate(ctx context.Context, job *diffusion.Job) (*diffusion.Result, error)
	// Open starts a window over several images and Shut ends it. WriteSpan writes the window's traces and returns notes
	// on gaps in the traces.
	Open(s *diffusion.Span) error
	Shut(s *diffusion.Span) error
	WriteSpan(s *diffusion.Span, path func(engine.Rank) string) (paths, notes []string, err error)
	// Err returns the error that stopped the engine, or nil.
	Err() error
}

// Info describes the pipeline. Info never changes.
type Info struct {
	ModelPath string
	Config    *diffusion.Config
	TP        int
	DType     string // data type of the transformer's weights
}

// Options configure a Server. The zero value serves on loopback without a key and without logs.
type Options struct {
	ServedModelName string // default: the model path
	Version         string
	Args            map[string]any // launch arguments, shown by /server_info

	APIKey      string // required as "Authorization: Bearer KEY" if set
	AdminAPIKey string // required by the profile routes if set
	Insecure    bool   // no key is required beyond loopback

	OutputDir   string // directory to which images are also written; "": images are not written
	TraceDir    string // for traces of single requests; not restricted by ProfileRoot, because the operator sets it
	ProfileRoot string // beyond loopback, all files named in requests must be below this directory; see httpguard.Path

	EnableMetrics bool

	MaxQueued    int             // waiting requests; default 1024
	MaxBodyBytes int64           // default 1 MiB
	BodyTimeout  time.Duration   // limit for reading a body; default 60 s
	DrainTimeout time.Duration   // time limit for running requests at shutdown; default 30 s
	Hurry        <-chan struct{} // closing it ends the drain at once; nil: never

	// Dependencies that tests replace. If a field is nil, the real implementation is used.
	Log    *slog.Logger
	Line   func(text string) // receives the lines that SGLang's server logs; nil: these lines go to Log
	Getenv func(string) string
	Now    func() time.Time
	NewID  func() string // request ids
}

func (o Options) withDefaults() Options {
	o.BodyTimeout = cmp.Or(o.BodyTimeout, time.Minute)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 30*time.Second)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 1<<20)
	o.MaxQueued = cmp.Or(o.MaxQueued, 1024)
	o.TraceDir = cmp.Or(o.TraceDir, "./logs")
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Line == nil {
		o.Line = func(text string) { o.Log.Info(text) }
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = api.NewUUID
	}
	return o
}

// Server serves one pipeline over HTTP.
type Server struct {
	o       Options
	engine  Engine
	info    Info
	name    string // served model name
	created time.Time
	front   httpguard.Front
	mux     http.Handler
	queue   *queue
	steps   atomic.Int64 // denoising steps done
	metrics *metrics

	recorder *recorder
	windows  *windows.Windows

	base     context.Context // ends when the requests that are still running after the drain must stop
	abortAll context.CancelCauseFunc
}

// New returns a server for e.
func New(e Engine, info Info, o Options) *Server {
	s := &Server{o: o.withDefaults(), engine: e, info: info}
	s.o.Log = loglimit.Log(s.o.Log)
	s.name = cmp.Or(s.o.ServedModelName, info.ModelPath)
	s.created = s.o.Now()
	s.queue, s.metrics = newQueue(s.o.MaxQueued), newMetrics()
	s.base, s.abortAll = context.WithCancelCause(context.Background())
	s.front = httpguard.Front{
		APIKey: s.o.APIKey, AdminAPIKey: s.o.AdminAPIKey, Insecure: s.o.Insecure, BodyTimeout: s.o.BodyTimeout, MaxBodyBytes: s.o.MaxBodyBytes, Log: s.o.Log,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			s.refuse(w, &httpguard.Error{Status: status, Message: message})
		},
	}
	s.recorder = &recorder{engine: e, log: s.o.Line}
	s.windows = windows.New(s.recorder, &s.front, windows.Options{
		Root: s.o.ProfileRoot, WriteTimeout: time.Minute, Log: s.o.Log, Getenv: s.o.Getenv, Now: s.o.Now,
		Refuse: s.refuse,
		Status: func(err error) (int, string, int) {
			status, err := statusOf(err)
			return status, err.Error(), 0
		},
		Idle: func() bool {
			waiting, running := s.queue.sizes()
			return waiting+running == 0
		},
	})
	s.mux = s.front.Guard(s.front.Mux(s.table(), func(*http.Request) string { return "Not Found" }))
	return s
}

// Serve answers requests on ln until ctx ends. It then rejects new requests and waits at most Options.DrainTimeout for
// current requests to finish. Serve stops the remaining requests between two steps and returns. If ln is not on
// loopback, an API key is required.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	err := s.front.Serve(ctx, ln, s.mux, func(*http.Server) { s.drain() })
	s.queue.close()
	s.abortAll(errShutdown)
	s.queue.wait(nil)
	s.recorder.close()
	return err
}

func (s *Server) drain() {
	s.queue.close()
	waiting, running := s.queue.sizes()
	s.o.Log.Info("shutting down", "running", running, "waiting", waiting, "limit", s.o.DrainTimeout)
	limit := make(chan time.Time)
	go func() {
		select {
		case <-time.After(s.o.DrainTimeout):
		case <-s.o.Hurry:
		}
		close(limit)
	}()
	if !s.queue.wait(limit) {
		s.o.Log.Warn("ending requests at shutdown")
	}
	s.abortAll(errShutdown)
}

var errShutdown = &httpguard.Error{Status: http.StatusServiceUnavailable, Message: "the server is shutting down"}

// table lists every route.
func (s *Server) table() []httpguard.Route {
	return append(s.windows.Table(),
		httpguard.At("GET", "/health /health_generate", httpguard.Open, s.health),
		httpguard.At("GET", "/liveness", httpguard.Open, func(w http.ResponseWriter, _ *http.Request) { s.reply(w, status{"ok"}) }),

		httpguard.At("GET", "/metrics", httpguard.Open, s.scrape),

		httpguard.At("POST", "/v1/images/generations", httpguard.Key, s.generations),
		httpguard.At("POST", "/v1/images/edits", httpguard.Key, s.missing("image edits: this server runs only text-to-image pipelines")),
		httpguard.At("POST", "/v1/videos", httpguard.Key, s.missing("videos: this server runs only text-to-image pipelines")),

		httpguard.At("GET", "/v1/models", httpguard.Key, s.models),
		httpguard.At("GET", "/v1/models/{model...}", httpguard.Key, s.model),
		httpguard.At("GET", "/models", httpguard.Key, s.oldModels),
		httpguard.At("GET", "/v1/model_info /model_info", httpguard.Key, s.modelInfo),
		httpguard.At("GET", "/server_info", httpguard.Key, s.serverInfo),
		httpguard.At("GET", "/v1/loads", httpguard.Key, s.loads),
	)
}

// missing returns a handler that rejects requests for a feature of SGLang's servers that this server lacks.
func (s *Server) missing(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, &httpguard.Error{Status: http.StatusNotImplemented, Message: what})
	}
}

// reply writes JSON.
func (s *Server) reply(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		s.refuse(w, err)
		return
	}
	httpguard.WriteJSON(w, http.StatusOK, text)
}

// statusOf returns the HTTP status of an error and the error to send.
func statusOf(err error) (int, error) {
	var own *httpguard.Error
	var big *http.MaxBytesError
	var field *wire.FieldError
	switch {
	case errors.As(err, &own):
		return own.Status, err
	case errors.As(err, &big):
		return http.StatusRequestEntityTooLarge, errors.New("the body is larger than " + strconv.FormatInt(big.Limit, 10) + " bytes")
	case errors.As(err, &field):
		return http.StatusBadRequest, err
	case errors.Is(err, api.ErrProfileRunning), errors.Is(err, api.ErrProfileIdle):
		return http.StatusConflict, err
	}
	return http.StatusInternalServerError, err
}

// refuse writes an error as SGLang's diffusion server does.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	status, err := statusOf(err)
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusInternalServerError:
		s.o.Log.Error("request failed", "err", err)
	}
	text, _ := json.Marshal(wire.Detail{Detail: err.Error()}) // cannot fail: only a string
	httpguard.WriteJSON(w, status, text)
}
