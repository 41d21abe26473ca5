package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Parse parses a job file. The returned error is of type Problems and lists all problems, not only the first. The notes
// report defaults and conversions that Parse applied. If the file has a sweep, the returned job contains only the
// values that do not depend on a parameter. If the file has variants, the job is the first one. Load returns all jobs
// of the file.
func Parse(name string, data []byte) (*Job, []Note, error) {
	docs, problems := split(name, data, "")
	var first *Job
	var notes []Note
	for i := range docs {
		j, more, wrong := docs[i].template()
		problems = append(problems, wrong...)
		if first == nil {
			first, notes = j, more
		}
	}
	if err := problems.err(); err != nil {
		return nil, nil, err
	}
	return first, notes, nil
}

// File is a valid job file.
type File struct {
	Dialect  Dialect
	Variants []Variant
	Notes    []Note
}

// Load parses a job file and returns all its jobs: one for each combination of the values of a sweep, for each variant
// of a file with the section base. selected names variants as srtctl does, such as override_x or zip_override_x[2];
// "" selects all. The returned error is of type Problems; with an error, the file has only notes about the forms of values.
func Load(name string, data []byte, selected string) (*File, error) {
	docs, problems := split(name, data, selected)
	f := &File{}
	oneDialect(docs)
	wrong := len(problems) > 0
	ways := map[Note]int{} // number of variants that have the problem
	var all Problems
	var labels []string
	for i := range docs {
		d := &docs[i]
		variants, notes, more := d.expand(len(f.Variants), wrong)
		for _, n := range more {
			if ways[n]++; ways[n] == 1 {
				all, labels = append(all, n), append(labels, d.label)
			}
		}
		for k := range variants {
			if v := &variants[k]; d.label != "" {
				v.Parameters = append([]Setting{{"variant", d.label}}, v.Parameters...)
				v.Parameters = []Setting{{"variant", strings.TrimPrefix(told(v.Parameters), "variant=")}}
			}
		}
		f.Variants, f.Notes, f.Dialect = append(f.Variants, variants...), append(f.Notes, notes...), d.dialect
		if len(f.Variants) > mostVariants {
			problems = append(problems, Note{File: name, Line: 1, Column: 1, Text: fmt.Sprintf("more than %d jobs", mostVariants)})
			break
		}
	}
	for i, n := range all {
		if ways[n] < len(docs) {
			all[i].Text += " [" + labels[i] + "]"
		}
	}
	if err := append(problems, all...).err(); err != nil {
		f.Notes = slices.DeleteFunc(f.Notes, func(n Note) bool { return n.Class != "" || !(f.Dialect == DialectM || f.Dialect == DialectH) })
		return &File{Notes: unique(f.Notes)}, err
	}
	f.Notes = unique(f.Notes)
	return f, nil
}

// oneDialect gives the variants of a file without marks the dialect of the others.
func oneDialect(docs []document) {
	if len(docs) < 2 {
		return
	}
	var found Dialect
	for i := range docs {
		docs[i].template()
		found = cmp.Or(docs[i].dialect, found)
	}
	for i := range docs {
		docs[i].dialect = cmp.Or(docs[i].dialect, found)
	}
}

// unique returns the notes in order, without repetitions. It joins the notes about ignored keys.
func unique(notes []Note) (all []Note) {
	InOrder(notes)
	var first *Note
	var names []string
	for _, n := range notes {
		switch {
		case n.Class != ignored:
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		case first == nil:
			all = append(all, n)
			first = &all[len(all)-1]
			fallthrough
		default:
			for name := range strings.SplitSeq(n.Text, ", ") {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	for i := range all {
		if all[i].Class == ignored {
			all[i].Text = "ignored here: " + strings.Join(names, ", ") + " (stepscope starts neither Dynamo nor nginx, and has a load of its own)"
		}
	}
	return all
}

// split returns the documents of a file with their dialects and parameters.
func split(name string, data []byte, selected string) ([]document, Problems) {
	r := newReader(name, "", newJob(DialectP), jobKeys)
	tree := r.parse(data)
	if tree == nil {
		return nil, r.problems
	}
	docs, problems := documents(name, tree, selected)
	problems = append(r.problems, problems...)
	for i := range docs {
		d := &docs[i]
		if d.tree.Kind == yamltree.Map {
			lean := *d.tree
			lean.Entries = slices.DeleteFunc(slices.Clone(d.tree.Entries), func(e yamltree.Entry) bool { return e.Key == "lock" })
			d.tree = &lean
		}
		var mixed *Note
		if d.dialect, mixed = dialectOf(name, d.tree); mixed != nil {
			return nil, append(problems, *mixed)
		}
		r := newReader(name, d.dialect, newJob(DialectP), jobKeys)
		if e := entry(d.tree, "sweep"); e != nil {
			r.sweep(*e)
		}
		d.params = r.params
		problems = append(problems, r.problems...)
	}
	return docs, problems
}

// template reads a document without the values of its parameters. It settles the dialect of the document.
func (d *document) template() (*Job, []Note, Problems) {
	if d.dialect != "" {
		return d.job(d.dialect, d.tree, d.params)
	}
	j, notes, problems := d.job(DialectP, d.tree, d.params)
	if len(problems) == 0 {
		return j, notes, nil
	}
	if k, more, fewer := d.job(DialectH, d.tree, d.params); len(fewer) < len(problems) {
		d.dialect = DialectH
		return k, more, fewer
	}
	return j, notes, problems
}

// job reads a job from a YAML tree. params are the parameters to which placeholders may refer.
func (d *document) job(dialect Dialect, tree *yamltree.Node, params []Parameter) (*Job, []Note, Problems) {
	r := newReader(d.file, dialect, newJob(dialect), jobKeys)
	r.params, r.backend, r.filled = params, SGLang, len(d.params) > len(params)
	if e := entry(tree, "backend"); e != nil {
		if e := entry(e.Value, "type"); e != nil && e.Value.Kind == yamltree.Text && dialect != DialectP && e.Value.Source != StepScope {
			r.backend = e.Value.Source
		}
	}
	r.read(tree)
	r.into.origin = r.origin // the rules use it
	if tree.Kind == yamltree.Map {
		jobRules{r, r.into}.check()
	}
	if len(r.ignored) > 0 {
		r.notes = append(r.notes, r.note(r.ignored[0], "%s", strings.Join(r.ignored, ", ")))
		n := &r.notes[len(r.notes)-1]
		n.Key, n.Class = "", ignored
	}
	InOrder(r.notes)
	return r.into, slices.Clip(r.notes), r.problems
}
