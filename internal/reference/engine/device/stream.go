package device

import (
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/reference/engine/device/park"
	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// Kernel is work for a stream.
type Kernel struct {
	Name string
	// Op is the host operation around the launch, such as "aten::linear". It is recorded with Args as its inputs. If Op
	// is "", no operation is recorded.
	Op          string
	Grid, Block [3]int32 // shown in the trace
	Args        []Arg    // shown in the trace; Launch does not keep the slice
	// Run computes one of Chunks chunks; Chunks 0 means 1. Chunks may run concurrently. In a graph, Run is called again
	// at every replay, so its sizes and pointers must come from captured variables.
	Run    func(chunk int)
	Chunks int
}

// Stream is a queue of device work that runs in order.
type Stream struct {
	d       *Device
	id      int
	ring    []task
	capture *capture // open capture, or nil

	_    [64]byte
	tail atomic.Uint64 // tasks launched; owned by the host
	work park.Gate     // the executor waits here for tasks
	_    [64]byte
	head atomic.Uint64 // tasks done; owned by the executor
	done park.Gate     // hosts wait here for head
	// target is the smallest head that a host waits for.
	target atomic.Uint64
	_      [64]byte

	closed atomic.Bool    // the executor must end when the queue is empty
	gone   atomic.Bool    // the executor has ended
	log    *record.Stream // this stream's log in the recording logged; owned by the executor
	logged *record.Recording
	asleep bool // the executor had to wait for the current task
}

// Streams are numbered as in PyTorch's traces: the default one is 7.
const (
	firstStream = 7
	nextStream  = 4
)

// NewStream creates another stream.
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

// nodeKind is a kind of node.
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
	dst, src    []byte // destination and source of a copy
	coll        *collective
}

// task is a queued node or graph, with the data to record it.
type task struct {
	node
	graph *Graph
	rec   *record.Recording // nil: not recorded
	names []uint32          // interned names of the graph's nodes
	corr  uint32
	ext   uint32
	label uint32 // interned name of the work
	comm  int32
	fault bool  // launched in a step with faults
	since int64 // time of the launch; set with rec
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

// add appends a node to the open capture or, without a capture, launches the node. comm is the index of the node's
// recorded collective.
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

// slot returns the slot of the next task as soon as the queue has space. If the queue is full, the host sleeps until
// several slots are free, because the executor would lose too much time if it woke the host for every slot.
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

// nobody is the value of target while no host waits.
const nobody = ^uint64(0)

// reached reports whether n tasks are done. Otherwise it sets the target, so that the executor wakes the waiters when n
// tasks are done and not earlier. A wake-up after every task would take longer than a small task.
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

// finish counts tasks as done. finish resets the target before it wakes the waiters. Waiters that must continue to wait
// then set a new target.
func (s *Stream) finish(n uint64) {
	s.head.Store(n)
	if s.target.Load() <= n {
		s.target.Store(nobody)
		s.done.Wake()
	}
}

func (s *Stream) drain() { s.wait(s.tail.Load()) }

// Synchronize returns when the stream has finished all launched work.
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

// Notify makes the stream's executor call f when all previously launched work is done. f must not block. After a
// failure f is not called.
func (s *Stream) Notify(f func()) {
	if s.capture != nil {
		s.capture.refuse("a host call")
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
