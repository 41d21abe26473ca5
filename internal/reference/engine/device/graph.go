package device

import (
	"errors"

	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// Graph is a captured sequence of launches on one stream that is replayed as one launch.
type Graph struct {
	nodes  []node
	names  []uint32 // interned names of the nodes and, last, of Faults' extra kernel; valid in window
	window uint32
}

// BeginCapture makes the stream collect launches instead of queueing the launches.
func (s *Stream) BeginCapture() { s.capture = &capture{} }

// EndCapture returns the launches since BeginCapture. Host calls and other graphs cannot be captured.
func (s *Stream) EndCapture() (*Graph, error) {
	c := s.capture
	s.capture = nil
	switch {
	case c == nil:
		return nil, errors.New("the stream is not capturing")
	case c.err != nil:
		return nil, c.err
	}
	return &Graph{nodes: c.nodes}, nil
}

// Launch queues all nodes as one launch, with one correlation.
func (g *Graph) Launch(s *Stream) {
	if s.capture != nil {
		s.capture.refuse("a graph")
		return
	}
	h, r := &s.d.host, s.d.recorder()
	if r == nil {
		*s.slot() = task{node: node{kind: graphNode}, graph: g, fault: h.fault}
		s.commit()
		return
	}
	start := record.Now()
	if g.window != r.ID {
		g.window, g.names = r.ID, make([]uint32, 0, len(g.nodes)+1)
		for i := range g.nodes {
			g.names = append(g.names, r.Intern(g.nodes[i].name))
		}
		g.names = append(g.names, r.Intern(extraName))
	}
	// The graph's nodes get no External id, as in CUPTI's records.
	*s.slot() = task{node: node{kind: graphNode}, graph: g, fault: h.fault, rec: r, names: g.names, corr: h.correlation(), since: start}
	s.commit()
	h.call(r, record.GraphLaunch, start, true)
}
