package spec

import (
	"fmt"
	"iter"
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
	params    []Parameter       // parameters of the sweep, if there is one
	problems  Problems
	notes     []Note
}

func newReader[T any](file string, into *T, table []key[T]) *reader[T] {
	return &reader[T]{
		origin: origin{file: file, spots: map[string]spot{}}, into: into, table: table,
		open: map[string]bool{}, bad: map[string]bool{}, texts: map[string]string{},
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

// wrong adds a problem with a key. The position of the problem is a node inside the key's value.
func (r *reader[T]) wrong(key string, n *yamltree.Node, format string, args ...any) {
	r.bad[key] = true
	r.problems = append(r.problems, Note{r.file, n.Line, n.Column, key, fmt.Sprintf(format, args...)})
}

// parse parses the text of a file.
func (r *reader[T]) parse(data []byte) *yamltree.Node {
	tree, problems := yamltree.Parse(data)
	for _, p := range problems {
		r.problems = append(r.problems, Note{r.file, p.Line, p.Column, "", p.Text})
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
		k := find(keys, e.Key)
		if k == nil {
			r.problems = append(r.problems, Note{r.file, e.Line, e.Column, at, unknown(path, e.Key, names(keys), r.table)})
			continue
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
		if k.required || k.stays {
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
		r.wrong(path, e.Value, "%s: want %s, got %s", path, list(names(k.keys)), described(e.Value))
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
		case r.bad[at]:
		case k.keys != nil:
			if k.required || r.given(at) {
				r.missing(at, k.keys)
			}
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

func find[T any](keys []key[T], name string) *key[T] {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

func names[T any](keys []key[T]) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.name
	}
	return all
}

// later holds keys of later srtctl versions. Users may copy such keys into their files.
var later = map[string]string{
	"schema": "files of srtctl 2 are not supported", "roles": "files of srtctl 2 are not supported", "engine": "files of srtctl 2 are not supported",
	"profiling.aggregated": "aggregated workers are recorded by profiling.decode",
}

// unknown describes an unknown key. It suggests a key with a similar spelling, or the same key in another section.
func unknown[T any](path, name string, here []string, table []key[T]) string {
	text := fmt.Sprintf("unknown key %q", name)
	if path != "" {
		text += " in " + path
	}
	if why := later[join(path, name)]; why != "" {
		return text + "; " + why
	}
	if like := suggest.Closest(name, here); like != "" {
		return fmt.Sprintf("%s; did you mean %s?", text, like)
	}
	for at := range paths("", table) {
		if at == name || strings.HasSuffix(at, "."+name) {
			return fmt.Sprintf("%s; did you mean %s?", text, at)
		}
	}
	return fmt.Sprintf("%s; the keys are %s", text, list(here))
}

// paths returns the paths of all keys in a table.
func paths[T any](path string, keys []key[T]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, k := range keys {
			at := join(path, k.name)
			if !yield(at) {
				return
			}
			for below := range paths(at, k.keys) {
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
