package set

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// Report tells a report of Nsight Systems, or its export, from a trace.
func (f *File) Report() bool { return trace.ReportSuffix(f.Path) != "" }

// Exported tells whether a file is a report, or a database that was exported
// from one and not by trace export: it has the table StringIds, whose name
// stands in the schema at the beginning of the file.
func Exported(path string) bool {
	if !strings.HasSuffix(path, ".sqlite") {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const schema = 256 << 10 // bytes that hold it
	head, err := io.ReadAll(io.LimitReader(f, schema))
	return err == nil && bytes.HasPrefix(head, []byte("SQLite format 3\x00")) && bytes.Contains(head, []byte("StringIds"))
}

// oneOfEach leaves out one of each report and its export, which share their
// name: the export, unless it is newer, for then it may be another report's.
func oneOfEach(found []dated) (kept []dated, notes []trace.Note) {
	at := map[string]int{} // of reports, by path without the ending
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

// together makes one window of the reports given by their names: each is a
// rank of it, or a node. The window has the name that sorts first.
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
