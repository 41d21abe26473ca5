package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/cut"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// redactor hides what the files say of their machines and users, and the names
// of this machine and its user.
func redactor(keepNames bool) *redact.Redactor {
	opt := redact.Options{KeepNames: keepNames, Users: []string{os.Getenv("USER"), os.Getenv("LOGNAME"), filepath.Base(os.Getenv("HOME"))}}
	if name, err := os.Hostname(); err == nil {
		opt.Hosts = []string{name}
	}
	return redact.New(opt)
}

// profileTime is the time that a profile id is, which tells nothing that the
// trace does not; what stands before it is its user's.
var profileTime = regexp.MustCompile(`(?:^|-)(\d{8,12}(?:\.\d{1,9})?)(?:\.[^.]*)?$`)

func redactedID(id string) string {
	if m := profileTime.FindStringSubmatch(id); m != nil {
		return "redacted-" + m[1]
	}
	return "redacted-capture"
}

// redactedName is the name of a file without words of its own.
func redactedName(window set.Set, i int) trace.FileName {
	f := window.Files[i]
	name := trace.FileName{ID: redactedID(window.ID), Rank: f.Name.Rank, Stage: f.Name.Stage, Merged: f.Name.Merged}
	if !f.Named {
		name = trace.FileName{ID: fmt.Sprintf("%s.file%d", name.ID, i), Rank: trace.NoRank}
	}
	return name
}

// mergeRedacted merges what was redacted file by file, so that equal names
// have equal replacements whatever the order in which a merge reads.
func (c *cutCmd) mergeRedacted(ctx context.Context, p *cut.Plan, path string, opt merge.Options) (*merge.Result, error) {
	dir, err := os.MkdirTemp("", "stepscope-redacted-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
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

// redacted is what was done, for machines.
type redacted struct {
	Replaced []redact.Count   `json:"replaced"`
	Left     map[string]int64 `json:"left_out"`
}

// printRedacted says what was replaced, and what was not looked for.
func printRedacted(w io.Writer, r *redact.Redactor) {
	counts := r.Counts()
	if len(counts) == 0 {
		fmt.Fprintln(w, "redacted: nothing had to be replaced")
	}
	for _, c := range counts {
		fmt.Fprintf(w, "redacted: %s: %d, in %d places\n", c.Kind, c.Distinct, c.Places)
	}
	left := r.Left()
	if len(left) > 0 {
		keys := slices.SortedFunc(maps.Keys(left), func(a, b string) int { return cmp.Or(cmp.Compare(left[b], left[a]), cmp.Compare(a, b)) })
		more := ""
		if most := 12; len(keys) > most {
			keys, more = keys[:most], ", …"
		}
		for i, k := range keys {
			keys[i] = fmt.Sprintf("%q (%d)", k, left[k])
		}
		fmt.Fprintf(w, "left out: %s%s\n", strings.Join(keys, ", "), more)
	}
	fmt.Fprintln(w, "kept: times, shapes, and the names of operators, kernels, layers and Python functions. Look at the file before you share it.")
}
