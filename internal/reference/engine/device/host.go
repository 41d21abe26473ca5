package device

import (
	"os"
	"runtime"

	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// Host is the launching thread of a device. Its annotations show in a trace the activity of the thread between
// launches.
//
//	h.Annotate("step[DECODE bs=4]")
//	h.Op("aten::embedding", device.Tensor(device.Float32, 32000, 1024))
//	…
//	h.End()
//	h.End()
//
// Calls that begin and end an operation must nest. Without a recording, each of these calls costs one branch.
type Host struct {
	d     *Device
	open  []opFrame
	depth int

	corr     uint32 // the last correlation id assigned
	launchAs uint32 // External id of launches; 0: use the id of the innermost operation
	greeted  uint32 // last window in which the thread's name was written
	thread   record.Thread

	fault   bool // faults are active in the current step
	inStage bool // Faults apply to the current stage
	steps   int

	quiet bool // hide annotations from Marks

	allocated, reserved [2]int64 // host, device
}

// opFrame is an open operation.
type opFrame struct {
	window uint32 // window in which the operation is recorded; 0: none
	ext    uint32
	name   uint32
	args   uint32
	from   uint32
	comm   int32
	stack  int32
	start  int64
	nargs  uint8
	kind   record.Kind
	isComm bool
	marked bool // the annotation was passed to Marks
}

// Bind locks the calling goroutine, which must be the launching one, to its thread and names the thread's row in the
// trace. Release unlocks the goroutine.
func (h *Host) Bind(name string) {
	runtime.LockOSThread()
	h.thread = record.Thread{PID: os.Getpid(), TID: threadID(), Name: name}
	h.greeted = 0
	if m := h.d.opt.Marks; m != nil {
		m.Bind(name)
	}
}

// Release lets the goroutine move between threads again.
func (h *Host) Release() { runtime.UnlockOSThread() }

// Quiet hides subsequent annotations from Marks, for example during warm-up.
func (h *Host) Quiet(quiet bool) { h.quiet = quiet }

// Op begins an operation (cpu_op) with its inputs.
func (h *Host) Op(name string, args ...Arg) {
	if r := h.d.rec.Load(); r != nil {
		h.begin(r, opFrame{kind: record.CPUOp}, name, args)
		return
	}
	h.skip()
}

// Annotate begins a user-named range (user_annotation), for example a step or a layer.
func (h *Host) Annotate(name string) {
	h.AnnotateStep(name, nil)
}

// AnnotateStep begins a user-named range for a forward step. requests returns the ids of the step's requests, separated
// by commas. AnnotateStep calls requests only while recording.
func (h *Host) AnnotateStep(name string, requests func() string) {
	m := h.d.opt.Marks
	if h.quiet {
		m = nil
	}
	if m != nil {
		m.Push(name)
	}
	if r := h.d.rec.Load(); r != nil {
		f := opFrame{kind: record.Annotation}
		if requests != nil && r.Options.CPU {
			f.args = r.Intern(requests())
		}
		h.begin(r, f, name, nil)
	} else {
		h.skip()
	}
	h.open[h.depth-1].marked = m != nil
	if h.d.opt.Faults != nil {
		h.countStep(name)
	}
}

// skip begins an operation that is not recorded.
func (h *Host) skip() {
	if h.depth == len(h.open) {
		h.open = append(h.open, opFrame{})
	}
	h.open[h.depth].window, h.open[h.depth].marked = 0, false
	h.depth++
}

func (h *Host) begin(r *record.Recording, f opFrame, name string, args []Arg) {
	if !r.Options.CPU {
		h.skip()
		return
	}
	if h.greeted != r.ID {
		h.greet(r)
	}
	f.window, f.ext, f.name, f.from = r.ID, r.NextExt(), r.Intern(name), h.corr+1
	f.stack = -1
	if r.Options.Stack {
		f.stack = r.Callers(1)
	}
	if r.Options.Shapes && len(args) > 0 {
		f.args, f.nargs = r.AddArgs(args)
	}
	if h.depth == len(h.open) {
		h.open = append(h.open, opFrame{})
	}
	f.start = record.Now()
	h.open[h.depth] = f
	h.depth++
}

// End ends the innermost open operation or annotation.
func (h *Host) End() {
	h.depth--
	f := &h.open[h.depth]
	if f.marked {
		h.d.opt.Marks.Pop()
	}
	if f.window == 0 {
		return
	}
	r := h.d.rec.Load()
	if r == nil || r.ID != f.window {
		return // the window was closed during the operation
	}
	o := record.Op{
		Start: f.start, End: record.Now(), Ext: f.ext, Name: f.name, Args: f.args, NArgs: f.nargs, Comm: f.comm, Stack: f.stack,
		From: f.from, To: h.corr + 1, Kind: f.kind,
	}
	if f.isComm {
		r.AddCommOp(o)
		return
	}
	r.AddOp(o)
}

func (h *Host) greet(r *record.Recording) {
	h.greeted = r.ID
	if h.thread.PID != 0 {
		r.SetHost(h.thread)
	}
}

// ext returns the External id for the current launch, which is the id of the innermost operation.
func (h *Host) ext(r *record.Recording) uint32 {
	if h.launchAs != 0 {
		return h.launchAs
	}
	if h.depth > 0 {
		if f := &h.open[h.depth-1]; f.window == r.ID {
			return f.ext
		}
	}
	return 0
}

// correlation returns the next correlation id.
func (h *Host) correlation() uint32 {
	h.corr++
	return h.corr
}

// call records a runtime call that ends now. If the call launches work, its correlation id has already been assigned.
func (h *Host) call(r *record.Recording, api record.API, start int64, launches bool) {
	if h.greeted != r.ID {
		h.greet(r)
	}
	if !launches {
		h.correlation()
	}
	stack := int32(-1)
	switch {
	case !r.Options.Stack:
	case h.depth > 0 && h.open[h.depth-1].window == r.ID && h.open[h.depth-1].kind == record.CPUOp:
		stack = h.open[h.depth-1].stack // the launching operation's stack; deeper frames belong to this package
	default:
		stack = r.Callers(1)
	}
	r.AddCall(record.Call{
		Start: start, End: record.Now(), Corr: h.corr, Ext: h.ext(r), Stack: stack, API: api, Launches: launches,
	})
}

// Memory records an allocation (bytes > 0) or a free (bytes < 0) at an address, on the device or the host. Reserved
// memory never shrinks.
func (h *Host) Memory(onDevice bool, addr uint64, bytes int64) {
	side := 0
	if onDevice {
		side = 1
	}
	h.allocated[side] += bytes
	h.reserved[side] = max(h.reserved[side], h.allocated[side])
	if r := h.d.rec.Load(); r != nil && r.Options.Memory {
		r.AddMemory(record.Memory{
			Time: record.Now(), Addr: addr, Bytes: bytes, Allocated: h.allocated[side], Reserved: h.reserved[side],
			Ext: h.ext(r), GPU: onDevice,
		})
	}
}
