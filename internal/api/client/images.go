package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Images asks a diffusion server for pictures.
func (s *Server) Images(ctx context.Context, body any) (*wire.ImageResponse, error) {
	var reply wire.ImageResponse
	if err := s.Post(ctx, "/v1/images/generations", body, &reply); err != nil {
		return nil, err
	}
	return &reply, nil
}

// Pipeline is the card of a diffusion server; nil: it is none, or does not say.
func (s *Server) Pipeline(ctx context.Context) (*wire.DiffusionCard, error) {
	var list struct{ Data []wire.DiffusionCard }
	if err := s.Get(ctx, "/v1/models", &list); err != nil {
		return nil, err
	}
	for i := range list.Data {
		if c := &list.Data[i]; c.TaskType != "" || c.PipelineClass != "" {
			return c, nil
		}
	}
	return nil, nil
}

// Healthy waits until /health answers with 200, looking once a second.
func (s *Server) Healthy(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: the server was not ready within %v: start it, or correct the URL", s.URL, limit))
	defer cancel()
	for {
		r, err := s.Ask(ctx, http.MethodGet, "/health", nil)
		if err == nil && r.Status == http.StatusOK {
			return nil
		}
		if err == nil && r.Status == http.StatusUnauthorized {
			return errors.New("GET " + s.URL + "/health: 401 Unauthorized (give --api-key)")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}
