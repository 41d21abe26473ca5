package record

// Kind is a kind of host operation.
type Kind uint8

// Kinds of host operations.
const (
	CPUOp      Kind = iota // cpu_op
	Annotation             // user_annotation
	commOp                 // record_param_comms: a cpu_op with the arguments of a collective
)

// Op is one host operation. Ext numbers operations in the order in which they begin.
type Op struct {
	Start, End int64  // ns on the clock Now
	Ext        uint32 // External id
	Name       uint32
	Args       uint32 // index of the first of NArgs tensors; for an Annotation: interned list of its requests
	Comm       int32  // commOp: index of the collective
	Stack      int32  // -1: none
	From, To   uint32 // correlation ids of the calls inside: [From, To)
	NArgs      uint8
	Kind       Kind
}

// API is a recorded runtime call.
type API uint8

// Runtime calls.
const (
	LaunchKernel API = iota
	GraphLaunch
	MemcpyAsync
	MemsetAsync
	StreamSynchronize
	EventSynchronize
	DeviceSynchronize
	EventRecord
	StreamWaitEvent
	numAPIs
)

// apis holds, for each call, CUPTI's name and callback id (cbid).
var apis = [numAPIs]struct {
	name string
	cbid int64
}{
	{"cudaLaunchKernel", 211}, {"cudaGraphLaunch", 311}, {"cudaMemcpyAsync", 41}, {"cudaMemsetAsync", 51},
	{"cudaStreamSynchronize", 131}, {"cudaEventSynchronize", 137}, {"cudaDeviceSynchronize", 165},
	{"cudaEventRecord", 135}, {"cudaStreamWaitEvent", 147},
}

// Call is one runtime call.
type Call struct {
	Start, End int64
	Corr, Ext  uint32
	Stack      int32
	API        API
	Launches   bool // the call starts work on the device
}

// WorkKind is a kind of device work.
type WorkKind uint8

// Kinds of device work.
const (
	KernelWork WorkKind = iota
	Memcpy
	Memset
	// Moved is a copy from or to another host. No runtime call launched it.
	Moved
	// NoCore is an interval in which the device had work but no core of the machine was running that work. A software
	// device shares the machine's cores with other programs.
	NoCore
)

// Work is one operation of the device.
type Work struct {
	Start, End int64
	Corr, Ext  uint32
	Name       uint32
	Comm       int32 // index in Comms of the directly launched collective; -1: none
	// In and Out are the numbers of elements of a collective if these numbers are known only at run time; otherwise
	// both are -1. For a Memcpy, In is the number of bytes. For Moved, the lower half of Out is the interned list of
	// request ids, and the upper half is the interned room.
	In, Out     int64
	Grid, Block [3]int32
	Kind        WorkKind
}

// Comm describes the arguments of a collective.
type Comm struct {
	Name    uint32 // Kineto's "Collective name"
	Group   uint32 // index into the recording's groups
	In, Out int64  // elements per rank
	Seq     int64  // number of the operation in its group
	Peer    int32  // job rank of the root or of the peer; -1: none
	DType   DType
	ToPeer  bool // a send
}

// Memory is one allocation (Bytes > 0) or free (Bytes < 0), with the totals after the allocation or free.
type Memory struct {
	Time                int64
	Addr                uint64
	Bytes               int64
	Allocated, Reserved int64
	Ext                 uint32
	GPU                 bool
}

// DType is an element type.
type DType uint8

// Element types.
const (
	Float32 DType = iota
	BFloat16
	Int32
	numDTypes
)

// dtypes are PyTorch's names of the element types in record_param_comms and in "Input type".
var dtypes = [numDTypes]struct{ comm, input string }{
	{"Float", "float"}, {"BFloat16", "c10::BFloat16"}, {"Int", "int"},
}

// Arg is an input of an operation: a tensor of up to four dimensions.
type Arg struct {
	Dims  [4]int32
	DType DType
	NDims uint8
}

// Tensor describes an input by its shape.
func Tensor(t DType, dims ...int) Arg {
	a := Arg{DType: t, NDims: uint8(min(len(dims), 4))}
	for i, d := range dims[:a.NDims] {
		a.Dims[i] = int32(d)
	}
	return a
}

// Group is a process group, with the name and description that distributedInfo and collectives give.
type Group struct {
	Name, Desc string
	Ranks      []int
}
