package cut

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Job describes a cut and its output.
type Job struct {
	Window Window
	Merge  bool             // whether to merge all ranks into one file
	Redact *redact.Redactor // for publication; nil: events are copied unchanged
}

// ID returns the part that the names of all output files have in common.
func (j *Job) ID(window set.Set) string {
	if j.Redact != nil {
		return redactedID(window.ID)
	}
	return "cut-" + window.ID
}

// Name returns the name of the output file for the window of file i.
func (j *Job) Name(window set.Set, i int) string {
	if j.Redact != nil {
		return redactedName(window, i).String()
	}
	base := filepath.Base(window.Files[i].Path)
	return "cut-" + strings.TrimSuffix(base, trace.TraceSuffix(base)) + ".trace.json.gz"
}

// Do writes the cut. If ranks are merged or there is only one file, out is the output file. Otherwise out is a
// directory that receives one file per rank. The returned Plan is valid even if nothing is written.
func (j *Job) Do(ctx context.Context, window set.Set, out string, opt merge.Options) (*Plan, []*merge.Result, error) {
	p, err := New(ctx, window, j.Window, opt.Meter, j.Redact)
	if err != nil {
		return p, nil, err
	}
	if j.Merge || len(window.Files) == 1 {
		opt.Plain = strings.HasSuffix(out, ".json")
		opt.ProfileID = j.ID(window)
		write := func() (*merge.Result, error) { return p.File(ctx, 0, out, opt) }
		if j.Merge && j.Redact != nil {
			write = func() (*merge.Result, error) { return p.redacted(ctx, out, opt) }
		} else if j.Merge {
			write = func() (*merge.Result, error) { return p.Merged(ctx, out, opt) }
		}
		res, err := write()
		return p, []*merge.Result{res}, err
	}
	done, err := atomicfile.Dir(out)
	if err != nil {
		return p, nil, err
	}
	defer done()
	var results []*merge.Result
	for i := range p.Set.Files {
		res, err := p.File(ctx, i, filepath.Join(out, j.Name(p.Set, i)), opt)
		if err != nil {
			return p, nil, err
		}
		results = append(results, res)
	}
	return p, results, nil
}

// profileTime matches the time in a profile id. The time reveals nothing that the trace does not contain, but the text
// before it may come from the user.
var profileTime = regexp.MustCompile(`(?:^|-)(\d{8,12}(?:\.\d{1,9})?)(?:\.[^.]*)?$`)

func redactedID(id string) string {
	if m := profileTime.FindStringSubmatch(id); m != nil {
		return "redacted-" + m[1]
	}
	return "redacted-capture"
}

// redactedName returns the name of file i without user text.
func redactedName(window set.Set, i int) trace.FileName {
	f := window.Files[i]
	name := trace.FileName{ID: redactedID(window.ID), Rank: f.Name.Rank, Stage: f.Name.Stage, Merged: f.Name.Merged}
	if !f.Named {
		name = trace.FileName{ID: fmt.Sprintf("%s.file%d", name.ID, i), Rank: trace.NoRank}
	}
	return name
}

// redacted first redacts the files one after another and then merges the results. So the replacements of names do not
// depend on the order in which a merge reads the files.
func (p *Plan) redacted(ctx context.Context, path string, opt merge.Options) (*merge.Result, error) {
	dir, remove, err := atomicfile.TempDir("stepscope-redacted-")
	if err != nil {
		return nil, err
	}
	defer remove()
	window := set.Set{ID: opt.ProfileID}
	for i := range p.Set.Files {
		name := redactedName(p.Set, i)
		file := set.File{Path: filepath.Join(dir, name.String()), Name: name, Named: p.Set.Files[i].Named}
		if _, err := p.File(ctx, i, file.Path, merge.Options{Level: 1, Meter: opt.Meter}); err != nil {
			return nil, err
		}
		window.Files = append(window.Files, file)
	}
	opt.Meter = nil
	return merge.File(ctx, window, path, opt)
}
