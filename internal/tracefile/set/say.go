package set

import (
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/trace"
)

// SayMissing warns about ranks without a file. Inputs that are broken or do not exist have been reported already.
func SayMissing(say *progress.Console, missing []Missing) {
	for _, m := range Together(missing) {
		if m.File == "" {
			say.Lack("missing %v", m)
		}
	}
}

// SayProblems warns about files of the set that were not read completely.
func (s *Set) SayProblems(say *progress.Console, parts []Part) {
	for _, p := range parts {
		if p.Problem != nil {
			say.Lack("%s: %v", s.PathOf(p.File), p.Problem)
		}
	}
}

// SayNotes prints the notes about losses of the file at path. For an Nsight Systems report it also prints warnings,
// because a warning may affect most of the report.
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

// SayNote prints a note about the file at path.
func SayNote(say *progress.Console, path string, n trace.Note) {
	if n.Count > 1 && !n.SaysCount() {
		say.Warn("%s: %d %s", path, n.Count, n.Text())
	} else {
		say.Warn("%s: %s", path, n.Text())
	}
}

// PathOf returns the path of the file with the given base name. It is needed because results contain only base names.
func (s *Set) PathOf(base string) string {
	for _, f := range s.Files {
		if filepath.Base(f.Path) == base {
			return f.Path
		}
	}
	return base
}
