package record

import (
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// hostRow writes the events of the launching thread.
type hostRow struct {
	k     *kineto
	row   string
	args  view[Arg]
	comms view[Comm]
}

func (h *hostRow) op(o *Op, idx int) {
	k := h.k
	cat := "cpu_op"
	if o.Kind == Annotation {
		cat = "user_annotation"
	}
	k.span(cat, k.name(o.Name), h.row, o.Start, o.End)
	k.str(openArgs).str("\"External id\": ").int(int64(o.Ext)).str(",\"Record function id\": 0, ")
	if o.Kind == commOp && int(o.Comm) < h.comms.n && o.Comm >= 0 {
		c := h.comms.at(int(o.Comm))
		k.comm(c, c.In, c.Out)
		k.str(", \"Rank\": ").int(int64(k.meta.Rank)).str(", ")
	}
	if o.Kind == Annotation && o.Args != 0 {
		k.str("\"rids\": \"").str(k.name(o.Args)).str("\", ")
	}
	if n := int(o.NArgs); n > 0 && int(o.Args)+n <= h.args.n {
		h.inputs(int(o.Args), n)
	}
	k.str("\"Ev Idx\": ").int(int64(idx)).str(closeArgs)
}

// inputs writes, for n inputs, the four lists that PyTorch's option record_shapes adds. All tensors are contiguous.
func (h *hostRow) inputs(first, n int) {
	k := h.k
	list := func(key string, f func(a *Arg)) {
		k.str("\"").str(key).str("\": [")
		for i := range n {
			if i > 0 {
				k.str(", ")
			}
			f(h.args.at(first + i))
		}
		k.str("], ")
	}
	list("Concrete Inputs", func(*Arg) { k.str("\"\"") })
	list("Input type", func(a *Arg) {
		k.str("\"").str(dtypes[a.DType%numDTypes].input).str("\"")
	})
	list("Input Strides", func(a *Arg) {
		var strides [4]int64
		for i, s := int(a.NDims)-1, int64(1); i >= 0; i-- {
			strides[i] = s
			s *= int64(a.Dims[i])
		}
		k.ints(strides[:a.NDims])
	})
	list("Input Dims", func(a *Arg) {
		var dims [4]int64
		for i, d := range a.Dims[:a.NDims] {
			dims[i] = int64(d)
		}
		k.ints(dims[:a.NDims])
	})
}

func (t *text) ints(v []int64) *text {
	t.str("[")
	for i, x := range v {
		if i > 0 {
			t.str(", ")
		}
		t.int(x)
	}
	return t.str("]")
}

// comm writes the arguments of a collective in the order in which Kineto writes them on kernels.
func (k *kineto) comm(c *Comm, in, out int64) {
	var g Group
	if int(c.Group) < len(k.groups) {
		g = k.groups[c.Group]
	}
	k.str("\"Collective name\": \"").str(k.name(c.Name)).str("\", \"In msg nelems\": ").int(in).str(", \"Out msg nelems\": ").int(out)
	k.str(", \"Group size\": ").int(int64(len(g.Ranks))).str(", \"dtype\": \"").str(dtypes[c.DType%numDTypes].comm)
	k.str("\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": \"").str(chromejson.Escape(g.Name))
	k.str("\", \"Process Group Description\": \"").str(chromejson.Escape(g.Desc)).str("\", \"Process Group Ranks\": \"[")
	for i, r := range g.Ranks {
		if i > 0 {
			k.str(", ")
		}
		k.int(int64(r))
	}
	k.str("]\", \"Seq\": ").int(c.Seq)
	if c.Peer >= 0 {
		key := ", \"Src Rank\": "
		if c.ToPeer {
			key = ", \"Dst Rank\": "
		}
		k.str(key).int(int64(c.Peer))
	}
}

func (h *hostRow) memory(m *Memory, idx int, pid, tid string) {
	k := h.k
	k.next()
	k.str("{\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": ").str(pid).str(", \"tid\": ").str(tid)
	k.str(",\n    \"ts\": ").micros(m.Time + k.shift).str(openArgs)
	k.str("\"Total Reserved\": ").int(m.Reserved).str(", \"Total Allocated\": ").int(m.Allocated).str(", \"Bytes\": ").int(m.Bytes)
	id, kind := "-1", "0"
	if m.GPU {
		id, kind = k.device, "1"
	}
	k.str(", \"Device Id\": ").str(id).str(", \"Device Type\": ").str(kind).str(", \"Addr\": ").int(int64(m.Addr &^ (1 << 63)))
	k.str(", \"Ev Idx\": ").int(int64(idx)).str(closeArgs)
}

// frames writes the stack frames of operations and calls in the form of Python frames, because existing tools display
// that form.
func (h *hostRow) frames(ops hostOps, idx int) {
	k := h.k
	frames, names := k.r.stacks.resolve(k.pause)
	for i, s := range flame(samples(ops, k.r.calls.view()), frames, k.pause) {
		k.span("python_function", names[s.frame], h.row, s.start, s.end)
		k.str(openArgs).str("\"Python parent id\": ")
		if s.parent > 0 {
			k.int(int64(s.parent))
		} else {
			k.str("null")
		}
		k.str(", \"Python id\": ").int(int64(i + 1)).str(", \"Ev Idx\": ").int(int64(idx)).str(closeArgs)
		idx++
	}
}

func (h *hostRow) call(c *Call) {
	k := h.k
	api := apis[c.API%numAPIs]
	k.span("cuda_runtime", api.name, h.row, c.Start, c.End)
	k.str(openArgs)
	k.external(c.Ext)
	k.str("\"cbid\": ").int(api.cbid).str(", \"correlation\": ").int(int64(c.Corr)).str(closeArgs)
	if c.Launches {
		k.flow("s", c.Corr, h.row, c.Start, "")
	}
}

// external writes the id of the operation that an event belongs to. Without such an operation, external writes blanks,
// as Kineto does.
func (k *kineto) external(ext uint32) {
	if ext != 0 {
		k.str("\"External id\": ").int(int64(ext)).str(",")
	}
	k.str("      ")
}

// deviceRow writes the events of one stream.
type deviceRow struct {
	k      *kineto
	comms  view[Comm]
	id     string
	row    string
	shared string // members common to all work on the stream
}

func (d *deviceRow) stream(id int) {
	d.id = strconv.Itoa(id)
	d.row = "\", \"pid\": " + d.k.device + ", \"tid\": " + d.id
	d.shared = "\"device\": " + d.k.device + ", \"context\": 1,      \"stream\": " + d.id + ", \"correlation\": "
}

func (d *deviceRow) work(w *Work) {
	k := d.k
	if w.Kind == NoCore {
		k.span("overhead", "Waiting for a core", d.row, w.Start, w.End)
		k.str(openArgs).str("\"correlation\": ").int(int64(w.Corr)).str(closeArgs)
		return
	}
	cat := [...]string{"kernel", "gpu_memcpy", "gpu_memset", "gpu_memcpy"}[min(w.Kind, Moved)]
	k.span(cat, k.name(w.Name), d.row, w.Start, w.End)
	k.str(openArgs)
	k.external(w.Ext)
	if w.Kind != KernelWork {
		k.str(d.shared).int(int64(w.Corr)).str(",      \"bytes\": ").int(w.In)
		if ns := w.End - w.Start; ns > 0 {
			k.str(", \"memory bandwidth (GB/s)\": ").fixed(float64(w.In) / float64(ns))
		}
		if w.Kind == Moved && w.Out != 0 {
			k.str(", \"rids\": \"").str(k.name(uint32(w.Out))).str("\", \"room\": ").str(k.name(uint32(w.Out >> 32)))
		}
		k.str(closeArgs)
	} else {
		d.kernel(w)
	}
	if w.Kind == Moved {
		return // no runtime call launched this work
	}
	k.flow("f", w.Corr, d.row, w.Start, ", \"bp\": \"e\"")
}

// kernel writes the properties of a kernel. Registers and shared memory are written as 0, because a software device has
// none. Blocks and warps are divided among the workers of the device.
func (d *deviceRow) kernel(w *Work) {
	k := d.k
	blocks := float64(w.Grid[0]) * float64(w.Grid[1]) * float64(w.Grid[2]) / float64(max(k.meta.Device.SMs, 1))
	warps := blocks * float64(w.Block[0]) * float64(w.Block[1]) * float64(w.Block[2]) / 32
	k.str("\"queued\": 0, ").str(d.shared).int(int64(w.Corr))
	k.str(",      \"registers per thread\": 0,      \"shared memory\": 0,      \"blocks per SM\": ").fixed(blocks)
	k.str(",      \"warps per SM\": ").fixed(warps).str(",      \"grid\": ").triple(w.Grid).str(",      \"block\": ").triple(w.Block)
	k.str(",      \"est. achieved occupancy %\": 0")
	if w.Comm >= 0 && int(w.Comm) < d.comms.n {
		c := d.comms.at(int(w.Comm))
		in, out := c.In, c.Out
		if w.In >= 0 {
			in, out = w.In, w.Out
		}
		k.str(", ")
		k.comm(c, in, out)
	}
	k.str(closeArgs)
}

func (t *text) triple(v [3]int32) *text {
	return t.ints([]int64{int64(v[0]), int64(v[1]), int64(v[2])})
}
