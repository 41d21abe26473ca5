package device

import (
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/reference/engine/device/park"
	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// Kernel is work for a stream.
type Kernel struct {
	Name string
	// Op is the host operation that the launch is part of, such as
	// "aten::linear": recorded around it, with Args as its inputs. "": none.
	Op          string
	Grid, Block [3]int32 // for the trace
	Args        []Arg    // for the trace; not kept
	// Run does chunk of Chunks; 0 and 1 chunks are one. Chunks may run side by
	// side. In a graph Run is called again at every replay and finds its sizes
	// and pointers in what it captured.
	Run    func(chunk int)
	Chunks int
}

// Stream is a queue of device work that is done in order.
type Stream struct {
	d       *Device
	id      int
	ring    []task
	capture *capture // open capture, or nil

	_    [64]byte
	tail atomic.Uint64 // tasks launched; the host's
	work park.Gate     // the executor waits here for tasks
	_    [64]byte
	head atomic.Uint64 // tasks done; the executor's
	done park.Gate     // hosts wait here for head
	// target is the least head that a host waits for.
	target atomic.Uint64
	_      [64]byte

	closed atomic.Bool    // the executor shall end when nothing is left
	gone   atomic.Bool    // it has
	log    *record.Stream // of logged, the executor's
	logged *record.Recording
	asleep bool // the executor waited for the task at hand
}

// The streams are numbered as PyTorch's are in traces: the default one is 7.
const (
	firstStream = 7
	nextStream  = 4
)

// NewStream makes one more stream.
func (d *Device) NewStream() *Stream {
	size := 1
	for size < d.opt.Queue {
		size *= 2
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &Stream{d: d, id: firstStream + nextStream*len(d.streams), ring: make([]task, size)}
	s.target.Store(nobody)
	d.streams = append(d.streams, s)
	if d.closed {
		s.closed.Store(true)
	}
	d.wg.Go(s.run)
	return s
}

// nodeKind is what a node of work is.
type nodeKind uint8

const (
	kernelNode nodeKind = iota
	copyNode
	collectiveNode
	graphNode
	notifyNode
)

// node is one piece of work, in a queue or in a graph.
type node struct {
	kind        nodeKind
	chunks      int32
	grid, block [3]int32
	name        string
	run         func(chunk int)
	dst, src    []byte // of a copy
	coll        *collective
}

// task is a node in a queue, or a graph, with what is recorded of it.
type task struct {
	node
	graph *Graph
	rec   *record.Recording // nil: not recorded
	names []uint32          // of the graph's nodes
	corr  uint32
	ext   uint32
	label uint32 // of the name
	comm  int32
	fault bool  // launched in a step that Faults are for
	since int64 // when it was launched; with rec
}

// Launch queues a kernel. It returns at once, unless the queue is full.
func (s *Stream) Launch(k Kernel) {
	r := s.d.rec.Load()
	if r != nil && k.Op != "" {
		s.d.host.Op(k.Op, k.Args...)
	}
	s.add(r, record.LaunchKernel, -1, &node{
		kind: kernelNode, chunks: int32(k.Chunks), grid: k.Grid, block: k.Block, name: k.Name, run: k.Run,
	})
	if r != nil && k.Op != "" {
		s.d.host.End()
	}
}

// add captures a node or launches it; comm is the recorded collective it is.
func (s *Stream) add(r *record.Recording, api record.API, comm int32, n *node) {
	if s.capture != nil {
		s.capture.nodes = append(s.capture.nodes, *n)
		return
	}
	if r == nil || !r.Options.GPU {
		t := s.slot()
		*t = task{node: *n, fault: s.d.host.fault}
		s.commit()
		return
	}
	h := &s.d.host
	start := record.Now()
	t := s.slot()
	*t = task{
		node: *n, fault: h.fault, rec: r, corr: h.correlation(), ext: h.ext(r), label: r.Intern(n.name), comm: comm, since: start,
	}
	s.commit()
	h.call(r, api, start, true)
}

// slot is the place of the next task, once there is room. A full queue is let
// run down a little first, and the host sleeps meanwhile: to wake it for each
// place that becomes free would cost the executor more than it gains.
func (s *Stream) slot() *task {
	tail, size := s.tail.Load(), uint64(len(s.ring))
	if tail-s.head.Load() >= size {
		s.done.Sleep(func() bool { return s.reached(tail - size + 1 + size/8) })
	}
	return &s.ring[tail&(size-1)]
}

// commit hands the task in the slot to the executor.
func (s *Stream) commit() {
	s.tail.Store(s.tail.Load() + 1)
	s.work.Wake()
}

// wait returns when n tasks are done. Any goroutine may call it.
func (s *Stream) wait(n uint64) {
	s.done.Wait(func() bool { return s.reached(n) }, s.d.opt.Spin)
}

// nobody is the target when no host waits.
const nobody = ^uint64(0)

// reached tells whether n tasks are done. If not, it sees to it that the
// executor wakes the waiters when they are, and not before: waking sleepers
// after every task would cost more than small tasks do.
func (s *Stream) reached(n uint64) bool {
	if s.head.Load() >= n {
		return true
	}
	for {
		at := s.target.Load()
		if at <= n || s.target.CompareAndSwap(at, n) {
			return s.head.Load() >= n || s.gone.Load()
		}
	}
}

// finish counts tasks as done. The target is taken back before the waiters
// look again; those that must wait on set it anew.
func (s *Stream) finish(n uint64) {
	s.head.Store(n)
	if s.target.Load() <= n {
		s.target.Store(nobody)
		s.done.Wake()
	}
}

func (s *Stream) drain() { s.wait(s.tail.Load()) }

// Synchronize returns when the stream has done what was launched on it.
func (s *Stream) Synchronize() error {
	r := s.d.recorder()
	if r == nil {
		s.drain()
		return s.d.Err()
	}
	start := record.Now()
	s.drain()
	s.d.host.call(r, record.StreamSynchronize, start, false)
	return s.d.Err()
}

// Notify has f called, by the stream's executor, when what was launched before is
// done. f must not block. After a failure it is not called.
func (s *Stream) Notify(f func()) {
	if s.capture != nil {
		s.capture.refuse("a call of the host")
		return
	}
	r, start := s.d.recorder(), int64(0)
	if r != nil {
		start = record.Now()
	}
	*s.slot() = task{node: node{kind: notifyNode, run: func(int) { f() }}}
	s.commit()
	if r != nil {
		s.d.host.call(r, record.EventRecord, start, false)
	}
}
