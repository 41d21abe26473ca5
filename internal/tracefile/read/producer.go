package read

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// seen collects the names by which the producer of a file is recognised.
type seen struct {
	processes, categories []string // the first of each
	known                 bool     // there is an event with a category of Kineto
}

// fewNames is the number of names that an error lists.
const fewNames = 5

func (s *seen) process(name string) { note(&s.processes, name) }

func (s *seen) category(name string, known bool) {
	if known {
		s.known = true
	} else {
		note(&s.categories, name)
	}
}

func note(list *[]string, name string) {
	if len(*list) < fewNames && name != "" && !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// foreign returns an error if no event of the file is of a known producer. The error names the producer, or else says
// what the file has.
func (r *reader) foreign() error {
	var all seen
	for _, b := range r.order {
		if b.seen.known || b.npu != nil {
			return nil
		}
		for _, p := range b.seen.processes {
			all.process(p)
		}
		for _, c := range b.seen.categories {
			all.category(c, false)
		}
	}
	const reads = "stepscope reads traces of PyTorch's profiler and reports of Nsight Systems"
	if slices.ContainsFunc(all.processes, func(p string) bool { return strings.HasPrefix(p, "/device:") || p == "/host:CPU" }) {
		return fmt.Errorf("a JAX trace (processes %s): %s", list(all.processes), reads)
	}
	var has []string
	if len(all.processes) > 0 {
		has = append(has, "processes "+list(all.processes))
	}
	if len(all.categories) > 0 {
		has = append(has, "categories "+list(all.categories))
	}
	if has == nil {
		return nil
	}
	return fmt.Errorf("a trace of an unknown program (%s): %s", strings.Join(has, "; "), reads)
}

func list(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = columns.Clean(n[:min(len(n), 60)])
	}
	return strings.Join(out, ", ")
}
