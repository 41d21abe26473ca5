package window

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/summary"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Summarize writes a summary of each of the window's files, in parallel. Only the traces of the files being processed
// are in memory. For a file that cannot be read, Summarize writes the error. The error is reported when the summaries
// are joined.
func (in *Input) Summarize(ctx context.Context, say *progress.Console, w io.Writer, rules *kernel.Rules) error {
	window, _, err := in.Choose(say)
	if err != nil {
		return err
	}
	about := &summary.Window{ID: window.ID}
	for _, f := range window.Files {
		if st, err := os.Stat(f.Path); err == nil {
			about.Newest = max(about.Newest, st.ModTime().UnixNano())
		}
	}
	ref, gpus := beside(say, filepath.Dir(window.Files[0].Path))
	about.GPUs = gpus
	if ref != nil {
		about.Reference = []trace.Reference{*ref}
	}
	out, err := summary.NewWriter(w, about)
	if err != nil {
		return err
	}
	opt := in.Read
	opt.Meter = say.Meter("summarize", window.Bytes())
	defer opt.Meter.Close()
	var one sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	byStage := window.ByStage()
	for _, files := range window.ByRank() {
		g.Go(func() error {
			list := summarized(ctx, files, byStage, opt, rules)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one.Lock()
			defer one.Unlock()
			for _, s := range list {
				if err := out.File(s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return out.Close()
}

// summarized returns the summaries of one rank's files. Data that combines several files is in the summary of the first
// readable file.
func summarized(ctx context.Context, files []set.File, byStage bool, opt read.Options, rules *kernel.Rules) (out []*summary.File) {
	traces, failures := read.Rank(ctx, files, byStage, opt)
	for _, f := range files {
		s := summary.NewFile(set.ReadHead(f, nil))
		if i := slices.IndexFunc(failures, func(x read.Failure) bool { return x.Path == f.Path }); i >= 0 {
			s.Error = failures[i].Err.Error()
		}
		out = append(out, s)
	}
	for _, t := range traces {
		for _, s := range out {
			if s.Of.Path == t.Source.Path {
				s.Ranks = append(s.Ranks, *prep.Trace(t, rules))
			}
		}
	}
	return out
}
