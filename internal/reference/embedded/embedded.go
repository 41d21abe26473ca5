// Package embedded serves a model in this process on a separate port, so that benchmarks measure the model in the same
// way as any other server.
package embedded

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// Server is a server in this process.
type Server struct {
	*client.Server
	Engine *launch.Engine
	cancel context.CancelFunc
	done   chan error // receives the result of Serve; buffers one value
}

// Start loads the model and serves up to inFlight concurrent sequences on loopback, reporting version as the program's
// version. log receives lines about the model. The caller must close the server.
func Start(ctx context.Context, a launch.ModelArgs, inFlight int, version string, log func(string)) (*Server, error) {
	ln, err := httpguard.Listen("127.0.0.1", 0, "", false)
	if err != nil {
		return nil, err
	}
	en, err := launch.Load(ctx, a, launch.Options{Log: log})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := server.New(en, server.Options{
		Version: version, Args: a.Map(), EnableMetrics: true,
		DrainTimeout: time.Second, MaxInFlight: max(4096, inFlight), MaxBodyBytes: 1 << 30,
	})
	// The server outlives ctx, because a client that is interrupted must still ask the server to stop its profiler.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &Server{&client.Server{URL: "http://" + ln.Addr().String(), Header: http.Header{}}, en, cancel, make(chan error, 1)}
	go func() { m.done <- s.Serve(serving, ln) }()
	return m, nil
}

// Close stops the server and the engine.
func (m *Server) Close() error {
	m.cancel()
	err := <-m.done
	return errors.Join(err, m.Engine.Close())
}
