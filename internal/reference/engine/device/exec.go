package device

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// run is the executor of a stream.
func (s *Stream) run() {
	defer func() { // release goroutines that are still waiting
		s.gone.Store(true)
		s.done.Wake()
	}()
	for head := uint64(0); ; head++ {
		s.asleep = false
		if s.tail.Load() == head {
			s.asleep = true
			s.work.Wait(func() bool { return s.tail.Load() != head || s.closed.Load() }, s.d.opt.Spin)
			if s.tail.Load() == head {
				return // the stream is closed and its queue is empty
			}
		}
		t := &s.ring[head&uint64(len(s.ring)-1)]
		s.exec(t)
		*t = task{} // release the memory that the task refers to
		s.finish(head + 1)
	}
}

// exec runs one task. After a failure it does nothing.
func (s *Stream) exec(t *task) {
	if s.d.failed.Load() {
		return
	}
	if t.kind == notifyNode {
		t.run(0)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.d.fail(fmt.Errorf("%s on stream %d: panic: %v\n%s", t.what(), s.id, p, debug.Stack()))
		}
	}()
	if t.kind == graphNode {
		s.replay(t)
		return
	}
	s.node(t, &t.node, t.label)
}

func (t *task) what() string {
	if t.graph != nil {
		return "graph"
	}
	return t.name
}

// replay runs the nodes of a graph as one launch.
func (s *Stream) replay(t *task) {
	for i := range t.graph.nodes {
		n := &t.graph.nodes[i]
		label := uint32(0)
		if t.rec != nil {
			label = t.names[i]
		}
		if t.fault && n.kind == collectiveNode {
			s.extra(t)
		}
		s.node(t, n, label)
		if s.d.failed.Load() {
			return
		}
	}
}

// extra runs the additional kernels that Faults put before each collective of a graph.
func (s *Stream) extra(t *task) {
	label := uint32(0)
	if t.rec != nil {
		label = t.names[len(t.names)-1]
	}
	for range s.d.opt.Faults.ExtraKernels {
		x := s.d.opt.Faults.extra()
		s.node(t, &x, label)
	}
}

// node runs one piece of work and records its time.
func (s *Stream) node(t *task, n *node, label uint32) {
	if t.rec == nil {
		s.log, s.logged = nil, nil // keep no reference to a recording after its window
		s.do(t, n)
		return
	}
	start := record.Now()
	if s.asleep {
		s.noCore(t, t.since, start)
		s.asleep = false
	}
	// A kernel without helpers stays on this thread from start to end, so the time without a core is the kernel's
	// duration minus the thread's CPU time. With Faults this calculation is wrong, because Faults sleep deliberately.
	alone := n.kind == kernelNode && (n.chunks <= 1 || s.d.opt.Workers <= 1) && !t.fault && (s.d.opt.Faults == nil || s.d.opt.Faults.Pace == 0)
	var ran int64
	if alone {
		runtime.LockOSThread()
		ran = threadTime()
	}
	s.do(t, n)
	end, woken := record.Now(), int64(0)
	if alone {
		if end-start >= longKernel && ran > 0 {
			if off := end - start - (threadTime() - ran); off >= longKernel/2 {
				end, woken = end-off, end
			}
		}
		runtime.UnlockOSThread()
	}
	if n.kind == collectiveNode {
		// Record that all members leave a collective at the same time, because on a GPU no kernel has to be woken up.
		if at := n.coll.c.Ended(); at > start && at < end {
			end, woken = at, end
		}
	}
	w := record.Work{
		Start: start, End: end, Corr: t.corr, Ext: t.ext, Name: label, Comm: -1, In: -1, Grid: n.grid, Block: n.block,
	}
	switch n.kind {
	case copyNode:
		w.Kind, w.In = record.Memcpy, int64(len(n.dst))
	case collectiveNode:
		if t.graph == nil {
			w.Comm = t.comm
		}
	}
	s.note(t, w)
	s.noCore(t, end, woken)
}

// longKernel is the minimum duration, in ns, of kernels that are checked for preemption. The check reads the thread's
// clock, and that takes as long as a short kernel.
const longKernel = 100_000

// shortest is the minimum time without a core, in ns, that is recorded as an event. Even when a core is free, a wake-up
// takes that long.
const shortest = 2000

// noCore records an interval in which the device had work but no core.
func (s *Stream) noCore(t *task, from, to int64) {
	if to-from >= shortest {
		s.note(t, record.Work{Start: from, End: to, Kind: record.NoCore, Corr: t.corr, Ext: t.ext, Comm: -1, In: -1})
	}
}

// note records a piece of work that the executor has finished.
func (s *Stream) note(t *task, w record.Work) {
	if s.logged != t.rec {
		s.log, s.logged = t.rec.Stream(s.id), t.rec
	}
	s.log.Add(w)
}

func (s *Stream) do(t *task, n *node) {
	switch n.kind {
	case kernelNode:
		if f := s.d.opt.Faults; t.fault || f != nil && f.Pace > 0 {
			f.slow(func() { s.kernel(n) }, t.fault)
			return
		}
		s.kernel(n)
	case copyNode:
		copy(n.dst, n.src)
	case collectiveNode:
		if t.fault && s.d.opt.Faults.LinkSleep > 0 {
			n.coll.c.Slow(s.d.opt.Faults.LinkSleep)
			defer n.coll.c.Slow(0)
		}
		if err := n.coll.run(context.Background()); err != nil {
			s.d.fail(fmt.Errorf("%s: %w", n.coll.op.names().collective, err))
		}
	}
}

func (s *Stream) kernel(n *node) {
	if n.chunks <= 1 {
		n.run(0)
		return
	}
	if p := s.d.pool.run(int(n.chunks), n.run); p != nil {
		panic(p)
	}
}

// capture is an open capture of a stream.
type capture struct {
	nodes []node
	err   error
}

func (c *capture) refuse(what string) {
	c.err = errors.Join(c.err, fmt.Errorf("%s cannot be captured", what))
}
