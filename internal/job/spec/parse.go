package spec

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Parse parses a job file. The returned error is of type Problems and lists all problems, not only the first. The notes
// report defaults and conversions that Parse applied. If the file has a sweep, the returned job contains only the
// values that do not depend on a parameter. Expand returns the jobs of the sweep.
func Parse(name string, data []byte) (*Job, []Note, error) {
	tree, params, problems := document(name, data)
	j, notes, more := readJob(name, tree, params)
	if err := append(problems, more...).err(); err != nil {
		return nil, nil, err
	}
	return j, notes, nil
}

// document returns the YAML tree of a file and the parameters of the file's sweep.
func document(name string, data []byte) (*yamltree.Node, []Parameter, Problems) {
	r := newReader(name, newJob(), jobKeys)
	tree := r.parse(data)
	if tree != nil {
		for _, e := range tree.Entries {
			if e.Key == "sweep" {
				r.sweep(e)
			}
		}
	}
	return tree, r.params, r.problems
}

// readJob reads a job from a YAML tree. params are the parameters to which placeholders may refer.
func readJob(name string, tree *yamltree.Node, params []Parameter) (*Job, []Note, Problems) {
	r := newReader(name, newJob(), jobKeys)
	r.params = params
	r.read(tree)
	if tree != nil && tree.Kind == yamltree.Map {
		jobRules{r, r.into}.check()
	}
	InOrder(r.notes)
	r.into.origin = r.origin
	return r.into, slices.Clip(r.notes), r.problems
}
