package record

import (
	"cmp"
	"encoding/hex"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// Meta describes the traced process.
type Meta struct {
	Rank, World int    // rank and number of ranks of the job, for distributedInfo
	Host        string // host_name; "": not written
	// Coordinates in the parallel layout and the sizes of the dimensions. If all sizes are 0, no coordinates are
	// written.
	TP, DP, PP, EP Place
	// Groups are written to pg_config; nil means the groups of the recorded collectives.
	Groups  []Group
	Backend string // backend in distributedInfo; "" means "stepscope"
	TraceID string // 32 hex digits; "": random
	Name    string // traceName: the name of the file
	Process string // name in process_name; "" means "stepscope"
	Device  DeviceInfo
	// EpochNS is the wall clock, ns since 1970, when Now was 0; 0: this process's own epoch. If all processes of a host
	// use the same value, their traces share one time line.
	EpochNS int64
	Extra   map[string]any // further top-level members
	Clock   any            // state of the host's clock, "clock" in distributedInfo; nil: unknown
	// Rest is called by the writer after each short piece of writing. Its argument is the time that the piece took, a
	// fraction of a millisecond. A process that also serves requests can sleep in Rest. If Rest is nil, the writer only
	// yields to other goroutines.
	Rest func(worked time.Duration)
}

// Place is a rank's coordinate in one dimension of the parallel layout.
type Place struct{ Rank, Size int }

// DeviceInfo describes the device in deviceProperties.
type DeviceInfo struct {
	Index  int
	Name   string
	Memory int64 // bytes
	SMs    int   // workers that run chunks of a kernel
}

// Kineto divides time into intervals of a quarter of a year (7,889,238 s) and counts from the start of the current
// interval, the base. These counts are small enough for a double to represent nanoseconds, and all ranks of a job have
// the same base (libkineto, output_json.cpp: kBaseTimeNS).
const baseInterval = 7_889_238 * 1_000_000_000

// kineto writes one trace.
type kineto struct {
	text
	r      *Recording
	meta   Meta
	shift  int64    // trace time (ns since the base) minus the time that Now returns, in ns
	names  []string // names of the recording, escaped
	groups []Group
	device string // index as text
	first  bool   // no event written yet
}

// WriteKineto waits until the device has finished the work launched in the window, and writes the window as Chrome JSON
// in libkineto's layout. WriteKineto streams, so the memory that it uses does not depend on the length of the
// recording. It writes in short pieces while the device continues to execute; see Meta.Rest.
func (r *Recording) WriteKineto(w io.Writer, m Meta) error {
	r.Wait()
	epoch := cmp.Or(m.EpochNS, Epoch())
	base := epoch + r.start
	base -= base % baseInterval
	k := &kineto{text: text{w: w, rest: m.Rest, resumed: time.Now()}, r: r, meta: m, shift: epoch - base, first: true}
	k.device = strconv.Itoa(m.Device.Index)
	r.mu.Lock()
	k.groups = slices.Clone(r.groups)
	r.mu.Unlock()
	k.head(base)
	k.events()
	k.tail()
	k.flush()
	return k.err
}

// name returns a name of the recording, escaped. The recording may still receive new names while the last host
// operation is running.
func (k *kineto) name(id uint32) string {
	if int(id) >= len(k.names) {
		all := k.r.names.all()
		for _, s := range all[len(k.names):] {
			k.names = append(k.names, chromejson.Escape(s))
		}
	}
	return k.names[id]
}

func (k *kineto) head(base int64) {
	k.str("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": ").str(k.device)
	k.str(", \"name\": \"").str(chromejson.Escape(k.meta.Device.Name)).str("\", \"totalGlobalMem\": ").int(k.meta.Device.Memory)
	k.str(",\n      \"computeMajor\": 0, \"computeMinor\": 0,\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 1024,\n      ")
	k.str("\"regsPerBlock\": 0, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 0, \"numSms\": ").int(int64(k.meta.Device.SMs))
	k.str("\n    }\n  ],\n")
	k.member("trace_id", traceID(k.meta.TraceID))
	for _, f := range []struct {
		key string
		on  bool
	}{
		{"with_stack", k.r.Options.Stack}, {"profile_memory", k.r.Options.Memory && k.r.Options.CPU}, {"record_shapes", k.r.Options.Shapes},
	} {
		if f.on {
			k.member(f.key, 1)
		}
	}
	if k.meta.Host != "" {
		k.member("host_name", k.meta.Host)
	}
	k.member("distributedInfo", k.distributedInfo())
	if m := &k.meta; m.TP.Size+m.DP.Size+m.PP.Size+m.EP.Size > 0 {
		k.member("parallelism", parallelism{
			m.TP.Rank, m.TP.Size, m.DP.Rank, m.DP.Size, m.PP.Rank, m.PP.Size, m.EP.Rank, m.EP.Size,
		})
	}
	for _, key := range slices.Sorted(maps.Keys(k.meta.Extra)) {
		k.member(key, k.meta.Extra[key])
	}
	k.str("  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ").int(base).str(",\n  \"traceEvents\": [\n")
}

type parallelism struct {
	TPRank int `json:"tp_rank"`
	TPSize int `json:"tp_size"`
	DPRank int `json:"dp_rank"`
	DPSize int `json:"dp_size"`
	PPRank int `json:"pp_rank"`
	PPSize int `json:"pp_size"`
	EPRank int `json:"ep_rank"`
	EPSize int `json:"ep_size"`
}

type distributedInfo struct {
	Backend string     `json:"backend"`
	Rank    int        `json:"rank"`
	World   int        `json:"world_size"`
	Count   int        `json:"pg_count"`
	Config  []pgConfig `json:"pg_config"`
	Clock   any        `json:"clock,omitempty"`
}

type pgConfig struct {
	Name    string `json:"pg_name"`
	Desc    string `json:"pg_desc"`
	Backend string `json:"backend_config"`
	Size    int    `json:"pg_size"`
	Ranks   []int  `json:"ranks"`
}

func (k *kineto) distributedInfo() distributedInfo {
	backend := cmp.Or(k.meta.Backend, "stepscope")
	groups := k.meta.Groups
	if groups == nil {
		groups = k.groups
	}
	d := distributedInfo{Backend: backend, Rank: k.meta.Rank, World: max(k.meta.World, 1), Count: len(groups), Config: []pgConfig{}, Clock: k.meta.Clock}
	for _, g := range groups {
		d.Config = append(d.Config, pgConfig{g.Name, g.Desc, backend, len(g.Ranks), g.Ranks})
	}
	return d
}

func traceID(id string) string {
	if id != "" {
		return id
	}
	var b [16]byte
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return strings.ToUpper(hex.EncodeToString(b[:]))
}

// tail closes the document. It lists lost records in the member that Kineto uses for its log.
func (k *kineto) tail() {
	k.str("\n  ],\n")
	if l := k.r.Lost(); l.Total() > 0 {
		k.member("WARNING", []string{lossText(l, k.r.budget.limit.Load())})
	}
	k.str("  \"traceName\": \"").str(chromejson.Escape(k.meta.Name)).str("\"\n}\n")
}

func lossText(l Loss, limit int64) string {
	var t text
	t.str("the recording was full: ").int(l.HostOps).str(" host operations, ").int(l.Calls).str(" runtime calls, ")
	t.int(l.DeviceWork).str(" pieces of device work and ").int(l.Other).str(" other records are missing (limit ")
	t.int(limit >> 20).str(" MiB)")
	return string(t.buf)
}

func processID() int { return os.Getpid() }
