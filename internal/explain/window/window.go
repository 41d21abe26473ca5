// Package window reads one profiling window for analysis: it selects the files of the window, reads the traces, and
// reports missing parts.
package window

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Input selects the window to read.
type Input struct {
	Paths []string // files and directories
	ID    string   // id of the window to select if there are several; "": the newest
	Read  read.Options
	// Lean means that only prepared ranks are kept. The traces of each file are prepared, with Rules, as soon as they
	// are read, so that only a few traces are in memory at a time.
	Lean  bool
	Rules *kernel.Rules
}

// Choose selects the window; see set.Choose.
func (in *Input) Choose(say *progress.Console) (window set.Set, missing []string, err error) {
	window, missing, err = set.Choose(say, in.Paths, in.ID)
	if err == nil && in.Read.Nsys != (nsysdb.Options{}) && !window.Reports() {
		say.Warn("%s: --from and --to are for reports of Nsight Systems: reading the whole window; to analyse a part of it, use stepscope trace cut --from --to", window.ID)
	}
	return window, missing, err
}

// Capture holds the data read from one profiling window.
type Capture struct {
	Set     set.Set
	Traces  []*trace.Trace
	Ranks   []*prep.Rank // set instead of Traces if the window was summarised or read with Lean
	Missing []string     // ranks that are absent, or have unreadable files
	// Reference is the step time without recording, from a file beside the traces. It is nil if there is no such file.
	Reference *trace.Reference
	GPUs      []trace.GPUState // samples of the GPUs, from another such file
	Loads     []trace.Load     // samples of a server's queues, from another
	Light     light.Options    // the model's configuration and the server's arguments, from others
}

// Options returns the options of the window's analysis.
func (c *Capture) Options() explain.Options {
	return explain.Options{ID: c.Set.ID, Missing: c.Missing, Reference: c.Reference, GPUs: c.GPUs, Light: c.Light}
}

// Prepare prepares the capture for analysis. rules assign kernels to classes. They must be the rules with which Ranks
// were prepared.
func (c *Capture) Prepare(rules *kernel.Rules) *explain.Window {
	if c.Ranks != nil {
		return explain.Join(c.Ranks)
	}
	return explain.Prepare(c.Traces, rules)
}

// Args reads all args of a span of a trace from the trace's file, as names and values.
func Args(ctx context.Context, t *trace.Trace, span int32) (args [][2]string, err error) {
	found, err := read.Args(ctx, t, span)
	for _, a := range found {
		args = append(args, [2]string{a.Name, a.Value})
	}
	return args, err
}

// Open reads the window. It reports missing or broken parts, and marks the result as incomplete. label is the label of
// the progress display.
func (in *Input) Open(ctx context.Context, say *progress.Console, label string) (*Capture, error) {
	if in.summaries() {
		return in.openSummaries(say)
	}
	window, _, err := in.Choose(say)
	if err != nil {
		return nil, err
	}
	opt := in.Read
	opt.Meter = say.Meter(label, window.Bytes())
	c := &Capture{Set: window}
	failures, err := in.read(ctx, c, opt)
	opt.Meter.Close()
	if err != nil {
		return nil, err
	}
	var all []noted
	for _, t := range c.Traces {
		all = append(all, noted{t.Source.Path, t.Notes})
	}
	for _, r := range c.Ranks {
		all = append(all, noted{r.Source.Path, r.Notes})
	}
	if err := c.account(say, strings.Join(in.Paths, ", "), all, failures, window.Missing()); err != nil {
		return nil, err
	}
	c.Reference, c.GPUs = beside(say, filepath.Dir(all[0].path))
	c.Light = serverBeside(say, filepath.Dir(all[0].path))
	if loads, err := readJSON[[]trace.Load](filepath.Dir(all[0].path), trace.LoadsFile); err != nil {
		say.Warn("%v: the queues of the server are unknown", err)
	} else if loads != nil {
		c.Loads = *loads
	}
	return c, nil
}

// read reads the window's traces or, if Lean, its ranks.
func (in *Input) read(ctx context.Context, c *Capture, opt read.Options) (failures []read.Failure, err error) {
	isReport := func(f set.File) bool { return f.Report() }
	if !in.Lean || len(c.Set.Files) > 1 && slices.ContainsFunc(c.Set.Files, isReport) { // reports must be read together
		c.Traces, failures, err = read.ReadSet(ctx, c.Set, opt)
		return failures, err
	}
	ranks := make([][]*prep.Rank, len(c.Set.Files)) // elements stay empty if several files belong to one rank
	failures, err = read.Each(ctx, c.Set, opt, func(i int, traces []*trace.Trace) {
		ranks[i] = prep.Traces(traces, in.Rules)
	})
	c.Ranks = slices.Concat(ranks...)
	return failures, err
}

// noted holds the notes on one trace.
type noted struct {
	path  string
	notes []trace.Note
}

// account reports the unreadable files, the notes and the missing ranks of a window. Errors name the window's inputs.
func (c *Capture) account(say *progress.Console, what string, all []noted, failures []read.Failure, missing []set.Missing) error {
	if len(all) == 0 && len(failures) == 1 {
		return fmt.Errorf("%s: %w", failures[0].Path, failures[0].Err)
	}
	for _, f := range failures {
		say.Lack("%s: %v", f.Path, f.Err)
		c.Missing = append(c.Missing, labelOf(f.Path))
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: nothing could be read", what)
	}
	for _, t := range all {
		set.SayNotes(say, t.path, t.notes)
	}
	set.SayMissing(say, missing)
	for _, m := range missing {
		c.Missing = append(c.Missing, m.Label)
	}
	sorts.By(c.Missing, trace.CompareLabels)
	return nil
}

// beside reads the files with the step time without recording and with the samples of the GPUs in a directory of traces.
func beside(say *progress.Console, dir string) (*trace.Reference, []trace.GPUState) {
	ref, err := readJSON[trace.Reference](dir, trace.ReferenceFile)
	if err != nil {
		say.Warn("%v: the overhead of recording is unknown", err)
	}
	gpus, err := readJSON[trace.GPUs](dir, trace.GPUsFile)
	switch {
	case err != nil:
		say.Warn("%v: the clocks of the GPUs are unknown", err)
	case gpus != nil:
		return ref, gpus.States
	}
	return ref, nil
}

// serverBeside reads the files with the model's configuration and the server's arguments in a directory of traces.
func serverBeside(say *progress.Console, dir string) (o light.Options) {
	if m, err := light.OpenModel(filepath.Join(dir, trace.ModelFile)); err == nil {
		o.Model = m
	} else if !errors.Is(err, fs.ErrNotExist) {
		o.Why = err.Error()
	}
	contexts, err := readJSON[trace.Contexts](dir, trace.ContextsFile)
	if err != nil {
		say.Warn("%v: the contexts of the requests are unknown", err)
	}
	o.Contexts = contexts
	args, err := readJSON[map[string]any](dir, trace.ServerArgsFile)
	switch {
	case err != nil:
		say.Warn("%v: the server's arguments are unknown", err)
	case args != nil:
		o.Flags = *args
	}
	return o
}

// mostBeside is the maximum size of a file beside traces, in bytes.
const mostBeside = 64 << 20

// readJSON reads a JSON file in a directory. It returns nil if there is none.
func readJSON[T any](dir, name string) (*T, error) {
	path := filepath.Join(dir, name)
	text, err := atomicfile.ReadAtMost(path, mostBeside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	v := new(T)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return v, nil
}

// labelOf returns the rank that a file's name contains or, if it contains none, the name.
func labelOf(path string) string {
	base := filepath.Base(path)
	if name, ok := trace.ParseFileName(base); ok {
		return strings.TrimSpace(name.Rank.String() + " " + name.Stage)
	}
	return base
}
