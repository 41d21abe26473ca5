// Package trace is the timeline of one process of a server: what its CPU
// threads and its GPU streams did, when, and what launched what.
//
// A Trace is a table. Spans are pointer-free structs in one flat slice, names
// live in one string table, and all times are int64 nanoseconds since the Unix
// epoch on the clock of the host that recorded them. Units and clocks are
// converted by the readers (package read); nothing here knows a file format.
package trace

// Trace is one rank's recording.
type Trace struct {
	Source  Source
	Strings Strings
	Tracks  []Track
	Spans   []Span // sorted by track, start, longest first: a parent precedes its children
	Ops     []Op   // GPU work; Span.Detail of a span with Cat.OnGPU() indexes it
	Comms   []Comm // what collectives carried; indexed by Op.Comm
	Moves   []Move // what copies of keys and values carried; see Op.Move
	Shapes  []Shape
	Memory  []MemoryPoint // in the order recorded
	Notes   []Note
	// Stretches are the times that were recorded, in order, where there are several:
	// a window by stage has one of prefill and one of decode. Nothing is known of the
	// time between them. nil: one, of all.
	Stretches []Stretch
}

// Stretch is a time of one rank that was recorded in one go.
type Stretch struct {
	Path       string
	Start, End int64 // ns since the epoch; every event of the stretch is in it
	Complete   bool  // false: its file ends early
}

// Source says where a trace comes from: every figure leads back to it.
type Source struct {
	Path      string
	Host      string // host_name of the file; "" when it does not say
	TraceID   string
	Rank      Rank
	Stage     string
	Device    string // name of the GPU that has work, from deviceProperties
	HasGPU    bool   // the file lists one, with work or without
	World     World
	BaseNS    int64 // what the file's timestamps count from, ns since the epoch; 0: the file does not say
	WithStack bool
	Complete  bool // false: the file ends early; Notes say where
	Bytes     int64
	Events    int64
}

// StringID indexes Trace.Strings. 0 is the empty string.
type StringID uint32

// TrackID indexes Trace.Tracks.
type TrackID uint32

// Track is one row: a CPU thread or a GPU stream.
type Track struct {
	PID, TID string // as in the file, without quotes
	Name     string // thread name, when the file has one
	GPU      bool
	Device   int32 // GPU rows: device index, -1 else
	Stream   int64 // GPU rows: stream id
}

// Category says what kind of work a span is. The zero value is Other.
type Category uint8

// The categories of the Kineto format (ActivityType names), plus Other for
// those that no analysis looks at.
const (
	Other Category = iota
	CPUOp
	UserAnnotation
	GPUAnnotation // a CPU annotation's shadow on a GPU row: not work
	PythonFunction
	Runtime // CUDA or HIP runtime API call
	Driver  // CUDA driver API call
	Kernel
	Memcpy
	Memset
	Sync
	Overhead // what the profiler or the driver took beside the calls: its name says which
	Window   // the "Trace" span: what the profiler recorded
	NoCore   // a software device could have gone on, but no core of its host ran it
	numCategories
)

var categoryNames = [numCategories]string{
	"other", "cpu_op", "user_annotation", "gpu_user_annotation", "python_function", "cuda_runtime",
	"cuda_driver", "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "overhead", "Trace", "no_core",
}

// NoCoreName is the name by which a file tells NoCore from other overhead.
const NoCoreName = "Waiting for a core"

// String is the category's name in a Kineto file.
func (c Category) String() string {
	if c < numCategories {
		return categoryNames[c]
	}
	return "invalid"
}

// OnGPU tells work that a device did: kernels, copies and memsets.
func (c Category) OnGPU() bool { return c == Kernel || c == Memcpy || c == Memset }

// Launch tells the API calls that may start GPU work.
func (c Category) Launch() bool { return c == Runtime || c == Driver }

// Span is one interval on one track.
type Span struct {
	Start int64 // ns since the epoch
	Dur   int64 // ns, never negative
	Corr  int64 // correlation of a launch and the GPU work it started; 0: none
	Ext   int64 // External id: the innermost op that was open; 0: none
	Name  StringID
	Track TrackID
	// Detail indexes Ops (GPU work) or Shapes (CPU ops with recorded shapes), or
	// is the StringID of the requests in a step (user annotations, see
	// Pass.Requests); -1: nothing more is known.
	Detail int32
	Cat    Category
}

// End is the first instant after the span.
func (s *Span) End() int64 { return s.Start + s.Dur }

// Op is what a file says of one kernel, copy or memset.
type Op struct {
	Grid, Block [3]int32
	Bytes       int64 // copies and memsets
	Comm        int32 // indexes Comms; -1: not a collective, or no arguments recorded
	Move        int32 // Moves[Move-1]; 0: not said, or no copy from one server to another
}

// Move says whose keys and values a copy took from a prefill to a decode server.
type Move struct {
	Requests StringID // ids as in Pass.Requests, those of the server that wrote the trace
	Room     int64    // by which both servers know the request; 0: not said
}

// Comm holds the arguments of a collective as Kineto records them.
type Comm struct {
	Name, DType, Group, Ranks StringID
	GroupSize                 int32
	In, Out                   int64 // elements per rank
	Seq                       int64 // -1 when not recorded
}

// Shape holds the recorded inputs of a CPU op, as JSON text.
type Shape struct {
	Dims, Types StringID
}

// MemoryPoint is one allocation or free, with the totals after it.
type MemoryPoint struct {
	Time                int64 // ns since the epoch
	Bytes               int64 // negative: a free
	Allocated, Reserved int64 // totals of the device after it
	GPU                 bool
	Device              int32
}
