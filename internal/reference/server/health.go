package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// health is GET /health and /health_generate. The reply has an empty body and the status 200 or 503. /health_generate
// generates one token. /health also generates one if SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION is true. Unlike in
// SGLang, this variable is off by default, because a probe is a forward step and would appear in every profile.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	probe := r.URL.Path == "/health_generate" ||
		r.URL.Path == "/health" && httpguard.EnvBool(s.o.Getenv("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"), false)
	err := s.engine.Healthy()
	switch {
	case s.draining.Load():
		err = errShutdown
	case err == nil && probe:
		err = s.probe(r.Context())
	}
	if err != nil {
		s.o.Log.Warn("health check failed", "path", r.URL.Path, "err", err)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() || s.engine.Healthy() != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

var errProbe = errors.New("no token and no forward step within the limit")

// probe generates one token. Any other forward step equally proves that the engine works. Therefore a fully loaded
// server is also healthy.
func (s *Server) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.HealthTimeout)
	defer cancel()
	before := s.forwardCt()
	req := &api.Request{
		ID: "HEALTH_CHECK_" + s.o.NewID(), Input: []int32{0}, LogprobStart: -1, DPRank: -1, Probe: true,
		Params: api.Sampling{MaxNewTokens: 1, TopP: 1, RepetitionPenalty: 1},
	}
	b, err := s.launch(ctx, s.o.Now(), []*spec{{req: req, skipSpecial: true}}, false)
	done := make(<-chan struct{})
	switch {
	case err == nil:
		defer b.cancel(errClientGone)
		done = b.wake
	case !errors.Is(err, api.ErrQueueFull) && asAPI(err).status != http.StatusServiceUnavailable:
		return err
	}
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-done:
			b.mu.Lock()
			f := b.seqs[0].finish
			b.mu.Unlock()
			if f.Type == api.FinishAbort {
				return errors.New(f.Message)
			}
			return nil
		case <-t.C:
			if s.forwardCt() != before {
				return nil
			}
		case <-ctx.Done():
			return errProbe
		}
	}
}

func (s *Server) forwardCt() (sum int64) {
	for _, st := range s.engine.Stats() {
		sum += st.ForwardCt
	}
	return sum
}
