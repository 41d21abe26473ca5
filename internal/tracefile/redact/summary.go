package redact

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Here returns a Redactor that also hides the names of this machine and its user.
func Here(keepNames bool) *Redactor {
	opt := Options{KeepNames: keepNames, Users: []string{os.Getenv("USER"), os.Getenv("LOGNAME"), filepath.Base(os.Getenv("HOME"))}}
	if name, err := os.Hostname(); err == nil {
		opt.Hosts = []string{name}
	}
	return New(opt)
}

// Summary lists all replacements and omissions as JSON.
type Summary struct {
	Replaced []Count          `json:"replaced"`
	Left     map[string]int64 `json:"left_out"`
}

// Summary returns the replacements and omissions so far.
func (r *Redactor) Summary() *Summary { return &Summary{r.Counts(), r.Left()} }

// Print writes the replacements and omissions as text, and lists the data that was kept.
func (r *Redactor) Print(w io.Writer) {
	counts := r.Counts()
	if len(counts) == 0 {
		fmt.Fprintln(w, "redacted: nothing had to be replaced")
	}
	for _, c := range counts {
		fmt.Fprintf(w, "redacted: %s: %d, in %d places\n", c.Kind, c.Distinct, c.Places)
	}
	left := r.Left()
	if len(left) > 0 {
		keys := sorts.Sorted(maps.Keys(left), func(a, b string) int { return cmp.Or(cmp.Compare(left[b], left[a]), cmp.Compare(a, b)) })
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
