// Package mesh joins the processes of one job, one per node, over TCP. The processes find each other at the address of
// node 0 and compare their settings. Then they exchange frames over connections between every pair of nodes.
//
// A [Mesh] lives only as long as all of its nodes. A node is lost when its connection ends or when nothing arrives from
// it for [Options.Silence]. The loss of a node ends the whole mesh: [Mesh.Lost] is closed on every remaining node, and
// [Mesh.Err] names the ranks that ran on the lost node. Therefore no node waits for a lost node longer than
// [Options.Silence]. Before all nodes have joined, the limit is [Options.Timeout] instead.
//
// Like torch.distributed, the mesh neither encrypts nor authenticates its connections. Use it only on a trusted
// network.
//
// Times are ns on the clock Options.Now.
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

// Options describe a node.
type Options struct {
	Node, Nodes int
	Addr        string            // address of node 0, host:port; node 0 listens there
	Terms       map[string]string // settings that must be equal on all nodes
	Names       []string          // each node's workload, such as "rank 1", for messages
	Host        string            // name of this node's host
	Timeout     time.Duration     // limit on the time until all nodes have joined; 0: 10 minutes
	Silence     time.Duration     // silence after which a node is lost; 0: 5 s
	NoShared    bool              // do not use shared memory between nodes of one host
	Now         func() int64      // the clock of this node's traces
	Log         func(line string) // any goroutine may call it
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

// Lane is one of the connections to a node. Separate lanes prevent long frames from delaying urgent frames.
type Lane uint8

// Lanes. The lane Bulk exists only between node 0 and each other node.
const (
	Fast Lane = iota
	Bulk
	lanes
)

// Mesh is this process's end of a job.
type Mesh struct {
	opt   Options
	hosts []string // host name of each node
	links [lanes][]*link

	mu       sync.Mutex
	channels map[uint32]*Channel
	err      error
	over     bool // whether the job is ending in an orderly way or this node has left
	lost     chan struct{}
	gone     []atomic.Bool // nodes that have said goodbye
	ended    chan struct{} // closed when node 0 has said goodbye
	frames   frames
	wg       sync.WaitGroup
}

// Node is the index of this node, Nodes the number of nodes.
func (m *Mesh) Node() int  { return m.opt.Node }
func (m *Mesh) Nodes() int { return m.opt.Nodes }

// Host is the host name of a node.
func (m *Mesh) Host(node int) string { return m.hosts[node] }

// Lost returns a channel that is closed when an error has ended the mesh. Err returns that error.
func (m *Mesh) Lost() <-chan struct{} { return m.lost }

// Ended returns a channel that is closed when node 0 has left because the job is over.
func (m *Mesh) Ended() <-chan struct{} { return m.ended }

// Err returns the error that ended the mesh, or nil while the mesh runs and after an orderly end.
func (m *Mesh) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// LostError is the error of a mesh that has lost a node.
type LostError struct {
	Node  int
	Name  string // workload of the lost node
	Host  string
	Cause string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s at %s lost: %s", e.Name, e.Host, e.Cause)
}

// lose ends the mesh because a node is lost. The cause of the first loss is kept.
func (m *Mesh) lose(node int, cause string) {
	m.end(&LostError{node, m.opt.Names[node], m.hosts[node], cause}, node)
}

// Fail ends the mesh on all nodes. It is called when this node cannot continue.
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
	// Send the cause to the other nodes, so that they also report it. Do not wait for the other nodes.
	for _, l := range m.links[Fast] {
		if l != nil && l.peer != node {
			word := append([]byte{wordLost, byte(node), byte(node >> 8)}, err.Error()...)
			m.wg.Go(func() { _ = l.sendWord(word) }) // started before m.mu is released, so that Leave waits for it
		}
	}
	m.mu.Unlock()
	for _, c := range channels {
		c.end(err)
	}
}

// lostBy ends the mesh because another node reported a loss.
func (m *Mesh) lostBy(node int, text string) { m.end(errors.New(text), node) }

// Leave ends this node's part in the job. reason must be empty if the job is over. If reason is not empty, the other
// nodes report it as the cause of this node's departure. Leave waits until the connections are closed.
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

// bye handles the message with which another node announces its departure.
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

// broken is called for every connection that ends.
func (m *Mesh) broken(l *link, err error) {
	m.mu.Lock()
	over := m.over
	m.mu.Unlock()
	if !over && !m.gone[l.peer].Load() {
		m.lose(l.peer, causeText(err))
	}
}

// causeText describes in plain words why a connection ended.
func causeText(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed), errors.Is(err, errGone): // closed by the goroutine that detected the end first
		return "its process has ended or the connection was closed"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// differ lists the terms whose values differ between two nodes.
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
