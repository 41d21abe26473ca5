package torch

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// Keep adds the files of a capture to a run. Files outside the run's directory are linked or copied. The argument
// window names the capture if the run has several captures. It may be "".
func (c *Result) Keep(r *runs.Run, window string) error {
	for _, sr := range c.Servers {
		add := func(kind runs.Kind, path string) error {
			path, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(r.Dir(), path)
			if err != nil {
				return err
			}
			from := ""
			if !filepath.IsLocal(rel) {
				from, rel = path, filepath.Join("traces", window, filepath.Base(path))
				if len(c.Servers) > 1 {
					rel = filepath.Join("traces", window, sr.Name, filepath.Base(path))
				}
			}
			format := "kineto.json.gz"
			if kind != runs.KindTrace && kind != runs.KindMerged {
				format = "json"
			}
			f := runs.File{Path: filepath.ToSlash(rel), Kind: kind, Format: format, Role: sr.Role, Host: sr.URL, Source: sr.From, Window: window}
			if name, ok := trace.ParseFileName(filepath.Base(path)); ok && kind == runs.KindTrace {
				f.Rank, f.Stage = runs.At(name.Rank), name.Stage
			}
			return r.AddFile(f, from)
		}
		for _, p := range sr.Traces {
			if err := add(runs.KindTrace, p); err != nil {
				return err
			}
		}
		for _, said := range []struct {
			name  string
			there bool
			kind  runs.Kind
		}{
			{trace.LoadsFile, len(sr.Loads) > 0, runs.KindMetrics}, {trace.ReferenceFile, sr.Reference != nil, runs.KindMetrics}, {trace.GPUsFile, sr.gpus, runs.KindMetrics},
			{trace.ContextsFile, sr.hasContexts(), runs.KindMetrics},
			{trace.ServerArgsFile, sr.args, runs.KindServerArgs}, {trace.ModelFile, sr.conf, runs.KindModel},
		} {
			if !said.there {
				continue
			}
			// A failed write has already been noted.
			if err := add(said.kind, filepath.Join(sr.Dir, said.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if sr.Merged != "" {
			if err := add(runs.KindMerged, sr.Merged); err != nil {
				return err
			}
		}
	}
	return nil
}
