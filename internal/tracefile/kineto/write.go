package kineto

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// level is the gzip level of WriteFile. The level is low because these files are intermediate: they are read once and
// rewritten.
const level = 1

// WriteFile writes t to path, compressed unless the name ends in .json. The file is either complete or absent.
func WriteFile(path string, t *trace.Trace) error {
	return atomicfile.File(path, func(f *os.File) error {
		if strings.HasSuffix(path, ".json") {
			return Write(f, t)
		}
		z, err := gzip.NewWriterLevel(f, level)
		if err != nil {
			return err
		}
		if err := Write(z, t); err != nil {
			return err
		}
		return z.Close()
	})
}

// Write writes t as Chrome JSON. Times keep nanosecond precision.
func Write(w io.Writer, t *trace.Trace) error {
	k := &writer{w: w, t: t, base: t.Source.BaseNS, names: make([]string, t.Strings.Len()), first: true}
	for i := range t.Spans {
		if s := t.Spans[i].Start; i == 0 || s < k.start {
			k.start = s
		}
	}
	if k.base == 0 {
		// Kineto counts times from the start of the current quarter of a year (libkineto, output_json.cpp:
		// kBaseTimeNS). So a double can hold nanoseconds, and all ranks of a job use the same base. Times that do not
		// count from 1970 fall into the first quarter, whose base is 0.
		k.base = max(k.start-k.start%baseInterval, 0)
	}
	k.head()
	k.link()
	k.label()
	for i := range t.Spans {
		k.span(&t.Spans[i])
	}
	k.memory()
	k.rows()
	k.tail()
	k.flush()
	return k.err
}

const baseInterval = 7_889_238 * 1_000_000_000 // ns

// writer writes one file.
type writer struct {
	w     io.Writer
	t     *trace.Trace
	err   error
	buf   []byte
	first bool // whether no event has been written yet

	base   int64      // ns since the epoch: the origin of ts
	start  int64      // start of the earliest span
	names  []string   // JSON strings without quotes, by StringID; "": not converted yet
	labels []rowLabel // by TrackID
	linked map[int64]ends
}

// head writes the members before the events.
func (k *writer) head() {
	src := &k.t.Source
	k.str("{\n  \"schemaVersion\": 1,\n")
	if src.Device != "" {
		own := int64(k.mainDevice())
		k.str("  \"deviceProperties\": [\n    {\n      \"id\": ").int(own).str(", \"name\": \"").str(chromejson.Escape(src.Device)).str("\"")
		for _, id := range [][2]string{{"uuid", src.UUID}, {"pciBusId", src.PCI}} {
			if id[1] != "" {
				k.str(", \"" + id[0] + "\": \"").str(chromejson.Escape(id[1])).str("\"")
			}
		}
		k.str("\n    }")
		for i, left := int64(0), src.Visible-1; left > 0; i++ { // the other devices that the process saw
			if i != own {
				k.str(",\n    {\n      \"id\": ").int(i).str("\n    }")
				left--
			}
		}
		k.str("\n  ],\n")
	}
	if src.TraceID != "" {
		k.str("  \"trace_id\": \"").str(chromejson.Escape(src.TraceID)).str("\",\n")
	}
	if src.Host != "" {
		k.str("  \"host_name\": \"").str(chromejson.Escape(src.Host)).str("\",\n")
	}
	if src.WithStack {
		k.str("  \"with_stack\": 1,\n")
	}
	if src.World.Known {
		k.str("  \"distributedInfo\": {")
		if src.World.Rank >= 0 {
			k.str("\"rank\": ").int(int64(src.World.Rank)).str(", ")
		}
		k.str("\"world_size\": ").int(int64(src.World.Size))
		if src.World.RTT > 0 {
			k.str(", \"clock\": {\"rtt_ns\": ").int(src.World.RTT).str("}")
		}
		k.str("},\n")
	}
	k.str("  \"displayTimeUnit\": \"ms\",\n")
	if k.base != 0 {
		k.str("  \"baseTimeNanoseconds\": ").int(k.base).str(",\n")
	}
	k.str("  \"traceEvents\": [\n")
}

// mainDevice returns the GPU with the most work. The GPU name in the trace is the name of this GPU.
func (k *writer) mainDevice() int32 {
	work := map[int32]int{}
	best := int32(0)
	for i := range k.t.Spans {
		if s := &k.t.Spans[i]; s.Cat.OnGPU() {
			work[k.t.Tracks[s.Track].Device]++
		}
	}
	for d, n := range work {
		if n > work[best] || n == work[best] && d < best {
			best = d
		}
	}
	return best
}

// tail closes the document. It writes warnings where Kineto puts its log.
func (k *writer) tail() {
	k.str("\n  ]")
	sep := ",\n  \"WARNING\": ["
	for _, n := range k.t.Notes {
		if n.Severity() >= trace.Warning {
			k.str(sep).str("\"").str(chromejson.Escape(n.Text())).str(" (").int(n.Count).str(")\"")
			sep = ", "
		}
	}
	if sep == ", " {
		k.str("]")
	}
	k.str("\n}\n")
}

// next begins an event: it writes the comma after the previous one and flushes a full buffer.
func (k *writer) next() {
	if k.first {
		k.first = false
		k.str("  ")
	} else {
		k.str(",\n  ")
	}
	if len(k.buf) >= flushAt {
		k.flush()
	}
}

const flushAt = 64 << 10 // bytes

func (k *writer) flush() {
	if k.err == nil && len(k.buf) > 0 {
		_, k.err = k.w.Write(k.buf)
	}
	k.buf = k.buf[:0]
}

// name returns a string of the table, escaped for JSON.
func (k *writer) name(id trace.StringID) string {
	if int(id) >= len(k.names) {
		return ""
	}
	if k.names[id] == "" {
		k.names[id] = chromejson.Escape(k.t.Strings.Get(id))
	}
	return k.names[id]
}

// raw returns a string of the table that holds JSON text. ok is false if the string is not JSON.
func (k *writer) raw(id trace.StringID) (string, bool) {
	s := k.t.Strings.Get(id)
	return s, s != "" && json.Valid([]byte(s))
}
