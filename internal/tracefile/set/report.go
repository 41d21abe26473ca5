package set

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/trace"
)

// Report reports whether the file is a report, such as one of Nsight Systems or rocprofv3, rather than events as text.
func (f *File) Report() bool {
	return f.Format.Report() || f.Format == format.Unknown && trace.ReportSuffix(f.Path) != ""
}

// twins drops one file of each pair of reports with the same name that hold the same recording. Of a report of Nsight
// Systems and its export it keeps the export unless the report is newer: an older export may have been made from a
// different report. Of the files of rocprofv3 it keeps the database.
func twins(found []dated) (kept []dated, notes []trace.Note) {
	at := map[string]int{} // path of a report without extension -> index in found
	for i, f := range found {
		if f.Format == format.NsysReport || f.Format == format.Rocprof {
			at[stem(f.Path)] = i
		}
	}
	out := map[int]bool{}
	for i, f := range found {
		report, both := at[stem(f.Path)]
		if !both || f.Format != format.NsysExport && f.Format != format.Rocpd {
			continue
		}
		left, kept, why := report, i, trace.NoteExportRead
		if f.Format == format.NsysExport && f.mod < found[report].mod {
			left, kept, why = i, report, trace.NoteReportRead
		}
		out[left] = true
		notes = append(notes, trace.Note{Kind: why, Source: found[left].Path, Names: []string{found[kept].Path}, Count: 1})
	}
	for i, f := range found {
		if !out[i] {
			kept = append(kept, f)
		}
	}
	return kept, notes
}

// stem returns the path of a report without its extension.
func stem(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }

// rocprofName matches the files of rocprofv3's processes: PID_results.json, PID_results.db.
var rocprofName = regexp.MustCompile(`^\d+_results\.(json|db)$`)

// processes joins the files that rocprofv3 wrote to one directory, one for each process, into one window.
func processes(found []dated) {
	for i := range found {
		if f := &found[i]; f.Report() && rocprofName.MatchString(filepath.Base(f.Path)) {
			f.Name.ID = "rocprofv3"
			if dir, err := filepath.Abs(filepath.Dir(f.Path)); err == nil {
				f.Name.ID = filepath.Base(dir)
			}
		}
	}
}

// together joins the reports given by name into one window, in which each report is a rank or a node. The id of the
// window is the first of the reports' ids in sort order.
func together(found []dated) {
	id, n := "", 0
	for _, f := range found {
		if f.given && f.Report() {
			if n == 0 || f.Name.ID < id {
				id = f.Name.ID
			}
			n++
		}
	}
	for i := range found {
		if f := &found[i]; f.given && f.Report() {
			f.Name.ID = id
		}
	}
}
