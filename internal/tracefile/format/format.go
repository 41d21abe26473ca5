// Package format recognises the producer of a trace file by its contents, never by its name. Its table has one row for
// each producer; package read has the reader of each row.
package format

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Format is the format of a file. Unknown means that the file has not been looked at.
type Format uint8

// Formats, in the order of the table.
const (
	Unknown    Format = iota
	NsysReport        // Nsight Systems: .nsys-rep, .qdrep
	NsysExport        // Nsight Systems: the SQLite export of a report
	Rocpd             // rocprofv3: a rocpd database
	AscendDB          // torch_npu: its SQLite database
	OtherDB           // any other SQLite database
	Rocprof           // rocprofv3: JSON
	XPlane            // JAX: XPlane protobuf
	Perfetto          // Perfetto's protobuf
	Ascend            // torch_npu: trace_view.json
	Kineto            // PyTorch's profiler, and any other text: its reader names unknown producers
)

// head is the beginning of a file.
type head struct {
	text   string   // decompressed
	tables []string // of a SQLite database
	broken bool     // whether the tables of a SQLite database cannot be read
}

// headSize is large enough for the first events of a file, and for the schema of a database.
const headSize = 256 << 10

type row struct {
	format Format
	name   string // in messages
	is     func(*head) bool
	// report means that the file has processes and devices, so possibly several ranks.
	report bool
	// remedy is the advice for a file that stepscope does not read. "": stepscope reads it.
	remedy string
}

var rows = []row{
	{NsysReport, "a report of Nsight Systems", starts("NVIDIA Tegra Profiler Report"), true, ""},
	{NsysExport, "an export of Nsight Systems", table("StringIds", "META_DATA_EXPORT", "EXPORT_META_DATA",
		"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"), true, ""},
	// The names of tables end in the UUID of a process. The tables of the older rpd_tracer have no such suffix.
	{Rocpd, "a rocpd database of rocprofv3", table("rocpd_kernel_dispatch_*"), true, ""},
	{AscendDB, "a database of torch_npu's profiler", table("PYTORCH_API", "CANN_API", "COMMUNICATION_OP"), false,
		"give trace_view.json, from the same directory"},
	{OtherDB, "a SQLite database of another program", starts(sqlitefile.Magic), false,
		"stepscope reads exports of Nsight Systems (nsys export --type=sqlite REPORT.nsys-rep) and rocpd databases of rocprofv3"},
	{Rocprof, "a JSON file of rocprofv3", isRocprof, true, ""},
	{XPlane, "a JAX trace (XPlane)", isXPlane, false,
		"stepscope reads traces of PyTorch's profiler, Nsight Systems and rocprofv3"},
	{Perfetto, "a trace of Perfetto", isPerfetto, false,
		"give the files from which it was made; for rocprofv3, record with --output-format json or rocpd"},
	{Ascend, "a trace of torch_npu's profiler", isAscend, false, ""},
	{Kineto, "a trace of PyTorch's profiler", func(*head) bool { return true }, false, ""},
}

func (f Format) row() *row {
	i := slices.IndexFunc(rows, func(r row) bool { return r.format == f })
	return &rows[max(i, 0)]
}

// String returns the name of the format for messages.
func (f Format) String() string {
	if f == Unknown {
		return "an unknown file"
	}
	return f.row().name
}

// Report reports whether the files of the format are reports: not events as text, and possibly of several ranks.
func (f Format) Report() bool { return f != Unknown && f.row().report }

// Of returns the format of the file at path. The reader of Kineto returns the error of a file that cannot be opened or
// decompressed. The name counts only for a broken file that shows nothing: nsys then reports the error.
func Of(path string) Format {
	h := &head{text: beginning(path)}
	if strings.HasPrefix(h.text, sqlitefile.Magic) {
		db, err := sqlitefile.Open(path)
		if h.broken = err != nil; err == nil {
			h.tables = db.Tables()
			db.Close()
		}
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.is(h) })
	if f := rows[i].format; f != Kineto || isText(h) || !trace.IsReport(path) {
		return f
	}
	return NsysReport
}

// Refuse returns an error that names the format and the remedy, if stepscope does not read files of the format.
func (f Format) Refuse(path string) error {
	r := f.row()
	if f == Unknown || r.remedy == "" {
		return nil
	}
	what := r.name
	if f == OtherDB {
		db, err := sqlitefile.Open(path)
		if err != nil {
			return err // damaged
		}
		tables := db.Tables()
		db.Close()
		what += " (" + listed(tables) + ")"
	}
	return fmt.Errorf("%s: %s", what, r.remedy)
}

// fewTables is the number of tables that an error lists.
const fewTables = 5

func listed(tables []string) string {
	if len(tables) == 0 {
		return "without tables"
	}
	var few []string
	for _, t := range tables[:min(len(tables), fewTables)] {
		few = append(few, columns.Clean(t))
	}
	if more := len(tables) - len(few); more > 0 {
		few = append(few, fmt.Sprintf("and %d more", more))
	}
	return "tables " + strings.Join(few, ", ")
}

// beginning returns the beginning of a file's contents, as far as it can be read.
func beginning(path string) string {
	f, err := atomicfile.Open(path)
	if err != nil {
		return ""
	}
	raw, _ := io.ReadAll(io.LimitReader(f, headSize))
	f.Close()
	if !bytes.HasPrefix(raw, []byte("\x1f\x8b")) && !bytes.HasPrefix(raw, []byte("\x28\xb5\x2f\xfd")) {
		return string(raw)
	}
	src, err := chromejson.Open(path)
	if err != nil {
		return ""
	}
	defer src.Close()
	text, _ := io.ReadAll(io.LimitReader(src, headSize))
	return string(text)
}

func starts(magic string) func(*head) bool {
	return func(h *head) bool { return strings.HasPrefix(h.text, magic) }
}

// table accepts databases with one of the tables. The beginning of a damaged database shows some of its tables too.
func table(known ...string) func(*head) bool {
	return func(h *head) bool {
		return slices.ContainsFunc(known, func(k string) bool {
			of, prefix := strings.CutSuffix(k, "*")
			return h.broken && strings.Contains(h.text, of) ||
				slices.ContainsFunc(h.tables, func(t string) bool { return t == k || prefix && strings.HasPrefix(t, of) })
		})
	}
}

// isRocprof looks for the only member of the outermost object.
func isRocprof(h *head) bool {
	text, ok := strings.CutPrefix(strings.TrimLeft(h.text, " \t\r\n"), "{")
	return ok && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), `"rocprofiler-sdk-tool"`)
}

// packet returns the first byte of the first message in field 1 of a protobuf.
func packet(text string) (first byte, ok bool) {
	if !strings.HasPrefix(text, "\n") {
		return 0, false
	}
	for i := 1; i < min(len(text)-1, 6); i++ {
		if text[i] < 0x80 { // the last byte of the length
			return text[i+1], true
		}
	}
	return 0, false
}

// isXPlane looks for a first plane with an id or a name.
func isXPlane(h *head) bool {
	first, ok := packet(h.text)
	return ok && (first == 0x08 || first == 0x12) && (strings.Contains(h.text, "/device:") || strings.Contains(h.text, "/host:") || strings.Contains(h.text, "Task Environment"))
}

// isPerfetto accepts a first packet. Text may also begin with a line feed.
func isPerfetto(h *head) bool {
	_, ok := packet(h.text)
	return ok && !isText(h)
}

// isText accepts JSON, also behind blanks or a byte order mark.
func isText(h *head) bool {
	rest := strings.TrimLeft(h.text, " \t\r\n\ufeff")
	return strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[")
}

// isAscend looks for two signs of torch_npu and msprof: times as strings, and the name of a device process. If neither
// is at the beginning of a trace, the reader of PyTorch's traces reads it just as well.
func isAscend(h *head) bool {
	return timeIsText(h.text) || strings.Contains(h.text, `"Ascend Hardware"`)
}

// timeIsText reports whether a time in a text of JSON is a string.
func timeIsText(text string) bool {
	const blank = " \t\r\n"
	for {
		_, after, found := strings.Cut(text, `"ts"`)
		if !found {
			return false
		}
		value, colon := strings.CutPrefix(strings.TrimLeft(after, blank), ":")
		if colon && strings.HasPrefix(strings.TrimLeft(value, blank), `"`) {
			return true
		}
		text = after
	}
}
