package client

import (
	"context"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Images asks a diffusion server to generate images.
func (s *Server) Images(ctx context.Context, body any) (*wire.ImageResponse, error) {
	var reply wire.ImageResponse
	if err := s.Post(ctx, "/v1/images/generations", body, &reply); err != nil {
		return nil, err
	}
	return &reply, nil
}

// Pipeline returns the card of a diffusion server. It returns nil if the server is not a diffusion server or does not
// report a card.
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
