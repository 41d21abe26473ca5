// Package record stores the activity of a device and its launching thread during a profiling window and writes it as a
// Kineto trace.
//
// One host thread and one executor per stream fill a Recording. Each writer has separate buffers, so no locks are
// needed. A Recording is read after Stop, and late device work may still arrive during the reading. Its memory is
// bounded: records that do not fit are counted, never dropped silently. The format is that of libkineto's
// output_json.cpp as torch 2.11 writes it.
package record

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Options select the data to record. The zero value records nothing.
type Options struct {
	CPU    bool // host operations and annotations
	GPU    bool // runtime calls and device work
	Memory bool // allocations; only together with CPU
	Stack  bool // Go stacks of host operations and launches
	Shapes bool // shapes of inputs; only together with CPU
	// MaxBytes bounds the memory of the recording; 0: 256 MiB, enough for about 1.5 million launches with their
	// kernels.
	MaxBytes int64
}

const defaultMaxBytes = 256 << 20

// Recording is one window of one device. Only the host thread may call the methods that fill it, unless their
// documentation says otherwise.
type Recording struct {
	ID      uint32 // number of the window, counted from 1 on each device
	Options Options

	start, stop int64
	stopped     atomic.Bool
	budget      budget
	names       names

	ops    buffer[Op]
	calls  buffer[Call]
	args   buffer[Arg]
	comms  buffer[Comm]
	memory buffer[Memory]
	stacks stacks
	ext    atomic.Uint32 // the last External id assigned

	mu      sync.Mutex
	streams map[int]*Stream
	groups  []Group
	wait    func() // returns when all device work of the window is done
	host    Thread
}

// Thread is the launching thread's row.
type Thread struct {
	PID, TID int
	Name     string
}

// Stream is the device work of one stream, filled by its executor.
type Stream struct{ work buffer[Work] }

// New begins a window.
func New(id uint32, opt Options) *Recording {
	r := &Recording{ID: id, Options: opt, start: Now(), streams: map[int]*Stream{}}
	limit := opt.MaxBytes
	if limit <= 0 {
		limit = defaultMaxBytes
	}
	r.budget.limit.Store(limit)
	r.names.ids = map[string]uint32{"": 0}
	r.names.list = []string{""}
	for _, b := range []**budget{
		&r.ops.budget, &r.calls.budget, &r.args.budget, &r.comms.budget, &r.memory.budget,
		&r.stacks.list.budget, &r.stacks.pcs.budget,
	} {
		*b = &r.budget
	}
	r.stacks.ids = map[uint64]int32{}
	return r
}

// Intern adds a name to the string table, if it is missing, and returns its number.
func (r *Recording) Intern(name string) uint32 { return r.names.intern(name) }

// NextExt returns the next External id; ids start at 1.
func (r *Recording) NextExt() uint32 { return r.ext.Add(1) }

// AddArgs stores the inputs of an operation and returns their position and number.
func (r *Recording) AddArgs(args []Arg) (at uint32, n uint8) {
	at = uint32(r.args.n)
	for _, a := range args[:min(len(args), 64)] {
		if !r.args.put(a) {
			return at, 0
		}
	}
	return at, uint8(min(len(args), 64))
}

// AddOp stores an operation that has ended.
func (r *Recording) AddOp(o Op) { r.ops.put(o) }

// AddCall stores a runtime call.
func (r *Recording) AddCall(c Call) { r.calls.put(c) }

// AddMemory stores an allocation or a free.
func (r *Recording) AddMemory(m Memory) { r.memory.put(m) }

// DeviceMemory calls f with the allocations (bytes > 0) and frees of device memory in time order, ns since 1970.
func (r *Recording) DeviceMemory(f func(at int64, addr uint64, bytes int64)) {
	epoch := Epoch()
	for _, m := range r.memory.all {
		if m.GPU {
			f(epoch+m.Time, m.Addr, m.Bytes)
		}
	}
}

// AddComm stores the arguments of a collective and returns their index, or -1 if the recording is full.
func (r *Recording) AddComm(c Comm) int32 {
	at := int32(r.comms.n)
	if !r.comms.put(c) {
		return -1
	}
	return at
}

// AddCommOp stores the host operation record_param_comms of a collective.
func (r *Recording) AddCommOp(o Op) {
	o.Kind = commOp
	r.ops.put(o)
}

// GroupIndex returns the number of a process group.
func (r *Recording) GroupIndex(name, desc string, ranks []int) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.groups {
		if g := &r.groups[i]; g.Name == name && g.Desc == desc && slices.Equal(g.Ranks, ranks) {
			return uint32(i)
		}
	}
	r.groups = append(r.groups, Group{name, desc, slices.Clone(ranks)})
	return uint32(len(r.groups) - 1)
}

// SetHost sets the launching thread. Any goroutine may call it.
func (r *Recording) SetHost(t Thread) {
	r.mu.Lock()
	r.host = t
	r.mu.Unlock()
}

// Stream returns the log of a stream, created on first use. Any goroutine may call it.
func (r *Recording) Stream(id int) *Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[id]
	if s == nil {
		s = &Stream{}
		s.work.budget = &r.budget
		r.streams[id] = s
	}
	return s
}

// Add stores a piece of device work. Only the stream's executor calls it.
func (s *Stream) Add(w Work) { s.work.put(w) }

// AddTransfer stores a transfer that ends now on a row that belongs to no stream. Any goroutine may call AddTransfer,
// but calls for the same row must not be concurrent.
func (r *Recording) AddTransfer(row int, name, requests string, room uint64, start, bytes int64) {
	of := int64(r.names.add(requests)) | int64(r.names.add(strconv.FormatUint(room, 10)))<<32
	r.Stream(row).Add(Work{
		Start: start, End: Now(), Kind: Moved, Name: r.names.add(name), In: bytes, Out: of, Comm: -1,
	})
}

// Stop ends the window: operations that begin later are not recorded. wait is a function that returns when the device
// work launched in the window is done. Any goroutine may call Stop, once.
func (r *Recording) Stop(wait func()) {
	r.stop, r.wait = Now(), wait
	r.stopped.Store(true)
}

// Wait returns when the recording is complete, which means that the device has finished the work launched in the
// window.
func (r *Recording) Wait() {
	if r.wait != nil {
		r.wait()
	}
}

// Loss counts records that did not fit.
type Loss struct{ HostOps, Calls, DeviceWork, Other int64 }

// Total is the sum over all kinds.
func (l Loss) Total() int64 { return l.HostOps + l.Calls + l.DeviceWork + l.Other }

// Lost counts the records that did not fit into Options.MaxBytes.
func (r *Recording) Lost() Loss {
	l := Loss{
		HostOps: r.ops.lost.Load(), Calls: r.calls.lost.Load(),
		Other: r.args.lost.Load() + r.comms.lost.Load() + r.memory.lost.Load() + r.stacks.lost(),
	}
	for _, s := range r.allStreams() {
		l.DeviceWork += s.log.work.lost.Load()
	}
	return l
}

type streamLog struct {
	id  int
	log *Stream
}

func (r *Recording) allStreams() []streamLog {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []streamLog
	for _, id := range slices.Sorted(maps.Keys(r.streams)) {
		out = append(out, streamLog{id, r.streams[id]})
	}
	return out
}

// hostOps are the operations in the order in which they began.
type hostOps struct {
	ops   view[Op]
	order []int32 // indices into ops
}

// inOrder sorts the operations by their beginning. External ids are assigned in that order, so an operation's slot
// follows from its id. Operations that were open when the window closed leave empty slots, which inOrder removes.
// inOrder calls pause at intervals.
func (r *Recording) inOrder(pause func()) hostOps {
	h := hostOps{ops: r.ops.view(), order: make([]int32, r.ext.Load())}
	for i := range h.ops.n {
		if o := h.ops.at(i); o.Ext > 0 && int(o.Ext) <= len(h.order) {
			h.order[o.Ext-1] = int32(i) + 1
		}
		if i%chunkLen == 0 {
			pause()
		}
	}
	h.order = slices.DeleteFunc(h.order, func(i int32) bool { return i == 0 })
	return h
}

// all iterates over the operations.
func (h hostOps) all(yield func(int, *Op) bool) {
	for i, at := range h.order {
		if !yield(i, h.ops.at(int(at)-1)) {
			return
		}
	}
}

func (h hostOps) len() int { return len(h.order) }
