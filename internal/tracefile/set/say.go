package set

import (
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/trace"
)

// SayMissing names ranks without a file. Inputs that are broken or do not exist have
// had their line.
func SayMissing(say *progress.Console, missing []Missing) {
	for _, m := range Together(missing) {
		if m.File == "" {
			say.Lack("missing %v", m)
		}
	}
}

// SayProblems names the files of the set that were not read to their end.
func (s *Set) SayProblems(say *progress.Console, parts []Part) {
	for _, p := range parts {
		if p.Problem != nil {
			say.Lack("%s: %v", s.PathOf(p.File), p.Problem)
		}
	}
}

// SayNotes says what was lost of the file at path and, of a report of Nsight
// Systems, what is doubtful: that may be most of it.
func SayNotes(say *progress.Console, path string, notes []trace.Note) {
	least := trace.Loss
	if trace.ReportSuffix(path) != "" {
		least = trace.Warning
	}
	for _, n := range notes {
		if n.Severity() >= least || n.Kind == trace.NoteStageName {
			SayNote(say, path, n)
		}
		if n.Severity() == trace.Loss {
			say.Incomplete()
		}
	}
}

// SayNote says a note of the file at path.
func SayNote(say *progress.Console, path string, n trace.Note) {
	if n.Count > 1 && n.Severity() < trace.Loss { // what was lost has its count in the text
		say.Warn("%s: %d %s", path, n.Count, n.Text())
	} else {
		say.Warn("%s: %s", path, n.Text())
	}
}

// PathOf is where the file of a base name lies, for results have names only.
func (s *Set) PathOf(base string) string {
	for _, f := range s.Files {
		if filepath.Base(f.Path) == base {
			return f.Path
		}
	}
	return base
}
