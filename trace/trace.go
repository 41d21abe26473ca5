// Package trace represents the timeline of one server process: the timed work of its CPU threads and GPU streams, and
// the link from each launch to the GPU work that it started.
//
// Spans are pointer-free structs in one flat slice, names are in one string table, and all times are int64 nanoseconds
// since the Unix epoch on the clock of the recording host. The readers (package read) convert units and clocks; this
// package does not depend on any file format.
package trace

// Trace is the recording of one rank.
type Trace struct {
	Source  Source
	Strings Strings
	Tracks  []Track
	Spans   []Span // sorted by track, start and descending duration, so that a parent precedes its children
	Ops     []Op   // GPU work, indexed by the Detail of spans for which Cat.OnGPU() is true
	Comms   []Comm // arguments of collectives, indexed by Op.Comm
	Moves   []Move // requests of KV cache copies; Op.Move refers to them
	Shapes  []Shape
	Memory  []MemoryPoint // in the order recorded
	Notes   []Note
	// Stretches are the recorded periods, in order, if there are several. A window split by stage has one stretch of
	// prefill and one of decode. Nothing is known about the time between stretches. nil: the trace is one continuous
	// period.
	Stretches []Stretch
}

// Stretch is a period during which one rank was recorded without interruption.
type Stretch struct {
	Path       string
	Start, End int64 // ns since the epoch; all events of the stretch are inside
	Complete   bool  // whether the file of this stretch is complete
}

// Source describes the origin of a trace, so that every figure can be traced back to its origin.
type Source struct {
	Path      string
	Host      string // host_name of the file; "" if absent
	TraceID   string
	Rank      Rank
	Stage     string
	Device    string // name of the GPU that did the work, from deviceProperties
	HasGPU    bool   // whether the file lists a GPU, even if the GPU did no work
	Visible   int    // number of GPUs that the file lists; 0: unknown
	UUID      string // UUID of the GPU that did the work; "": unknown
	PCI       string // PCI bus id of that GPU; "": unknown
	World     World
	BaseNS    int64 // time 0 of the file's timestamps, in ns since the epoch; 0: unknown
	WithStack bool
	Complete  bool // whether the file is complete; if it is truncated, Notes give the position
	Bytes     int64
	Events    int64
}

// StringID indexes Trace.Strings. 0 is the empty string.
type StringID uint32

// TrackID indexes Trace.Tracks.
type TrackID uint32

// Track is one row of the timeline: a CPU thread or a GPU stream.
type Track struct {
	PID, TID string // as in the file, without quotes
	Name     string // name of the thread, if the file gives one
	GPU      bool
	Device   int32 // device index of a GPU stream; -1: CPU thread
	Stream   int64 // id of a GPU stream
}

// Category is the kind of work of a span. The zero value is Other.
type Category uint8

// Categories of the Kineto format (ActivityType names), and Other for categories that no analysis uses.
const (
	Other Category = iota
	CPUOp
	UserAnnotation
	GPUAnnotation // a CPU annotation mirrored on a GPU track; it is not work
	PythonFunction
	Runtime // CUDA or HIP runtime API call
	Driver  // CUDA driver API call
	Kernel
	Memcpy
	Memset
	Sync
	Overhead // other time taken by the profiler or the driver; the name gives the reason
	Window   // the "Trace" span: the recorded period
	NoCore   // a software device had work to do but no host core to run on
	numCategories
)

var categoryNames = [numCategories]string{
	"other", "cpu_op", "user_annotation", "gpu_user_annotation", "python_function", "cuda_runtime",
	"cuda_driver", "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "overhead", "Trace", "no_core",
}

// NoCoreName is the span name by which readers of a file distinguish NoCore from other overhead.
const NoCoreName = "Waiting for a core"

// String returns the category's name in a Kineto file.
func (c Category) String() string {
	if c < numCategories {
		return categoryNames[c]
	}
	return "invalid"
}

// OnGPU reports whether c is a category of GPU work: kernels, copies or memsets.
func (c Category) OnGPU() bool { return c == Kernel || c == Memcpy || c == Memset }

// Launch reports whether c is a category of API calls that may start GPU work.
func (c Category) Launch() bool { return c == Runtime || c == Driver }

// Span is one interval on one track.
type Span struct {
	Start int64 // ns since the epoch
	Dur   int64 // ns, never negative
	Corr  int64 // correlation id, which a launch and the GPU work it started have in common; 0: none
	Ext   int64 // External id, which identifies the innermost open CPU op; 0: none
	Name  StringID
	Track TrackID
	// Detail is an index in Ops for GPU work, and an index in Shapes for CPU ops with recorded shapes. For user
	// annotations it is the StringID of the step's requests (see Pass.Requests). -1: no details.
	Detail int32
	Cat    Category
}

// End returns the first instant after the span.
func (s *Span) End() int64 { return s.Start + s.Dur }

// Op holds the details of one kernel, copy or memset.
type Op struct {
	Grid, Block [3]int32
	Bytes       int64 // size of a copy or memset
	Comm        int32 // index in Comms; -1: not a collective, or its arguments were not recorded
	Move        int32 // index in Moves, plus 1; 0: unknown, or not a copy between servers
}

// Move identifies the request whose KV cache a copy moved from a prefill to a decode server.
type Move struct {
	Requests StringID // request ids in the form of Pass.Requests, assigned by the server that wrote the trace
	Room     int64    // id by which both servers know the request; 0: unknown
}

// Comm holds the arguments of a collective as Kineto records them.
type Comm struct {
	Name, DType, Group, Ranks StringID
	GroupSize                 int32
	In, Out                   int64 // number of elements per rank
	Seq                       int64 // -1 when not recorded
}

// Shape holds the recorded inputs of a CPU op, as JSON text.
type Shape struct {
	Dims, Types StringID
}

// MemoryPoint is one allocation or free, with the device's totals after it.
type MemoryPoint struct {
	Time                int64 // ns since the epoch
	Bytes               int64 // size of the allocation; negative for a free
	Allocated, Reserved int64 // totals of the device after the allocation or free
	GPU                 bool
	Device              int32
}
