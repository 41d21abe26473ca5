package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
)

// Setup is the exchange before the first step: Each node reports its capacity to node 0. Node 0 then sends the same
// plan to all nodes, and each node reports the result.
type Setup struct {
	m  *mesh.Mesh
	ch *mesh.Channel
	in chan reply
}

// NewSetup begins the exchange.
func NewSetup(m *mesh.Mesh) *Setup {
	s := &Setup{m: m, ch: m.Channel(setupChannel, mesh.Fast), in: make(chan reply, 4*m.Nodes())}
	s.ch.Receive(func(node int, frame []byte) { s.in <- reply{node, frame} }, func(error) {})
	return s
}

// Tell sends v to a node.
func (s *Setup) Tell(node int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.ch.Send(node, text)
}

// Hear receives the next message of any node.
func (s *Setup) Hear(ctx context.Context, v any) (node int, err error) {
	select {
	case r := <-s.in:
		defer s.ch.Free(r.frame)
		if err := json.Unmarshal(r.frame, v); err != nil {
			return r.node, fmt.Errorf("node %d at %s: %w", r.node, s.m.Host(r.node), errMessage)
		}
		return r.node, nil
	case <-s.m.Lost():
		return 0, s.m.Err()
	case <-s.m.Ended():
		return 0, errors.New("node 0 ended before the job started")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
