// Package device is a software GPU. Streams run kernels in order, asynchronously to the host thread that launches them.
// A sequence of launches can be captured as a graph and replayed as one. Ranks meet in collectives. The activity of a
// device can be recorded during a window and written as a Kineto trace (package record).
//
// A Device is one rank. One goroutine launches the work of a Device: only that goroutine may call the methods of the
// Device's Host, Streams and Graphs, unless their documentation says otherwise. Each stream has an executor, a
// goroutine that runs its kernels. Helper goroutines share the chunks of kernels that are divided into chunks.
//
// An error in device work (a panicking kernel, a collective whose peer is lost) is final, as in CUDA: later work is
// skipped, every wait ends, and the error is returned by Err and by the synchronising calls.
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

// Types of the packages comm and record that users of a device need.
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

// Element types of recorded inputs.
const (
	Float32  = record.Float32
	BFloat16 = record.BFloat16
	Int32    = record.Int32
)

// Tensor describes an input of an operation and its shape, for recording.
func Tensor(t DType, dims ...int) Arg { return record.Tensor(t, dims...) }

// Bytes returns the memory of a slice of numbers as bytes, for copies and fills.
func Bytes[T comm.Number](s []T) []byte { return comm.Bytes(s) }

// Floats reverses Bytes for float32.
func Floats(b []byte) []float32 { return comm.Floats(b) }

// NewGroup creates a communicator group of the given ranks. It returns one Comm per rank, in the order of ranks, or nil
// for ranks of other processes.
func NewGroup(name, desc string, ranks []int, opt GroupOptions) []Comm {
	opt.Now = record.Now
	return comm.NewGroup(name, desc, ranks, opt)
}

// Now returns the wall clock of traces, in ns since 1970. It starts at Epoch and is monotonic.
func Now() int64 { return record.Epoch() + record.Now() }

// Epoch returns the wall-clock time, in ns since 1970, at which the process started its monotonic clock.
func Epoch() int64 { return record.Epoch() }

// ErrClosed means that the device was closed.
var ErrClosed = errors.New("device closed")

// Options configure a device. The zero value works.
type Options struct {
	Index   int    // number of the device on its host
	Name    string // "": "stepscope CPU device"
	Memory  int64  // bytes, for the trace
	Workers int    // goroutines that share the chunks of a kernel, including the executor; 0 means 1
	Queue   int    // launches that may wait in a stream before the host blocks; 0 means 1024, as in CUDA
	// Spin is how long executors and waiting hosts spin before they sleep; 0: park.DefaultSpin; negative: not at all.
	Spin   time.Duration
	Faults *Faults // for tests of trace analysis; nil: none
	Marks  Marker  // also receives the Host's annotations; nil: none
}

// Marker passes the annotations of a Host to another tool. Its methods are called on the launching thread, and ranges
// nest.
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
	rec    atomic.Pointer[record.Recording] // nil: not recording
	paused *record.Recording                // recording of an open window; guarded by mu
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

// firstCorrelation is the first correlation id. HTA 0.5 with pandas 3 cannot read a file in which all correlation ids
// are smaller than the number of events. Therefore firstCorrelation exceeds the number of runtime calls that a real
// start-up makes.
const firstCorrelation = 100_000

// New creates a device with its default stream. The caller must close it.
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

// Host returns the launching thread.
func (d *Device) Host() *Host { return &d.host }

// Info describes the device for a trace.
func (d *Device) Info() record.DeviceInfo {
	return record.DeviceInfo{Index: d.opt.Index, Name: d.opt.Name, Memory: d.opt.Memory, SMs: d.opt.Workers}
}

// Stream returns the default stream.
func (d *Device) Stream() *Stream { return d.streams[0] }

// Err returns the error that stopped the device, or nil. Any goroutine may call it.
func (d *Device) Err() error {
	if !d.failed.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// fail stops the device and keeps the first error. It aborts the device's groups, so that peers do not wait for this
// device.
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

// groupUse is a communicator group that this device has used.
type groupUse struct {
	c   Comm
	seq int64 // operations so far; owned by the host
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

// recorder returns the recording of device work and runtime calls, or nil.
func (d *Device) recorder() *record.Recording {
	if r := d.rec.Load(); r != nil && r.Options.GPU {
		return r
	}
	return nil
}

// StartRecording opens a window. Earlier launches are not part of the window. Any goroutine may call it.
func (d *Device) StartRecording(opt RecordOptions) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if d.rec.Load() != nil || d.paused != nil {
		return errors.New("a recording is in progress: stop it first")
	}
	d.windows++
	d.rec.Store(record.New(d.windows, opt))
	return nil
}

// StopRecording closes the window and returns the recording, or nil if no window was open. StopRecording does not wait.
// Work that was launched in the window and is still running is also recorded, and Recording.WriteKineto waits for that
// work. Any goroutine may call StopRecording. If the launching goroutine calls it, the window ends exactly between two
// launches.
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

// PauseRecording excludes subsequent launches from an open window if pause is true. If pause is false, launches are
// included again. Any goroutine may call it.
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

// Close stops the device and waits for its goroutines. Close drops work that has not begun. A caller that needs this
// work done must synchronise before it calls Close. Close also leaves the groups that this device used. Any goroutine
// may call it.
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
