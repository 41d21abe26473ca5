package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/suggest"
	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Parameter is a parameter of a sweep. Its values are written as in the file.
type Parameter struct {
	Name   string
	Values []string

	nodes []*yamltree.Node
}

// Variant is one job of a sweep.
type Variant struct {
	Name       string // NAME in job_001_NAME, the name of the job's directory
	Of         string // job name in the file, without placeholders
	Parameters []Setting
	Job        *Job
	Notes      []Note
}

// mostVariants is the largest number of jobs in a sweep. The limit prevents a typing error from filling a cluster.
const mostVariants = 1000

// inBraces matches a placeholder.
var inBraces = regexp.MustCompile(`\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}`)

// placeholder reports whether a value is or contains a placeholder of the sweep. If the whole value is a placeholder
// that names no parameter, placeholder adds a problem. Braces inside a longer value are allowed, because flags may
// contain JSON.
func (r *reader[T]) placeholder(path string, n *yamltree.Node) bool {
	name, whole := alone(n)
	if whole && !r.parameter(name) {
		if n.Kind == yamltree.Map {
			return false // a regular map
		}
		text := fmt.Sprintf("%s: {%s} is not a parameter of sweep", path, name)
		var all []string
		for _, p := range r.params {
			all = append(all, p.Name)
		}
		if like := suggest.Closest(name, all); like != "" {
			text += fmt.Sprintf("; did you mean {%s}?", like)
		} else if len(all) > 0 {
			text += "; the parameters are " + list(all)
		}
		r.wrong(path, n, "%s", text)
		return true
	}
	if !whole && n.Kind == yamltree.Text {
		for _, m := range inBraces.FindAllStringSubmatch(n.Source, -1) {
			whole = whole || r.parameter(m[1])
		}
	}
	if whole {
		r.open[path] = true
	}
	return whole
}

// parameter reports whether the sweep has a parameter of this name.
func (r *reader[T]) parameter(name string) bool {
	return slices.ContainsFunc(r.params, func(p Parameter) bool { return p.Name == name })
}

// alone returns the name of the placeholder if the whole value is a placeholder: "{name}", or {name} without quotes,
// which YAML parses as a map.
func alone(n *yamltree.Node) (name string, ok bool) {
	if n.Kind == yamltree.Map && len(n.Entries) == 1 && n.Entries[0].Value.Kind == yamltree.Null {
		return n.Entries[0].Key, true
	}
	if m := inBraces.FindStringSubmatch(n.Source); n.Kind == yamltree.Text && m != nil && m[0] == strings.TrimSpace(n.Source) {
		return m[1], true
	}
	return "", false
}

// sweep reads the parameters in the section sweep.
func (r *reader[T]) sweep(e yamltree.Entry) {
	r.spots["sweep"] = spot{e.Line, e.Column}
	if e.Value.Kind != yamltree.Map {
		if e.Value.Kind != yamltree.Null {
			r.wrong("sweep", e.Value, "sweep: want parameters, each with a list of values, got %s", described(e.Value))
		}
		return
	}
	jobs := 1
	for _, p := range e.Value.Entries {
		at := join("sweep", p.Key)
		r.spots[at] = spot{p.Line, p.Column}
		if !parameter.MatchString(p.Key) {
			r.problem(at, "sweep: %q is not a parameter name: want letters, digits, - and _", shortened(p.Key))
			continue
		}
		if p.Value.Kind != yamltree.List || len(p.Value.Items) == 0 {
			r.wrong(at, p.Value, "%s: want a list of values, got %s", at, described(p.Value))
			continue
		}
		param := Parameter{Name: p.Key, nodes: p.Value.Items}
		for _, v := range p.Value.Items {
			text, ok := swept(v)
			if !ok {
				r.wrong(at, v, "%s: want strings, numbers, true, false or lists of these, got %s", at, described(v))
			}
			param.Values = append(param.Values, text)
		}
		if jobs = min(jobs*len(param.Values), mostVariants+1); jobs > mostVariants {
			r.problem("sweep", "sweep: more than %d jobs", mostVariants)
		}
		r.params = append(r.params, param)
	}
}

var parameter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// swept returns a parameter's value as a string. The items of a list are joined with commas.
func swept(n *yamltree.Node) (string, bool) {
	switch n.Kind {
	case yamltree.Null, yamltree.Map:
		return "", false
	case yamltree.List:
		var items []string
		for _, item := range n.Items {
			text, ok := swept(item)
			if !ok || item.Kind == yamltree.List {
				return "", false
			}
			items = append(items, text)
		}
		return strings.Join(items, ","), len(items) > 0
	}
	return n.Source, true
}

// Expand returns the jobs of a sweep: one job for each combination of parameter values. The value of the last parameter
// changes fastest. For a file without a sweep, Expand returns one job.
func Expand(name string, data []byte) ([]Variant, error) {
	if _, _, err := Parse(name, data); err != nil {
		return nil, err
	}
	tree, params, _ := document(name, data)
	jobs := 1
	for _, p := range params {
		jobs *= len(p.Values)
	}
	all, of := []Variant(nil), strings.Trim(inBraces.ReplaceAllString(writtenName(tree), ""), "-_. ")
	var problems Problems
	said := map[Note]bool{}
	for i := range jobs {
		values := make(map[string]*yamltree.Node, len(params))
		settings := make([]Setting, len(params))
		for k, rest := len(params)-1, i; k >= 0; k-- {
			p := params[k]
			at := rest % len(p.Values)
			rest /= len(p.Values)
			values[p.Name], settings[k] = p.nodes[at], Setting{p.Name, p.Values[at]}
		}
		j, notes, wrong := readJob(name, filled(tree, values, true), nil)
		for _, n := range wrong {
			if !said[n] {
				said[n] = true
				n.Text += " (with " + told(settings) + ")"
				problems = append(problems, n)
			}
		}
		j.Sweep = params
		j.Name = variantName(tree, j.Name, settings)
		all = append(all, Variant{Name: fmt.Sprintf("job_%03d_%s", i+1, j.FileName()), Of: cmp.Or(of, "jobs"), Parameters: settings, Job: j, Notes: notes})
	}
	return all, problems.err()
}

// Told formats the parameters for display, for example as "size=4096 and graph=true".
func (v *Variant) Told() string { return told(v.Parameters) }

func told(settings []Setting) string {
	words := make([]string, len(settings))
	for i, s := range settings {
		words[i] = s.Name + "=" + shortened(s.Value)
	}
	return list(words)
}

// variantName returns the name of a job of a sweep. As in srtctl, the parameters that do not occur in the name are
// appended.
func variantName(tree *yamltree.Node, name string, settings []Setting) string {
	written := writtenName(tree)
	for _, s := range settings {
		if !strings.Contains(written, "{"+s.Name+"}") {
			name += "_" + s.Name + s.Value
		}
	}
	return name
}

// writtenName returns the job name as written in the file.
func writtenName(tree *yamltree.Node) string {
	for _, e := range tree.Entries {
		if e.Key == "name" {
			return e.Value.Source
		}
	}
	return ""
}

// filled returns a copy of a tree in which the placeholders of the sweep are replaced by values. If top is set, the
// tree is the whole document. In that case filled removes the section sweep.
func filled(n *yamltree.Node, values map[string]*yamltree.Node, top bool) *yamltree.Node {
	if name, ok := alone(n); ok && values[name] != nil {
		v := *values[name]
		v.Line, v.Column = n.Line, n.Column
		return &v
	}
	out := *n
	switch n.Kind {
	case yamltree.Text:
		out.Source = inBraces.ReplaceAllStringFunc(n.Source, func(in string) string {
			v := values[inBraces.FindStringSubmatch(in)[1]]
			if v == nil {
				return in
			}
			text, _ := swept(v)
			return text
		})
	case yamltree.List:
		out.Items = make([]*yamltree.Node, len(n.Items))
		for i, item := range n.Items {
			out.Items[i] = filled(item, values, false)
		}
	case yamltree.Map:
		out.Entries = nil
		for _, e := range n.Entries {
			if top && e.Key == "sweep" {
				continue
			}
			e.Value = filled(e.Value, values, false)
			out.Entries = append(out.Entries, e)
		}
	}
	return &out
}
