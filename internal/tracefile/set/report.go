package set

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/trace"
)

// Report reports whether the file is an Nsight Systems report or its export, rather than a trace.
func (f *File) Report() bool { return trace.ReportSuffix(f.Path) != "" }

// Exported reports whether a file is an Nsight Systems report or a database that nsys exported from one, rather than
// one written by trace export. A database of nsys has the table StringIds, whose name occurs in the schema at the
// beginning of the file.
func Exported(path string) bool {
	if !strings.HasSuffix(path, ".sqlite") {
		return true
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const schema = 256 << 10 // number of bytes at the start of the file that contain the schema
	head, err := io.ReadAll(io.LimitReader(f, schema))
	return err == nil && bytes.HasPrefix(head, []byte("SQLite format 3\x00")) && bytes.Contains(head, []byte("StringIds"))
}

// oneOfEach drops one file of each pair of a report and an export with the same name. It keeps the export unless the
// report is newer: an older export may have been made from a different report.
func oneOfEach(found []dated) (kept []dated, notes []trace.Note) {
	at := map[string]int{} // path of a report without extension -> index in found
	for i, f := range found {
		if trace.IsReport(f.Path) {
			at[strings.TrimSuffix(f.Path, filepath.Ext(f.Path))] = i
		}
	}
	out := map[int]bool{}
	for i, f := range found {
		stem, ok := strings.CutSuffix(f.Path, ".sqlite")
		report, both := at[stem]
		if !ok || !both {
			continue
		}
		left, kept, why := report, i, trace.NoteExportRead
		if f.mod < found[report].mod {
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
