package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/dumps"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// largestDump is the maximum size, in bytes, of files that are inspected. Performance dumps are much smaller.
const largestDump = 8 << 20

// perfDump reports whether a file looks like a performance dump, even if the dump is malformed.
func perfDump(path string) bool {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > largestDump || filepath.Ext(path) == ".gz" {
		return false
	}
	text, err := os.ReadFile(path)
	begins := bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), []byte("{"))
	return err == nil && begins && bytes.Contains(text, []byte(`"total_duration_ms"`)) &&
		!bytes.Contains(text, []byte(`"traceEvents"`))
}

// dumpFiles returns the performance dumps that an argument names. The argument is one file, several files separated by
// commas, or a directory without traces. In a directory, dumpFiles finds all performance dumps.
func dumpFiles(ref string) []string {
	st, err := os.Stat(ref)
	switch {
	case err == nil && st.IsDir():
		if traces, err := filepath.Glob(filepath.Join(ref, "*.trace.json*")); err != nil || len(traces) > 0 {
			return nil
		}
		files, err := filepath.Glob(filepath.Join(ref, "*.json"))
		if err != nil {
			return nil
		}
		return slices.DeleteFunc(files, func(f string) bool { return !perfDump(f) })
	case err != nil && strings.Contains(ref, ","):
		var files []string
		found := false
		for part := range strings.SplitSeq(ref, ",") {
			of := dumpFiles(part)
			found = found || len(of) > 0
			if len(of) == 0 && part != "" {
				of = []string{part} // the reader of the file reports the error
			}
			files = append(files, of...)
		}
		if found {
			return files
		}
	case perfDump(ref):
		return []string{ref}
	}
	return nil
}

// dumpSides reads the arguments if they are performance dumps. Otherwise it returns nil.
func (c *compareCmd) dumpSides() ([]dumps.Side, error) {
	refs := slices.DeleteFunc(append([]string{c.A, c.B}, c.More...), func(ref string) bool { return ref == "" })
	var files [][]string
	which, other := "", ""
	for _, ref := range refs {
		f := dumpFiles(ref)
		files = append(files, f)
		if len(f) > 0 {
			which = ref
		} else {
			other = ref
		}
	}
	switch {
	case which == "":
		return nil, nil
	case len(refs) == 1:
		return nil, usagef("nothing to compare with: give a second performance dump")
	case other != "":
		if _, err := os.Stat(other); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is a performance dump, and there is no file %s", which, other)
		}
		return nil, usagef("%s is a performance dump, and %s is not: give two of a kind", which, other)
	}
	var sides []dumps.Side
	for i, ref := range refs {
		side := dumps.Side{Name: ref}
		for _, path := range files[i] {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			d, err := api.ParsePerfDump(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			side.Dumps = append(side.Dumps, d)
		}
		sides = append(sides, side)
	}
	return sides, nil
}

// compareDumps compares the performance dumps of each side with those of the first side, and applies --fail-on.
func (c *compareCmd) compareDumps(e *env, sides []dumps.Side) error {
	if err := c.noCaptures("performance dumps"); err != nil {
		return err
	}
	if named := c.limits.Named(); len(named) > 0 {
		return usagef("--fail-on %s: performance dumps have one limit for all times, such as 5%%", named[0])
	}
	result := dumps.Compare(sides, c.limits.Any())
	if len(result.Unmeasured) > 0 {
		e.Incomplete()
	}
	return c.show(e, result, func(o report.Options) *report.Comparison { return report.DumpsCompared(result, o) }, false)
}
