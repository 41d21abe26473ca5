package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/serve/launch"
	"github.com/stepscope/stepscope/internal/serve/server"
)

// embedded is a server in this process, on a port of its own.
type embedded struct {
	*client.Server
	engine *launch.Engine
	cancel context.CancelFunc
	done   chan error // 1 deep: what Serve returned
}

// startEmbedded loads the model and serves it on loopback, for inFlight sequences
// at once. log takes lines about the model. Close it.
func startEmbedded(ctx context.Context, a launch.ModelArgs, inFlight int, log func(string)) (*embedded, error) {
	ln, err := server.Listen("127.0.0.1", 0, "")
	if err != nil {
		return nil, err
	}
	en, err := launch.Load(ctx, a, launch.Options{Log: log})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := server.New(en, server.Options{
		Version: release(), Args: a.Map(), EnableMetrics: true,
		DrainTimeout: time.Second, MaxInFlight: max(4096, inFlight), MaxBodyBytes: 1 << 30,
	})
	// It outlives ctx: clients that are interrupted still stop their profilers.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &embedded{&client.Server{URL: "http://" + ln.Addr().String(), Header: http.Header{}}, en, cancel, make(chan error, 1)}
	go func() { m.done <- s.Serve(serving, ln) }()
	return m, nil
}

// Close ends the server and the engine.
func (m *embedded) Close() error {
	m.cancel()
	err := <-m.done
	return errors.Join(err, m.engine.Close())
}
