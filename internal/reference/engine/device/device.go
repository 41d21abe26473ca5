// Package device is a software GPU. Streams run kernels in order and
// asynchronously to the host that launches them; a
// sequence of launches can be captured as a graph and replayed as one; ranks
// meet in collectives. What a window of all that took can be recorded and
// written as a Kineto trace (package record).
//
// A Device is one rank. One goroutine launches: the methods of its Host, its
// Streams and its Graphs are for that goroutine alone, unless they say
// otherwise. Kernels run on executors, one goroutine a stream, with helpers
// for kernels that come in chunks.
//
// An error in device work (a panicking kernel, a collective whose peer is
// lost) is final, as it is in CUDA: later work is skipped, every wait ends, and
// Err and the synchronising calls return it.
package device

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
	"github.com/stepscope/stepscope/internal/reference/engine/device/park"
	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// What users of a device need of the packages below it.
type (
	Comm          = *comm.Comm
	GroupOptions  = comm.Options
	Far           = comm.Far
	Line          = comm.Line
	Recording     = record.Recording
	RecordOptions = record.Options
	Meta          = record.Meta
	Place         = record.Place
	DeviceInfo    = record.DeviceInfo
	Arg           = record.Arg
	DType         = record.DType
)

// The element types of recorded inputs.
const (
	Float32  = record.Float32
	BFloat16 = record.BFloat16
	Int32    = record.Int32
)

// Tensor is an input of an operation with its shape, for recording.
func Tensor(t DType, dims ...int) Arg { return record.Tensor(t, dims...) }

// Bytes gives the memory of a slice of numbers as bytes, for copies and fills.
func Bytes[T comm.Number](s []T) []byte { return comm.Bytes(s) }

// Floats is the reverse of Bytes for float32.
func Floats(b []byte) []float32 { return comm.Floats(b) }

// NewGroup joins ranks, whose goroutines meet in its operations: one end for
// each, in the order of ranks; nil for those of other processes.
func NewGroup(name, desc string, ranks []int, opt GroupOptions) []Comm {
	opt.Now = record.Now
	return comm.NewGroup(name, desc, ranks, opt)
}

// Now is the wall clock of traces, ns since 1970: it was Epoch when the process
// began to count, and runs evenly.
func Now() int64 { return record.Epoch() + record.Now() }

// Epoch is what Now was when the process began to count.
func Epoch() int64 { return record.Epoch() }

// ErrClosed means that the device was closed.
var ErrClosed = errors.New("device closed")

// Options describe a device. The zero value works.
type Options struct {
	Index   int    // among the devices of its host
	Name    string // "": "stepscope CPU device"
	Memory  int64  // bytes, for the trace
	Workers int    // goroutines that share the chunks of a kernel, the executor included; 0: 1
	Queue   int    // launches that may wait in a stream, then the host blocks; 0: 1024, as CUDA has
	// Spin is how long executors and waiting hosts spin before they sleep; 0:
	// park.DefaultSpin; negative: not at all.
	Spin   time.Duration
	Faults *Faults // for tests of what explains traces; nil: none
	Marks  Marker  // also told of what the Host annotates; nil: nobody
}

// Marker shows another tool the annotations of a Host. It is called on the thread that launches, and ranges nest.
type Marker interface {
	Bind(thread string) // names the thread
	Push(text string)
	Pop()
}

// Device is one rank's device.
type Device struct {
	opt    Options
	host   Host
	pool   pool
	rec    atomic.Pointer[record.Recording] // nil: nothing is recorded
	paused *record.Recording                // of an open window; guarded by mu
	failed atomic.Bool                      // err is set
	wg     sync.WaitGroup                   // executors

	mu      sync.Mutex
	streams []*Stream
	lanes   []*lane
	groups  []*groupUse
	err     error
	closed  bool
	windows uint32
}

// firstCorrelation lies above what the calls of a start-up would have taken.
// HTA 0.5 with pandas 3 cannot read files whose correlations are all smaller
// than their number of events.
const firstCorrelation = 100_000

// New makes a device with its default stream. Close it.
func New(opt Options) *Device {
	opt.Name = cmp.Or(opt.Name, "stepscope CPU device")
	if opt.Workers <= 0 {
		opt.Workers = 1
	}
	if opt.Queue <= 0 {
		opt.Queue = 1024
	}
	opt.Spin = cmp.Or(opt.Spin, park.DefaultSpin)
	d := &Device{opt: opt}
	d.host = Host{d: d, corr: firstCorrelation}
	d.pool.start(opt.Workers-1, opt.Spin)
	d.NewStream()
	return d
}

// Host is the thread that launches.
func (d *Device) Host() *Host { return &d.host }

// Info describes the device for a trace.
func (d *Device) Info() record.DeviceInfo {
	return record.DeviceInfo{Index: d.opt.Index, Name: d.opt.Name, Memory: d.opt.Memory, SMs: d.opt.Workers}
}

// Stream is the default stream.
func (d *Device) Stream() *Stream { return d.streams[0] }

// Err is the error that stopped the device, or nil. Any goroutine may call it.
func (d *Device) Err() error {
	if !d.failed.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// fail stops the device; the first error stays. Peers must not wait for it.
func (d *Device) fail(err error) {
	d.mu.Lock()
	if d.err == nil {
		d.err = err
		d.failed.Store(true)
	}
	groups := d.groups
	d.mu.Unlock()
	for _, g := range groups {
		g.c.Abort(fmt.Errorf("device of rank %d: %w", g.c.Group().Ranks[g.c.Rank()], err))
	}
}

// groupUse is a group that work of this device waits in.
type groupUse struct {
	c   Comm
	seq int64 // operations so far; the host's
}

// uses counts the operations of a group.
func (d *Device) uses(c Comm) *groupUse {
	for _, g := range d.groups { // only this goroutine changes the list
		if g.c == c {
			g.seq++
			return g
		}
	}
	g := &groupUse{c: c, seq: 1}
	d.mu.Lock()
	d.groups = append(d.groups, g)
	d.mu.Unlock()
	return g
}

// recorder is the recording that takes device work and runtime calls, or nil.
func (d *Device) recorder() *record.Recording {
	if r := d.rec.Load(); r != nil && r.Options.GPU {
		return r
	}
	return nil
}

// StartRecording opens a window. What was launched before is not part of it.
// Any goroutine may call it.
func (d *Device) StartRecording(opt RecordOptions) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if d.rec.Load() != nil || d.paused != nil {
		return errors.New("a recording is under way: stop it first")
	}
	d.windows++
	d.rec.Store(record.New(d.windows, opt))
	return nil
}

// StopRecording closes the window and gives what was recorded; nil: nothing
// was. It does not wait: what was launched in the window and is not done yet
// is still recorded, and Recording.WriteKineto waits for it. Any goroutine may
// call it; called by the launching one, it cuts between two launches.
func (d *Device) StopRecording() *Recording {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.rec.Swap(nil)
	if r == nil {
		r, d.paused = d.paused, nil
	}
	if r == nil {
		return nil
	}
	type mark struct {
		s    *Stream
		tail uint64
	}
	var marks []mark
	for _, s := range d.streams {
		marks = append(marks, mark{s, s.tail.Load()})
	}
	lanes := d.lanes
	r.Stop(func() {
		for _, m := range marks {
			m.s.wait(m.tail)
		}
		for _, l := range lanes {
			l.wait(r)
		}
	})
	return r
}

// PauseRecording leaves what is launched from now on out of the window, if one is
// open, until it is called with false. Any goroutine may call it.
func (d *Device) PauseRecording(pause bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case pause && d.paused == nil:
		d.paused = d.rec.Swap(nil)
	case !pause && d.paused != nil:
		d.rec.Store(d.paused)
		d.paused = nil
	}
}

// Close stops the device and waits for its goroutines. Work that has not
// begun is dropped; synchronise before to have it done. The groups that work
// of this device used are left. Any goroutine may call it.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	idle := d.err == nil
	for _, s := range d.streams {
		idle = idle && s.head.Load() == s.tail.Load()
	}
	if d.err == nil {
		d.err = ErrClosed
		d.failed.Store(true)
	}
	groups, streams := d.groups, d.streams
	d.mu.Unlock()
	for _, g := range groups {
		if !idle {
			g.c.Abort(ErrClosed)
		}
		g.c.Close()
	}
	for _, s := range streams {
		s.closed.Store(true)
		s.work.Wake()
	}
	d.wg.Wait()
	d.pool.stop()
	return nil
}
