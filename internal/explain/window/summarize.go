package window

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
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

// Summarize writes what explaining the window takes of each of its files, several at a
// time, so that the traces of no more are in memory. A file of which nothing can be read
// says so where it is joined with the others.
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
	ref, err := reference(filepath.Dir(window.Files[0].Path))
	if err != nil {
		say.Warn("%v: what recording cost is not known", err)
	}
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
	for _, f := range window.Files {
		g.Go(func() error {
			s := summarized(ctx, f, opt, rules)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one.Lock()
			defer one.Unlock()
			return out.File(s)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return out.Close()
}

// summarized is what explaining takes of one file.
func summarized(ctx context.Context, f set.File, opt read.Options, rules *kernel.Rules) *summary.File {
	out := summary.NewFile(set.ReadHead(f, nil))
	traces, err := read.ReadFile(ctx, f, opt)
	if err != nil {
		out.Error = err.Error()
	}
	for _, t := range traces {
		out.Ranks = append(out.Ranks, *prep.Trace(t, rules))
	}
	return out
}
