package spec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// document is the text of one job or of one sweep: a whole file, or a variant of a file with the section base.
type document struct {
	file    string
	label   string // NAME of override_NAME, or NAME_INDEX of an item of zip_override_NAME; "": a whole file
	tree    *yamltree.Node
	dialect Dialect // "": the dialect P, unless only the dialect H accepts the document
	params  []Parameter
}

// Prefixes of the sections that change the section base.
const (
	overridePrefix = "override_"
	zipPrefix      = "zip_override_"
)

// documents returns the variants of a file: those that selected names, or all. A file without the section base has one.
func documents(file string, tree *yamltree.Node, selected string) (docs []document, problems Problems) {
	wrong := func(e *yamltree.Entry, format string, args ...any) {
		problems = append(problems, Note{File: file, Line: e.Line, Column: e.Column, Key: e.Key, Text: fmt.Sprintf(format, args...)})
	}
	base := entry(tree, "base")
	if base == nil {
		if selected != "" {
			return nil, Problems{{File: file, Line: 1, Column: 1, Text: "the file has no section base, so no variant " + strconv.Quote(selected)}}
		}
		return []document{{file: file, tree: tree}}, nil
	}
	if base.Value.Kind != yamltree.Map {
		wrong(base, "base: want the keys of a job, got %s", described(base.Value))
		return nil, problems
	}
	entries := slices.Clone(tree.Entries)
	sorts.Stable(entries, func(a, b yamltree.Entry) int { // as srtctl orders them: zip sections come last
		return strings.Compare(strings.TrimSuffix(a.Key, "_"), strings.TrimSuffix(b.Key, "_"))
	})
	var known []string
	var alike []document // documents that selected names as a pattern
	indexed := false     // selected is NAME[INDEX] of a zip section
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Key == "base":
			if selected == "base" {
				docs = append(docs, document{file: file, label: "base", tree: base.Value})
			}
			continue
		case !strings.HasPrefix(e.Key, overridePrefix) && !strings.HasPrefix(e.Key, zipPrefix):
			continue
		case e.Value.Kind != yamltree.Map:
			wrong(e, "%s: want keys of a job, got %s", e.Key, described(e.Value))
			continue
		}
		known = append(known, e.Key)
		slices, label := []*yamltree.Node{e.Value}, strings.TrimPrefix(e.Key, overridePrefix)
		zip := strings.HasPrefix(e.Key, zipPrefix)
		if zip {
			label = strings.TrimPrefix(e.Key, zipPrefix)
			if slices = zipped(e, wrong); slices == nil {
				continue
			}
			if rest, ok := strings.CutPrefix(selected, e.Key+"["); ok {
				_, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
				indexed = indexed || err == nil
			}
		}
		for n, over := range slices {
			d := document{file: file, label: label, tree: merged(base.Value, over)}
			if zip {
				d.label = fmt.Sprintf("%s_%d", label, n)
			}
			if at := entry(over, "name"); at == nil || zip && entry(e.Value, "name").Value.Kind != yamltree.List {
				d.rename(base.Value, e)
			}
			if selected == "" || selected == e.Key || selected == fmt.Sprintf("%s[%d]", e.Key, n) {
				docs = append(docs, d)
			} else if matches, err := path.Match(selected, e.Key); err == nil && matches {
				alike = append(alike, d)
			}
		}
	}
	if len(docs) == 0 && !indexed {
		docs = alike
	}
	if len(docs) == 0 && len(problems) == 0 {
		if selected == "" {
			wrong(base, "base: the file has no section override_NAME or zip_override_NAME, so no job; FILE:base selects base itself")
		} else {
			wrong(base, "the file has no variant %q; it has base%s", selected, strings.Join(append([]string{""}, known...), ", "))
		}
	}
	return docs, problems
}

// rename sets the name of a variant that has none of its own.
func (d *document) rename(base *yamltree.Node, e *yamltree.Entry) {
	name := "unnamed"
	if at := entry(base, "name"); at != nil {
		name = at.Value.Source
	}
	value := &yamltree.Node{Line: e.Line, Column: e.Column, Kind: yamltree.Text, Source: name + "_" + d.label, Quoted: true}
	d.tree.Entries = slices.DeleteFunc(slices.Clone(d.tree.Entries), func(e yamltree.Entry) bool { return e.Key == "name" })
	d.tree.Entries = append([]yamltree.Entry{{Key: "name", Line: e.Line, Column: e.Column, Value: value}}, d.tree.Entries...)
}

// merged returns base with the values of over. Maps are merged, other values replaced, and null deletes a key.
func merged(base, over *yamltree.Node) *yamltree.Node {
	out := *base
	out.Entries = slices.Clone(base.Entries)
	for _, e := range over.Entries {
		i := slices.IndexFunc(out.Entries, func(b yamltree.Entry) bool { return b.Key == e.Key })
		switch {
		case e.Value.Kind == yamltree.Null:
			if i >= 0 {
				out.Entries = slices.Delete(out.Entries, i, i+1)
			}
		case i < 0:
			out.Entries = append(out.Entries, e)
		case e.Value.Kind == yamltree.Map && out.Entries[i].Value.Kind == yamltree.Map:
			out.Entries[i].Value = merged(out.Entries[i].Value, e.Value)
		default:
			out.Entries[i] = e
		}
	}
	return &out
}

// zipped returns the items of a section zip_override_NAME: the i-th item has the i-th element of each list. It returns
// nil if the lists do not fit.
func zipped(e *yamltree.Entry, wrong func(*yamltree.Entry, string, ...any)) (all []*yamltree.Node) {
	type length struct {
		path string
		n    int
	}
	var lengths []length
	var walk func(path string, n *yamltree.Node)
	walk = func(path string, n *yamltree.Node) {
		for _, in := range n.Entries {
			switch at := join(path, in.Key); in.Value.Kind {
			case yamltree.List:
				lengths = append(lengths, length{at, len(in.Value.Items)})
			case yamltree.Map:
				walk(at, in.Value)
			}
		}
	}
	walk("", e.Value)
	if len(lengths) == 0 {
		wrong(e, "%s: no value is a list; want a list of a value for each job", e.Key)
		return nil
	}
	longest := length{"", 1}
	for _, l := range lengths {
		switch {
		case l.n == 0:
			wrong(e, "%s: %s is an empty list", e.Key, l.path)
			return nil
		case l.n == 1 || l.n == longest.n:
		case longest.path == "":
			longest = l
		default:
			wrong(e, "%s: lists of different lengths: %s has %d, %s has %d; want the same, or 1", e.Key, longest.path, longest.n, l.path, l.n)
			return nil
		}
	}
	if longest.n > mostVariants {
		wrong(e, "%s: %s has %d elements; want at most %d, one for each job", e.Key, longest.path, longest.n, mostVariants)
		return nil
	}
	for i := range longest.n {
		all = append(all, item(e.Value, i))
	}
	return all
}

// item returns a copy of a section in which each list is replaced by its i-th element, or by its only one.
func item(n *yamltree.Node, i int) *yamltree.Node {
	switch n.Kind {
	case yamltree.List:
		return n.Items[min(i, len(n.Items)-1)]
	case yamltree.Map:
		out := *n
		out.Entries = slices.Clone(n.Entries)
		for k := range out.Entries {
			out.Entries[k].Value = item(out.Entries[k].Value, i)
		}
		return &out
	}
	return n
}
