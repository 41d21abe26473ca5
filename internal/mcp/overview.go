package mcp

import (
	"context"
	"errors"
)

func (s *Server) overview(ctx context.Context, in ofRun) (*answer, error) {
	return nil, errors.New("todo")
}

type findingIn struct {
	ofRun
	ID string `json:"id" jsonschema:"id of a finding, from overview"`
}

func (s *Server) finding(ctx context.Context, in findingIn) (*answer, error) {
	return nil, errors.New("todo")
}

func (s *Server) compare(ctx context.Context, in compareIn) (*answer, error) {
	return nil, errors.New("todo")
}
