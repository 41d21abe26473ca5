package nsysdb

import (
	"maps"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// meta is the metadata of an export and of the machine on which the report was recorded.
type meta struct {
	strings   map[int64]string
	epoch     int64 // ns since the Unix epoch at time 0 of the capture
	host      string
	schema    string // version of the export's schema
	product   string // version of nsys that made the export
	gpus      map[int64]physicalGPU
	physical  map[cudaDevice]int64 // CUDA device of a process -> physical GPU
	processes map[int64]string     // by globalPid
	threads   map[int64]string     // by globalTid
	mpi       map[int64]int64      // MPI rank by globalPid
}

type cudaDevice struct{ pid, device int64 }

type physicalGPU struct{ name, uuid, pci string }

// longestName is the longest string that can be a name. Longer strings are the environment and embedded files of a
// report, which are not read.
const longestName = 1 << 16

// Masks and shifts of the parts of a global id.
const (
	tidBits  = 24
	tidMask  = 1<<tidBits - 1
	procMask = ^int64(tidMask)
)

func pidOf(global int64) int64 { return global >> tidBits & tidMask }
func tidOf(global int64) int64 { return global & tidMask }

func (r *reader) readMeta() error {
	m := &r.meta
	m.strings = map[int64]string{}
	m.gpus = map[int64]physicalGPU{}
	m.physical = map[cudaDevice]int64{}
	m.processes = map[int64]string{}
	m.threads = map[int64]string{}
	m.mpi = map[int64]int64{}
	pair := func(row *sqlitefile.Row) {
		switch value := string(row.Text(1)); string(row.Text(0)) {
		case "EXPORT_SCHEMA_VERSION":
			m.schema = value
		case "EXPORT_PRODUCT_VERSION":
			m.product = value
		}
	}
	nvtxThreads := map[int64]string{}
	for _, step := range []struct {
		table   string
		columns []string
		visit   func(*sqlitefile.Row)
	}{
		{"META_DATA_EXPORT", []string{"name", "value"}, pair},
		{"EXPORT_META_DATA", []string{"name", "value"}, pair}, // name of the table until 2022
		{"StringIds", []string{"id", "value"}, func(row *sqlitefile.Row) {
			if text := row.Text(1); len(text) <= longestName {
				m.strings[row.Int(0)] = string(text)
			}
		}},
		{"TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, func(row *sqlitefile.Row) { m.epoch = row.Int(0) }},
		{"TARGET_INFO_SYSTEM_ENV", []string{"name", "value"}, func(row *sqlitefile.Row) {
			if string(row.Text(0)) == "Hostname" {
				m.host = string(row.Text(1))
			}
		}},
		{"TARGET_INFO_GPU", []string{"id", "name", "uuid", "busLocation"}, func(row *sqlitefile.Row) {
			m.gpus[row.Int(0)] = physicalGPU{string(row.Text(1)), string(row.Text(2)), string(row.Text(3))}
		}},
		{"TARGET_INFO_CUDA_DEVICE", []string{"pid", "cudaId", "gpuId"}, func(row *sqlitefile.Row) {
			if !row.Null(2) {
				m.physical[cudaDevice{row.Int(0), row.Int(1)}] = row.Int(2)
			}
		}},
		{"PROCESSES", []string{"globalPid", "name"}, func(row *sqlitefile.Row) {
			m.processes[row.Int(0)&procMask] = string(row.Text(1))
		}},
		{"ThreadNames", []string{"globalTid", "nameId"}, func(row *sqlitefile.Row) {
			m.threads[row.Int(0)] = m.strings[row.Int(1)]
		}},
		{tableNVTX, []string{"eventType", "text", "textId", "globalTid"}, func(row *sqlitefile.Row) {
			if row.Int(0) == nvtxThreadName {
				nvtxThreads[row.Int(3)] = r.text(row, 1, 2)
			}
		}},
		{"MPI_RANKS", []string{"globalTid", "rank"}, func(row *sqlitefile.Row) {
			m.mpi[row.Int(0)&procMask] = row.Int(1)
		}},
		{"DIAGNOSTIC_EVENT", []string{"severity", "text"}, r.diagnostic},
	} {
		if err := r.scan(step.table, step.columns, step.visit); err != nil {
			return err
		}
	}
	maps.Copy(m.threads, nvtxThreads) // names set by the program take precedence
	if m.epoch < 0 || m.epoch > farthest {
		m.epoch = 0
	}
	if m.epoch == 0 {
		r.note(trace.NoteNoEpoch, 1)
	}
	if major, _, _ := strings.Cut(m.schema, "."); m.schema != "" && major != "3" {
		r.note(trace.NoteSchema, 1, m.schema)
	}
	return nil
}

// farthest is the largest plausible wall clock time, in ns: the year 2043.
const farthest = 1 << 61

// diagnostic adds notes for three kinds of nsys messages: lost events, warnings and errors.
func (r *reader) diagnostic(row *sqlitefile.Row) {
	text := string(row.Text(1))
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "lost") || strings.Contains(lower, "dropped") || strings.Contains(lower, "buffer") && strings.Contains(lower, "full"):
		r.said(trace.NoteNsysLost, text)
	case row.Int(0) >= 2 && !strings.Contains(lower, "does the process use"): // warnings and errors
		r.said(trace.NoteNsysSaid, text)
	}
}

// said adds a note for an nsys message. For a repeated message it only raises the note's count.
func (r *reader) said(kind trace.NoteKind, text string) {
	for i := range r.notes {
		if n := &r.notes[i]; n.Kind == kind && n.Names[0] == text {
			n.Count++
			return
		}
	}
	if len(r.notes) < 100 {
		r.note(kind, 1, text)
	}
}

func (r *reader) note(kind trace.NoteKind, count int64, names ...string) {
	r.notes = append(r.notes, trace.Note{Kind: kind, Source: r.db.Path, Count: count, Names: names})
}

// text returns a string that the row contains (column own) or references by id (column id).
func (r *reader) text(row *sqlitefile.Row, own, id int) string {
	if !row.Null(own) {
		return string(row.Text(own))
	}
	return r.meta.strings[row.Int(id)]
}
