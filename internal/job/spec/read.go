package spec

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/suggest"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// reader fills a T from a YAML tree according to a table of keys, and collects all problems. A key is identified by its
// path, such as profiling.prefill.isl.
type reader[T any] struct {
	origin
	into  *T
	table []key[T]
	// open holds the keys whose value is a placeholder of a sweep. bad holds the keys with a problem. The values of
	// keys in open or bad are unknown, so rules must not rely on them.
	open, bad map[string]bool
	texts     map[string]string // strings and numbers as written in the file
	quoted    map[string]bool   // strings that are quoted in the file
	backend   string            // value of backend.type
	filled    bool              // the values of a sweep's parameters are filled in
	ignored   []string          // ignored keys of the file; of an ignored section only the section
	params    []Parameter       // parameters of the sweep, if there is one
	problems  Problems
	notes     []Note
}

func newReader[T any](file string, d Dialect, into *T, table []key[T]) *reader[T] {
	return &reader[T]{
		origin: origin{file: file, dialect: d, spots: map[string]spot{}}, into: into, table: table,
		open: map[string]bool{}, bad: map[string]bool{}, texts: map[string]string{}, quoted: map[string]bool{},
	}
}

// sure reports whether the file contains the key with a value that rules may rely on.
func (r *reader[T]) sure(key string) bool { return r.given(key) && !r.open[key] && !r.bad[key] }

// problem adds a problem at a key's position.
func (r *reader[T]) problem(key, format string, args ...any) {
	r.bad[key] = true
	r.problems = append(r.problems, r.note(key, format, args...))
}

// remark adds a note about a key.
func (r *reader[T]) remark(key, format string, args ...any) {
	r.notes = append(r.notes, r.note(key, format, args...))
}

// warn adds a warning about a key.
func (r *reader[T]) warn(key, format string, args ...any) {
	r.remark(key, format, args...)
	r.notes[len(r.notes)-1].Class = warning
}

// wrong adds a problem with a key. The position of the problem is a node inside the key's value.
func (r *reader[T]) wrong(key string, n *yamltree.Node, format string, args ...any) {
	r.bad[key] = true
	r.problems = append(r.problems, Note{File: r.file, Line: n.Line, Column: n.Column, Key: key, Text: fmt.Sprintf(format, args...)})
}

// parse parses the text of a file.
func (r *reader[T]) parse(data []byte) *yamltree.Node {
	tree, problems := yamltree.Parse(data)
	for _, p := range problems {
		r.problems = append(r.problems, Note{File: r.file, Line: p.Line, Column: p.Column, Text: p.Text})
	}
	return tree
}

// read reads a whole document according to r.table.
func (r *reader[T]) read(tree *yamltree.Node) {
	switch {
	case tree == nil: // the text is not valid YAML; this has already been reported
		return
	case tree.Kind == yamltree.Null:
		r.wrong("", tree, "the file is empty")
	case tree.Kind != yamltree.Map:
		r.wrong("", tree, "want keys and values, got %s", described(tree))
		return
	default:
		r.fields("", r.table, tree)
	}
	r.missing("", r.table)
}

// fields reads the keys of a map.
func (r *reader[T]) fields(path string, keys []key[T], n *yamltree.Node) {
	for _, e := range n.Entries {
		at := join(path, e.Key)
		k := find(keys, e.Key, r.applies)
		if k == nil {
			r.problems = append(r.problems, Note{File: r.file, Line: e.Line, Column: e.Column, Key: at, Text: r.unknown(path, e.Key, keys, n)})
			continue
		}
		if k.class == ignored && !slices.ContainsFunc(r.ignored, func(of string) bool { return strings.HasPrefix(at, of+".") }) && e.Value.Kind != yamltree.Null {
			r.ignored = append(r.ignored, at)
		}
		r.field(at, k, e)
	}
}

// field reads the value of a known key.
func (r *reader[T]) field(path string, k *key[T], e yamltree.Entry) {
	r.spots[path] = spot{e.Value.Line, e.Value.Column}
	if e.Value.Kind == yamltree.Map || e.Value.Kind == yamltree.Null {
		r.spots[path] = spot{e.Line, e.Column}
	}
	if e.Value.Kind == yamltree.Null {
		if k.required || k.stays && (!r.today() || path == "profiling") {
			r.problem(path, "%s has no value", path)
		} else {
			delete(r.spots, path) // treat the key as absent
		}
		return
	}
	if k.keys == nil {
		r.value(path, k, e.Value)
		return
	}
	if e.Value.Kind != yamltree.Map {
		r.wrong(path, e.Value, "%s: want %s, got %s", path, list(r.names(k.keys)), described(e.Value))
		return
	}
	if k.begin != nil {
		k.begin(r.into)
	}
	r.fields(path, k.keys, e.Value)
}

// missing reports the required keys that are missing, including the required keys of missing maps.
func (r *reader[T]) missing(path string, keys []key[T]) {
	for i := range keys {
		k := &keys[i]
		at := join(path, k.name)
		other, value, _ := strings.Cut(k.unless, "=")
		switch {
		case r.bad[at] || !r.applies(k):
		case k.keys != nil:
			if k.required || r.given(at) {
				r.missing(at, k.keys)
			}
		case k.required && k.optional != "" && strings.Contains(k.optional, string(r.dialect)):
		case k.required && !r.given(at) && (k.unless == "" || r.texts[other] != value):
			r.problem(at, "%s", missingText(at))
		}
	}
}

// missingText describes a missing key. If srtctl has a message for this key, missingText uses srtctl's wording.
func missingText(path string) string {
	text := path + " is missing"
	if strings.HasPrefix(path, "profiling.") && (strings.HasSuffix(path, ".isl") || strings.HasSuffix(path, ".osl")) {
		text = "Error: isl and osl must be set for profiling. " + text
	}
	return text
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// find returns the key with a name. If several keys have the name, it returns the one that applies.
func find[T any](keys []key[T], name string, applies func(*key[T]) bool) *key[T] {
	for i := range keys {
		if keys[i].name == name && applies(&keys[i]) {
			return &keys[i]
		}
	}
	return nil
}

// applies reports whether the key exists in the dialect and for the backend of the file.
func (r *reader[T]) applies(k *key[T]) bool {
	return (k.only == "" || strings.Contains(k.only, string(r.dialect))) && (k.when == "" || k.when == r.backend)
}

func (r *reader[T]) names(keys []key[T]) (all []string) {
	for i := range keys {
		if r.applies(&keys[i]) {
			all = append(all, keys[i].name)
		}
	}
	return all
}

// later holds keys of later srtctl versions. Users may copy such keys into their files.
var later = map[string]string{
	"schema": "files of srtctl 2 are not supported", "roles": "files of srtctl 2 are not supported", "engine": "files of srtctl 2 are not supported",
	"profiling.aggregated": "aggregated workers are recorded by profiling.decode",
}

// mostNames is the largest number of keys that an error lists.
const mostNames = 12

// unknown describes an unknown key in a map. It suggests a key with a similar spelling that the map lacks, or the same
// key in another section.
func (r *reader[T]) unknown(path, name string, keys []key[T], in *yamltree.Node) string {
	text := fmt.Sprintf("unknown key %q", name)
	if path != "" {
		text += " in " + path
	}
	if why := later[join(path, name)]; why != "" {
		return text + "; " + why
	}
	if k := find(keys, name, func(k *key[T]) bool { return k.when != "" }); k != nil && r.backend != k.when {
		return fmt.Sprintf("%s; it is for backend.type %s, and the type is %s", text, k.when, r.backend)
	}
	here := r.names(keys)
	free := slices.DeleteFunc(slices.Clone(here), func(k string) bool { return entry(in, k) != nil })
	if like := suggest.Closest(name, free); like != "" {
		return fmt.Sprintf("%s; did you mean %s?", text, like)
	}
	for at := range r.paths("", r.table) {
		if at == name || strings.HasSuffix(at, "."+name) {
			return fmt.Sprintf("%s; did you mean %s?", text, at)
		}
	}
	if len(here) > mostNames && r.today() {
		return text
	}
	return fmt.Sprintf("%s; the keys are %s", text, list(here))
}

// paths returns the paths of all keys in a table.
func (r *reader[T]) paths(path string, keys []key[T]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range keys {
			k := &keys[i]
			at := join(path, k.name)
			if !r.applies(k) {
				continue
			}
			if !yield(at) {
				return
			}
			for below := range r.paths(at, k.keys) {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// list joins words to an enumeration for use in a sentence.
func list(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}
