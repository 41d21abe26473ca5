package spec

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// value reads a value that is not a map of known keys, according to the type of its destination.
func (r *reader[T]) value(path string, k *key[T], n *yamltree.Node) {
	if k.at == nil {
		return
	}
	to := k.at(r.into)
	_, isText := to.(*string)
	if _, ok := to.(*[]Parameter); !ok && !(isText && r.literal(n)) && r.placeholder(path, n) {
		if to, ok := to.(*string); ok && k.choices == nil && !r.bad[path] {
			*to = n.Source
		}
		return
	}
	switch to := to.(type) {
	case *string:
		r.text(path, k, to, n)
	case *int:
		least := k.least
		if k.zero && r.today() {
			least = min(least, 0)
		}
		r.number(path, least, k.largest(), to, n)
	case *float64:
		if v, err := strconv.ParseFloat(strings.TrimSpace(n.Source), 64); n.Kind == yamltree.Int || n.Kind == yamltree.Float || n.Kind == yamltree.Text && err == nil {
			*to = cmp.Or(n.Float, v)
		} else {
			r.wrong(path, n, "%s: want a number, got %s", path, described(n))
		}
	case *any:
	case *[]string:
		r.list(path, to, n)
	case *bool:
		if n.Kind == yamltree.Bool {
			*to = n.Bool
		} else if yes, ok := pythonBool[strings.ToLower(n.Source)]; ok && r.today() && n.Kind != yamltree.List && n.Kind != yamltree.Map {
			*to = yes
		} else if yes, ok := oldBool(n); ok {
			*to = yes
			r.remark(path, "%s: %s is read as %t, as srtctl reads it", path, n.Source, yes)
		} else {
			r.wrong(path, n, "%s: want true or false, got %s", path, described(n))
		}
	case *[]int:
		r.numbers(path, to, n)
	case *[]Mount:
		r.mounts(path, to, n)
	case func([]Setting):
		r.settings(path, to, n)
	case func([]Flag):
		r.flags(path, to, n)
	case *[]Parameter:
		*to = r.params
	default:
		panic(fmt.Sprintf("the table has a %T at %s", to, path))
	}
}

// described returns a description of a value for use in a sentence.
func described(n *yamltree.Node) string {
	switch n.Kind {
	case yamltree.Null:
		return "nothing"
	case yamltree.List:
		if len(n.Items) == 0 {
			return "an empty list"
		}
		return "a list"
	case yamltree.Map:
		return "a map"
	}
	return strconv.Quote(shortened(n.Source))
}

func shortened(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// text reads a string. If the value is a number or a boolean, text uses the value as written: in "container: 0.5" the
// user intends a string but has omitted the quotes that YAML requires.
func (r *reader[T]) text(path string, k *key[T], to *string, n *yamltree.Node) {
	got, ok := r.letters(path, n)
	if !ok {
		return
	}
	r.texts[path], r.quoted[path] = got, n.Quoted
	choices := k.choices
	if r.today() {
		choices = k.today
	}
	if !k.numbers {
		r.wantsText(path, n)
	}
	switch {
	case len(choices) > 0 && !slices.Contains(choices, got):
		r.wrong(path, n, "%s: %q is not one of %s", path, shortened(got), list(choices))
		return
	case k.lines && r.today():
	case strings.TrimSpace(got) == "" && r.today() && *to == "":
		delete(r.spots, path) // the key counts as absent, as for srtctl
		return
	case strings.TrimSpace(got) == "":
		r.wrong(path, n, "%s is empty", path)
		return
	case strings.ContainsFunc(got, func(c rune) bool { return control(c) && !(k.lines && (c == '\n' || c == '\t')) }):
		r.wrong(path, n, "%s has a line break or another control character", path)
		return
	}
	*to = got
}

// literal reports whether a text with braces is a text in the dialects M and H, and not a misspelt placeholder.
func (r *reader[T]) literal(n *yamltree.Node) bool {
	name, whole := alone(n)
	return r.today() && n.Kind == yamltree.Text && whole && !r.parameter(name)
}

// wantsText adds a note if srtctl refuses a scalar because it is not a text.
func (r *reader[T]) wantsText(path string, n *yamltree.Node) {
	if r.today() && n.Kind != yamltree.Text && !r.filled {
		r.remark(path, "%s: srtctl wants a text here, write %q", path, n.Source)
	}
}

// pythonBool are the texts and numbers that srtctl reads as booleans, in lower case.
var pythonBool = map[string]bool{
	"t": true, "true": true, "y": true, "yes": true, "on": true, "1": true,
	"f": false, "false": false, "n": false, "no": false, "off": false, "0": false,
}

// list reads a list of strings.
func (r *reader[T]) list(path string, to *[]string, n *yamltree.Node) {
	if n.Kind != yamltree.List {
		r.wrong(path, n, "%s: want a list of strings, got %s", path, described(n))
		return
	}
	for _, item := range n.Items {
		if got, ok := r.letters(path, item); ok {
			r.wantsText(path, item)
			*to = append(*to, got)
		}
	}
}

func control(c rune) bool { return c < ' ' || c == 0x7f }

// letters returns the text of a scalar.
func (r *reader[T]) letters(path string, n *yamltree.Node) (string, bool) {
	switch n.Kind {
	case yamltree.Null, yamltree.List, yamltree.Map:
		r.wrong(path, n, "%s: want a string, got %s", path, described(n))
		return "", false
	}
	return n.Source, true
}

// number reads an integer, which may be quoted.
func (r *reader[T]) number(path string, least, most int, to *int, n *yamltree.Node) {
	v, quoted, ok := whole(n)
	switch {
	case !ok:
		r.wrong(path, n, "%s: want a whole number, got %s", path, described(n))
	case v < int64(least):
		r.wrong(path, n, "%s: want at least %d, got %d", path, least, v)
	case v > int64(most):
		r.wrong(path, n, "%s: want at most %d, got %d", path, most, v)
	default:
		if quoted {
			r.remark(path, "%s: the string %q is read as the number %d", path, n.Source, v)
		}
		*to = int(v)
		r.texts[path] = n.Source
	}
}

// whole returns the integer value of a node.
func whole(n *yamltree.Node) (v int64, quoted, ok bool) {
	switch n.Kind {
	case yamltree.Int:
		return n.Int, false, true
	case yamltree.Float:
		if n.Float == math.Trunc(n.Float) && math.Abs(n.Float) < 1<<53 {
			return int64(n.Float), false, true
		}
	case yamltree.Text:
		v, err := strconv.ParseInt(strings.TrimSpace(n.Source), 10, 64)
		return v, true, err == nil
	}
	return 0, false, false
}

// numbers reads a list of integers, or 1x4x8.
func (r *reader[T]) numbers(path string, to *[]int, n *yamltree.Node) {
	items := n.Items
	switch n.Kind {
	case yamltree.List:
	case yamltree.Text, yamltree.Int:
		if n.Kind == yamltree.Int && r.today() && !r.filled {
			r.remark(path, "%s: srtctl wants a list or a text here, write %q", path, n.Source)
		}
		for part := range strings.SplitSeq(n.Source, "x") {
			items = append(items, &yamltree.Node{Line: n.Line, Column: n.Column, Kind: yamltree.Text, Source: part})
		}
	default:
		r.wrong(path, n, "%s: want a list of numbers, or 1x4x8, got %s", path, described(n))
		return
	}
	for _, item := range items {
		if r.placeholder(path, item) {
			continue
		}
		v, _, ok := whole(item)
		if !ok || v < 1 || v > most {
			r.wrong(path, item, "%s: want numbers of at least 1, got %s", path, described(item))
			return
		}
		*to = append(*to, int(v))
	}
}

var mountForm = regexp.MustCompile(`^[^:]+:[^:]+$`)

func (r *reader[T]) mounts(path string, to *[]Mount, n *yamltree.Node) {
	if n.Kind != yamltree.List {
		r.wrong(path, n, "extra_mount must be a list of 'host:container' strings, got %s", described(n))
		return
	}
	for _, item := range n.Items {
		switch {
		case item.Kind != yamltree.Text:
			r.wrong(path, item, "extra_mount entries must be strings, got %s", described(item))
		case r.today() && !strings.Contains(item.Source, ":"), !r.today() && !mountForm.MatchString(item.Source), strings.ContainsFunc(item.Source, control):
			r.wrong(path, item, "extra_mount entries must be in 'host:container' format, got %s", described(item))
		default:
			host, container, _ := strings.Cut(item.Source, ":")
			*to = append(*to, Mount{host, container})
		}
	}
}

// settings reads a map of strings.
func (r *reader[T]) settings(path string, to func([]Setting), n *yamltree.Node) {
	if n.Kind != yamltree.Map {
		r.wrong(path, n, "%s: want names and values, got %s", path, described(n))
		return
	}
	var all []Setting
	for _, e := range n.Entries {
		at := join(path, e.Key)
		r.spots[at] = spot{e.Value.Line, e.Value.Column}
		free := strings.HasSuffix(path, "environment") || strings.HasSuffix(path, ".env")
		if free && !variable.MatchString(e.Key) {
			r.problems = append(r.problems, Note{File: r.file, Line: e.Line, Column: e.Column, Key: at, Text: fmt.Sprintf("%s: %q is not a variable name", path, shortened(e.Key))})
		}
		// In these values, braces that are not a placeholder are allowed, because shells use braces.
		if name, ok := alone(e.Value); ok && r.parameter(name) {
			all = append(all, Setting{e.Key, "{" + name + "}"})
		} else if value, ok := r.letters(at, e.Value); ok {
			r.wantsText(at, e.Value)
			switch {
			case strings.ContainsRune(value, 0):
				r.wrong(at, e.Value, "%s has a zero byte", at)
			case !free && strings.ContainsFunc(e.Key+value, control):
				r.wrong(at, e.Value, "%s has a line break or another control character", at)
			}
			all = append(all, Setting{e.Key, value})
		}
	}
	to(all)
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ours lists the flags that stepscope itself derives from the job's resources.
var ours = []string{"dist-init-addr", "nnodes", "node-rank"}

// freeForm matches the names of flags in the dialects M and H.
var freeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

var flagForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// flags reads the flags of a role; path is backend.sglang_config.ROLE.
func (r *reader[T]) flags(path string, to func([]Flag), n *yamltree.Node) {
	if n.Kind != yamltree.Map {
		r.wrong(path, n, "%s: want flags and values, got %s", path, described(n))
		return
	}
	section := strings.TrimPrefix(path, "backend.")
	all := []Flag{}
	for _, e := range n.Entries {
		at := join(path, e.Key)
		r.spots[at] = spot{e.Line, e.Column}
		switch {
		case r.today() && freeForm.MatchString(e.Key):
			if r.backend == SGLang && slices.Contains(ours, strings.ReplaceAll(e.Key, "_", "-")) {
				r.warn(at, "%s: %s follows from the job's resources; leave it out", section, e.Key)
			}
		case strings.Contains(e.Key, "_") && !r.today():
			r.problem(at, "Invalid key '%s' in %s: Keys must use dashes (kebab-case), not underscores. Use '%s' instead.",
				e.Key, section, strings.ReplaceAll(e.Key, "_", "-"))
		case !flagForm.MatchString(e.Key):
			r.problem(at, "%s: %q is not a flag name; write it without leading dashes", section, shortened(e.Key))
		case slices.Contains(ours, e.Key):
			r.problem(at, "%s: %s follows from the job's resources; leave it out", section, e.Key)
		}
		if v, ok := r.flag(at, e.Value); ok {
			all = append(all, Flag{e.Key, v})
		}
	}
	sorts.By(all, func(a, b Flag) int { return strings.Compare(a.Key, b.Key) })
	if r.today() {
		for i := range all {
			all[i].Key = strings.ReplaceAll(all[i].Key, "_", "-")
		}
	}
	to(all)
}

// flag reads the value of a flag, or the value of one item of a flag's list.
func (r *reader[T]) flag(path string, n *yamltree.Node) (any, bool) {
	if !r.literal(n) && r.placeholder(path, n) {
		return n.Source, true
	}
	if r.today() {
		switch {
		case n.Kind == yamltree.Null || n.Kind == yamltree.Map:
			return n.Plain(), true
		case n.Kind == yamltree.Float && !pythonFloat.MatchString(n.Source):
			return n.Source, true
		}
	}
	switch n.Kind {
	case yamltree.Bool:
		return n.Bool, true
	case yamltree.Int:
		return n.Int, true
	case yamltree.Float:
		return n.Float, true
	case yamltree.Text:
		if yes, ok := oldBool(n); ok {
			r.remark(path, "%s: %s is read as %t, as srtctl reads it", path, n.Source, yes)
			return yes, true
		}
		if strings.ContainsRune(n.Source, 0) {
			r.wrong(path, n, "%s has a zero byte", path)
			return nil, false
		}
		return n.Source, true
	case yamltree.List:
		items := []any{}
		for _, item := range n.Items {
			if item.Kind == yamltree.List && !r.today() {
				r.wrong(path, item, "%s: the value of a flag cannot be a list of lists", path)
				return nil, false
			}
			v, ok := r.flag(path, item)
			if !ok {
				return nil, false
			}
			items = append(items, v)
		}
		return items, true
	case yamltree.Map:
		r.wrong(path, n, "%s: the value of a flag cannot be a map; write JSON as a quoted string", path)
	default:
		r.wrong(path, n, "%s has no value; write true for a flag without one", path)
	}
	return nil, false
}

// pythonFloat matches the numbers that Python's YAML parser takes for floating-point numbers. It reads 1e6 as a text.
var pythonFloat = regexp.MustCompile(`^[-+]?(\d[\d_]*\.[\d_]*([eE][-+]\d+)?|\.[\d_]+([eE][-+]\d+)?|\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)

// oldBool parses yes, no, on and off without quotes. YAML 1.1 reads these words as booleans, and so does Python.
func oldBool(n *yamltree.Node) (yes, ok bool) {
	if n.Kind != yamltree.Text || n.Quoted {
		return false, false
	}
	switch n.Source {
	case "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}
