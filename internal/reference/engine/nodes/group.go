package nodes

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Group is the set of ranks of one data-parallel rank, at least one of which is on another node. It implements
// engine.Group. Only the scheduler's goroutine may call Forward and the recorders.
type Group struct {
	m      *mesh.Mesh
	ch     *mesh.Channel
	local  *engine.Ranks // nil: no ranks on this node
	others []int         // other nodes that have ranks of the group
	list   []engine.Rank
	files  *Files

	answers chan reply
	held    []byte // frame that contains the rows of the last step
	buf     []byte
	windows atomic.Int32 // open recordings

	mu    sync.Mutex
	fatal error
}

type reply struct {
	node  int
	frame []byte
}

// About is a node's description of one of its ranks.
type About struct {
	Rank   int // number of the rank in the whole layout
	Host   string
	Device device.DeviceInfo
}

// NewGroup creates the group of replica dp. about describes all ranks of the layout.
func NewGroup(m *mesh.Mesh, l Layout, dp int, local *engine.Ranks, about map[int]About, files *Files) *Group {
	g := &Group{m: m, ch: m.Channel(stepChannels+uint32(dp), mesh.Fast), local: local, files: files}
	near := []engine.Rank{}
	if local != nil {
		near = local.Ranks()
	}
	for i := range l.replica() {
		global := dp*l.replica() + i
		if node := l.At(global); node != m.Node() {
			rank := l.Sizes.Rank(dp, i, about[global].Host, about[global].Device)
			rank.Recorder = &recorder{g: g, node: node, rank: i}
			g.list = append(g.list, rank)
			continue
		}
		g.list = append(g.list, near[0])
		near = near[1:]
	}
	for _, node := range l.members(dp) {
		if node != m.Node() {
			g.others = append(g.others, node)
		}
	}
	g.answers = make(chan reply, len(g.others))
	g.ch.Receive(func(node int, frame []byte) { g.answers <- reply{node, frame} }, func(error) {})
	return g
}

// Ranks lists the ranks of all nodes.
func (g *Group) Ranks() []engine.Rank { return g.list }

// Err returns the error that prevents all further steps, or nil.
func (g *Group) Err() error {
	if err := g.m.Err(); err != nil {
		return err
	}
	if g.local != nil {
		if err := g.local.Err(); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fatal
}

// Forward runs one step on the ranks of all nodes.
func (g *Group) Forward(s sched.Step) ([][]float32, error) {
	if g.held != nil {
		g.ch.Free(g.held)
		g.held = nil
	}
	st := step{name: s.Name(), batch: *s.Batch}
	if g.windows.Load() > 0 {
		st.requests = s.Requests()
	}
	g.buf = appendStep(g.buf[:0], &st)
	for _, node := range g.others {
		if err := g.ch.Send(node, g.buf); err != nil {
			return nil, err
		}
	}
	var rows [][]float32
	var err error
	if g.local != nil {
		rows, err = g.local.Forward(s)
	}
	for range g.others {
		a, frame, oneErr := g.await()
		switch {
		case oneErr != nil:
			err = oneErr // this error caused all other failures
		case a.rows != nil:
			rows, g.held = a.rows, frame
		default:
			g.ch.Free(frame)
		}
		if g.m.Err() != nil {
			break
		}
	}
	if lost := g.m.Err(); lost != nil {
		return nil, lost
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// await returns the answer of a node and its frame. If the error is nil, the caller owns the frame.
func (g *Group) await() (*answer, []byte, error) {
	var r reply
	select {
	case r = <-g.answers:
	case <-g.m.Lost():
		return nil, nil, g.m.Err()
	}
	a, err := parseAnswer(r.frame)
	if err != nil {
		err = fmt.Errorf("node %d at %s: %w", r.node, g.m.Host(r.node), err)
		g.m.Fail(err)
		return nil, nil, err
	}
	if a.fatal != "" {
		g.mu.Lock()
		if g.fatal == nil {
			g.fatal = fmt.Errorf("node %d at %s: %s", r.node, g.m.Host(r.node), a.fatal)
		}
		g.mu.Unlock()
	}
	if a.err != "" {
		g.ch.Free(r.frame)
		return nil, nil, fmt.Errorf("node %d at %s: %s", r.node, g.m.Host(r.node), a.err)
	}
	return a, r.frame, nil
}

// Close closes this node's ranks. The other nodes close their ranks when node 0 leaves.
func (g *Group) Close() error {
	if g.local != nil {
		return g.local.Close()
	}
	return nil
}

// recorder is the recorder of a rank on another node.
type recorder struct {
	g    *Group
	node int
	rank int // index of the rank in the replica
	id   uint32
}

func (r *recorder) StartRecording(opt device.RecordOptions) error {
	r.id = r.g.files.next()
	msg := binary.AppendUvarint([]byte{msgStart}, uint64(r.rank))
	msg = appendOptions(binary.AppendUvarint(msg, uint64(r.id)), opt)
	if err := r.g.ch.Send(r.node, msg); err != nil {
		return err
	}
	_, frame, err := r.g.await()
	if err != nil {
		r.id = 0
		return err
	}
	r.g.ch.Free(frame)
	r.g.windows.Add(1)
	return nil
}

func (r *recorder) StopRecording() engine.Recording {
	if r.id == 0 {
		return nil
	}
	msg := binary.AppendUvarint([]byte{msgStop}, uint64(r.rank))
	_ = r.g.ch.Send(r.node, binary.AppendUvarint(msg, uint64(r.id))) // ignore errors: a lost node records nothing
	r.g.windows.Add(-1)
	out := &recording{files: r.g.files, node: r.node, id: r.id}
	r.id = 0
	return out
}

func (r *recorder) PauseRecording(pause bool) {
	on := byte(0)
	if pause {
		on = 1
	}
	_ = r.g.ch.Send(r.node, append(binary.AppendUvarint([]byte{msgPause}, uint64(r.rank)), on))
}
