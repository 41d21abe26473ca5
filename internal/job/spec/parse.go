package spec

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Parse parses a job file. Its error is Problems: all of them, not only the first. The notes report choices made for
// the user. For a file with a sweep, the job has only the values that no parameter changes; Expand returns the jobs.
func Parse(name string, data []byte) (*Job, []Note, error) {
	tree, params, problems := document(name, data)
	j, notes, more := readJob(name, tree, params)
	if err := append(problems, more...).err(); err != nil {
		return nil, nil, err
	}
	return j, notes, nil
}

// document returns a file's tree and the parameters of its sweep.
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

// readJob reads a job from a tree; params are the valid names of placeholders.
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
