// Package record keeps what a device and its launching thread did during a
// profiling window and writes it as a Kineto trace.
//
// A Recording is filled by one host thread and by one executor a stream, each
// into buffers of its own, without locks; it is read after Stop, while late
// device work may still arrive. Its memory is bounded: what does not fit is
// counted, never silently left out. The format is that of libkineto's
// output_json.cpp as torch 2.11 writes it.
package record

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Options say what to record. The zero value records nothing.
type Options struct {
	CPU    bool // host operations and annotations
	GPU    bool // runtime calls and device work
	Memory bool // allocations, with CPU
	Stack  bool // Go stacks of host operations and launches
	Shapes bool // shapes of inputs, with CPU
	// MaxBytes bounds the memory of the recording; 0: 256 MiB, which holds
	// about 1.5 million launches with their kernels.
	MaxBytes int64
}

const defaultMaxBytes = 256 << 20

// Recording is one window of one device. Methods of filling are for the
// host thread unless they say otherwise.
type Recording struct {
	ID      uint32 // of the window, counted from 1 per device
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
	ext    atomic.Uint32 // the last External id given out

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

// Intern numbers a name.
func (r *Recording) Intern(name string) uint32 { return r.names.intern(name) }

// NextExt gives the next External id, from 1.
func (r *Recording) NextExt() uint32 { return r.ext.Add(1) }

// AddArgs keeps the inputs of an operation and tells where.
func (r *Recording) AddArgs(args []Arg) (at uint32, n uint8) {
	at = uint32(r.args.n)
	for _, a := range args[:min(len(args), 64)] {
		if !r.args.put(a) {
			return at, 0
		}
	}
	return at, uint8(min(len(args), 64))
}

// AddOp keeps an operation that has ended.
func (r *Recording) AddOp(o Op) { r.ops.put(o) }

// AddCall keeps a runtime call.
func (r *Recording) AddCall(c Call) { r.calls.put(c) }

// AddMemory keeps an allocation or a free.
func (r *Recording) AddMemory(m Memory) { r.memory.put(m) }

// DeviceMemory hands out allocations (bytes > 0) and frees of device memory, by
// time: ns since 1970.
func (r *Recording) DeviceMemory(f func(at int64, addr uint64, bytes int64)) {
	epoch := Epoch()
	for _, m := range r.memory.all {
		if m.GPU {
			f(epoch+m.Time, m.Addr, m.Bytes)
		}
	}
}

// AddComm keeps the arguments of a collective and numbers them; -1: full.
func (r *Recording) AddComm(c Comm) int32 {
	at := int32(r.comms.n)
	if !r.comms.put(c) {
		return -1
	}
	return at
}

// AddCommOp keeps the host operation record_param_comms of a collective.
func (r *Recording) AddCommOp(o Op) {
	o.Kind = commOp
	r.ops.put(o)
}

// GroupIndex numbers a process group.
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

// SetHost says which thread launches. Any goroutine may call it.
func (r *Recording) SetHost(t Thread) {
	r.mu.Lock()
	r.host = t
	r.mu.Unlock()
}

// Stream is the log of a stream, made when it is first asked for. Any
// goroutine may call it.
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

// Add keeps a piece of device work; only the stream's executor calls it.
func (s *Stream) Add(w Work) { s.work.put(w) }

// AddTransfer keeps a piece of work that ends now and that no stream did, on a row of
// its own. Any goroutine may call it, for one row one at a time.
func (r *Recording) AddTransfer(row int, name, requests string, room uint64, start, bytes int64) {
	of := int64(r.names.add(requests)) | int64(r.names.add(strconv.FormatUint(room, 10)))<<32
	r.Stream(row).Add(Work{
		Start: start, End: Now(), Kind: Moved, Name: r.names.add(name), In: bytes, Out: of, Comm: -1,
	})
}

// Stop ends the window: what begins later is not part of it. wait returns when
// the device work that was launched in the window is done. Any goroutine may
// call it, once.
func (r *Recording) Stop(wait func()) {
	r.stop, r.wait = Now(), wait
	r.stopped.Store(true)
}

// Wait returns when the recording is whole: the device has done what was
// launched in the window.
func (r *Recording) Wait() {
	if r.wait != nil {
		r.wait()
	}
}

// Loss counts records that found no room.
type Loss struct{ HostOps, Calls, DeviceWork, Other int64 }

// Total of all kinds.
func (l Loss) Total() int64 { return l.HostOps + l.Calls + l.DeviceWork + l.Other }

// Lost tells what found no room under Options.MaxBytes.
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

// hostOps are the operations in the order they began.
type hostOps struct {
	ops   view[Op]
	order []int32 // places in ops
}

// inOrder sorts the operations. External ids number them in the order they
// began, so each has its place; those that were open when the window closed
// leave theirs empty. It calls pause now and then.
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

// all walks over the operations.
func (h hostOps) all(yield func(int, *Op) bool) {
	for i, at := range h.order {
		if !yield(i, h.ops.at(int(at)-1)) {
			return
		}
	}
}

func (h hostOps) len() int { return len(h.order) }
