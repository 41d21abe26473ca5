package window

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/summary"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Part holds the summaries of the files of a window that one host has.
type Part struct {
	From string // name of the host or of the file with the summaries
	summary.Window
	Files []*summary.File
}

// ReadPart reads the output of Summarize. On error, it also returns the files read before the error.
func ReadPart(from string, r io.Reader) (*Part, error) {
	p := &Part{From: from}
	in, err := summary.NewReader(r)
	if err != nil {
		return p, err
	}
	defer in.Close()
	p.Window = in.Window
	for {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, f)
	}
}

// summaries reports whether all inputs are files of summaries.
func (in *Input) summaries() bool {
	return len(in.Paths) > 0 && !slices.ContainsFunc(in.Paths, func(path string) bool {
		f, err := atomicfile.Open(path)
		if err != nil {
			return true
		}
		defer f.Close()
		head := make([]byte, 32)
		n, _ := io.ReadFull(f, head)
		return !summary.Is(head[:n])
	})
}

// openSummaries reads the input files, which contain summaries, and joins them.
func (in *Input) openSummaries(say *progress.Console) (*Capture, error) {
	var parts []*Part
	for _, path := range in.Paths {
		f, err := atomicfile.Open(path)
		if err != nil {
			return nil, err
		}
		p, err := ReadPart(path, f)
		f.Close()
		switch {
		case err != nil && len(p.Files) == 0:
			return nil, fmt.Errorf("%s: %w", path, err)
		case err != nil:
			say.Lack("%s: %v", path, err)
		}
		parts = append(parts, p)
	}
	return JoinParts(say, parts)
}

// JoinParts joins the parts that belong to the newest window, from several hosts, into one capture.
func JoinParts(say *progress.Console, parts []*Part) (*Capture, error) {
	newest := &Part{}
	for _, p := range parts {
		if len(p.Files) > 0 && (newest.Files == nil || p.Newest > newest.Newest) {
			newest = p
		}
	}
	var all []*summary.File
	window := set.Set{ID: newest.ID}
	var references []trace.Reference
	var gpus []trace.GPUState
	for _, p := range parts {
		// If file names contain no window id, each host makes up its own id.
		if p.ID != newest.ID && !slices.ContainsFunc(p.Files, func(f *summary.File) bool { return !f.Of.Named || f.Of.Name.Wrote > 0 }) {
			say.Lack("%s: no file of window %s, the newest window is %s (choose with --profile-id)", p.From, newest.ID, p.ID)
			continue
		}
		window.ID = min(window.ID, p.ID)
		references = append(references, p.Reference...)
		if gpus == nil {
			gpus = p.GPUs // each part has the samples of all hosts
		}
		for _, f := range p.Files {
			// Hosts may read the same directory, so skip files that another host has summarised.
			if !slices.ContainsFunc(all, func(x *summary.File) bool { return x.Of == f.Of && sameRanks(x, f) }) {
				all = append(all, f)
			}
		}
	}
	sorts.Stable(all, func(a, b *summary.File) int {
		return cmp.Or(a.Of.Name.Rank.Compare(b.Of.Name.Rank), cmp.Compare(a.Of.Name.Stage, b.Of.Name.Stage), cmp.Compare(a.Of.Path, b.Of.Path))
	})
	heads := make([]*set.Head, len(all))
	for i, f := range all {
		heads[i] = f.Head()
		window.Files = append(window.Files, f.Of)
	}
	c := &Capture{Set: window, GPUs: gpus}
	if references != nil {
		c.Reference = &references[0]
	}
	return c, c.join(say, "window "+window.ID, all, set.FindMissing(window, heads))
}

// Lost lists files that could not be summarised.
type Lost struct {
	Files []set.File
	Why   error
}

// Join makes a capture from the summaries of the window's files, in order. It reports the files in lost as missing.
func (in *Input) Join(say *progress.Console, window set.Set, files []*summary.File, lost []Lost) (*Capture, error) {
	c := &Capture{Set: window}
	for _, x := range lost {
		if len(files) == 0 {
			return nil, fmt.Errorf("nothing was summarised: %w", x.Why)
		}
		which := x.Files[0].Path
		if n := len(x.Files); n > 1 {
			which = fmt.Sprintf("%d files (%s to %s)", n, which, filepath.Base(x.Files[n-1].Path))
		}
		say.Lack("%s: not summarised: %v", which, x.Why)
		for _, f := range x.Files {
			c.Missing = append(c.Missing, labelOf(f.Path))
		}
	}
	if err := c.join(say, strings.Join(in.Paths, ", "), files, window.Missing()); err != nil {
		return nil, err
	}
	c.Reference, c.GPUs = beside(say, filepath.Dir(c.Ranks[0].Source.Path))
	c.Light = serverBeside(say, filepath.Dir(c.Ranks[0].Source.Path))
	return c, nil
}

func sameRanks(a, b *summary.File) bool {
	return slices.EqualFunc(a.Ranks, b.Ranks, func(x, y prep.Rank) bool { return x.Recording == y.Recording })
}

// join adds the summaries of the window's files, in order.
func (c *Capture) join(say *progress.Console, what string, files []*summary.File, missing []set.Missing) error {
	c.Ranks = []*prep.Rank{}
	var all []noted
	var failures []read.Failure
	var places read.Places
	for _, f := range files {
		if f.Error != "" {
			failures = append(failures, read.Failure{Path: f.Of.Path, Err: errors.New(f.Error)})
		}
		if len(c.Set.Files) > 1 && f.Of.Report() {
			place(&places, f.Ranks)
		}
		for i := range f.Ranks {
			r := &f.Ranks[i]
			c.Ranks = append(c.Ranks, r)
			all = append(all, noted{r.Source.Path, r.Notes})
		}
	}
	return c.account(say, what, all, failures, missing)
}

// place assigns numbers to the ranks of a report's processes. The numbers continue after those of the previously placed
// reports.
func place(places *read.Places, ranks []prep.Rank) {
	stubs := make([]*trace.Trace, len(ranks))
	for i := range ranks {
		r := &ranks[i]
		stubs[i] = &trace.Trace{Source: r.Source, Notes: r.Notes}
		if r.Recording != "" {
			stubs[i].Spans = []trace.Span{{Start: r.Extent.Start, Dur: r.Extent.End - r.Extent.Start}}
		}
	}
	places.Take(stubs)
	for i, t := range stubs {
		ranks[i].Source, ranks[i].Notes = t.Source, t.Notes
	}
}
