// Package mesh joins the processes of one job, one a node, over TCP: they find
// each other at the address of node 0, agree on what they run, and then carry
// frames for each other over connections between every two of them.
//
// A [Mesh] lives as long as all its nodes do. A node whose connection ends, or
// that gives no sign of life for [Options.Silence], is lost, and with it the mesh:
// [Mesh.Lost] is closed on every node that is left and [Mesh.Err] names the ranks
// that were there. Nothing waits longer than that, or than [Options.Timeout] before
// all have joined.
//
// There is no secrecy and no proof of who somebody is, as there is none in
// torch.distributed: the addresses belong on a network that is trusted.
//
// Times are ns on the clock of Options.Now.
package mesh

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options say who a node is.
type Options struct {
	Node, Nodes int
	Addr        string            // of node 0, host:port; its node listens there
	Terms       map[string]string // what all nodes must have equal
	Names       []string          // what runs on each node, for messages: "rank 1"
	Host        string            // name of this node's host
	Timeout     time.Duration     // until all have joined; 0: 10 minutes
	Silence     time.Duration     // without a sign of life, a node is lost; 0: 5 s
	NoShared    bool              // nodes of one host do not share memory
	Now         func() int64      // the clock of this node's traces
	Log         func(line string) // any goroutine calls it
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Silence <= 0 {
		o.Silence = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	return o
}

// Lane is one of the ways to a node: what is long does not hold up what is urgent.
type Lane uint8

// The lanes. Bulk goes between node 0 and the others alone.
const (
	Fast Lane = iota
	Bulk
	lanes
)

// Mesh is this process's end of a job.
type Mesh struct {
	opt   Options
	hosts []string // of each node
	links [lanes][]*link

	mu       sync.Mutex
	channels map[uint32]*Channel
	err      error
	over     bool // the job ends as it should, or this node has left
	lost     chan struct{}
	gone     []atomic.Bool // nodes that have said good-bye
	ended    chan struct{} // closed when node 0 has
	frames   frames
	wg       sync.WaitGroup
}

// Node is this node, Nodes how many there are.
func (m *Mesh) Node() int  { return m.opt.Node }
func (m *Mesh) Nodes() int { return m.opt.Nodes }

// Host names the host of a node.
func (m *Mesh) Host(node int) string { return m.hosts[node] }

// Lost is closed when the mesh has ended by an error, which Err then is.
func (m *Mesh) Lost() <-chan struct{} { return m.lost }

// Ended is closed when node 0 has left because the job is over.
func (m *Mesh) Ended() <-chan struct{} { return m.ended }

// Err is why the mesh has ended; nil: it has not, or in order.
func (m *Mesh) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// LostError says which node was lost.
type LostError struct {
	Node  int
	Name  string // what ran there
	Host  string
	Cause string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s at %s lost: %s", e.Name, e.Host, e.Cause)
}

// lose ends the mesh, since a node is lost. The first loss stays.
func (m *Mesh) lose(node int, cause string) {
	m.end(&LostError{node, m.opt.Names[node], m.hosts[node], cause}, node)
}

// Fail ends the mesh on all nodes: this one cannot go on.
func (m *Mesh) Fail(cause error) { m.end(cause, m.opt.Node) }

func (m *Mesh) end(err error, node int) {
	m.mu.Lock()
	if m.err != nil || m.over {
		m.mu.Unlock()
		return
	}
	m.err = err
	var channels []*Channel
	for _, c := range m.channels {
		channels = append(channels, c)
	}
	close(m.lost)
	// Whoever has not seen it yet says the same of it. Nobody is waited for.
	for _, l := range m.links[Fast] {
		if l != nil && l.peer != node {
			word := append([]byte{wordLost, byte(node), byte(node >> 8)}, err.Error()...)
			m.wg.Go(func() { _ = l.sendWord(word) }) // before m.mu is free: Leave waits for it
		}
	}
	m.mu.Unlock()
	for _, c := range channels {
		c.end(err)
	}
}

// lostBy ends the mesh by the word of another node.
func (m *Mesh) lostBy(node int, text string) { m.end(errors.New(text), node) }

// Leave ends this node's part. reason is empty when the job is over, else it is
// what the other nodes say of this one. It waits until the connections are closed.
func (m *Mesh) Leave(reason string) {
	m.mu.Lock()
	m.over = true
	err := m.err
	m.mu.Unlock()
	word := append([]byte{wordBye}, reason...)
	if err != nil {
		word = append([]byte{wordLost, byte(m.opt.Node), byte(m.opt.Node >> 8)}, err.Error()...)
	}
	for _, list := range m.links {
		for _, l := range list {
			if l != nil {
				l.farewell(word)
			}
		}
	}
	m.wg.Wait()
}

// bye is what a node that leaves has said.
func (m *Mesh) bye(node int, reason string) {
	if reason != "" {
		m.lose(node, reason)
		return
	}
	m.gone[node].Store(true)
	if node == 0 {
		m.mu.Lock()
		if !m.over && m.err == nil {
			m.over = true
			close(m.ended)
		}
		m.mu.Unlock()
	}
}

// broken is told of every connection that ends.
func (m *Mesh) broken(l *link, err error) {
	m.mu.Lock()
	over := m.over
	m.mu.Unlock()
	if !over && !m.gone[l.peer].Load() {
		m.lose(l.peer, causeText(err))
	}
}

// causeText says why a connection ended, for people.
func causeText(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed), errors.Is(err, errGone): // by whoever saw it first
		return "its process has ended or the connection was closed"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// differ lists in which terms two nodes do not agree.
func differ(mine, theirs map[string]string) string {
	keys := map[string]string{}
	maps.Copy(keys, mine)
	maps.Copy(keys, theirs)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a, b := mine[k], theirs[k]; a != b {
			out = append(out, fmt.Sprintf("%s %s, node 0 has %s", k, cmp.Or(b, "(none)"), cmp.Or(a, "(none)")))
		}
	}
	return strings.Join(out, "; ")
}
