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
	Misfit     string // why the workers do not fit on their nodes; "": they fit
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

// expand returns the jobs of a document: one for each combination of parameter values. The value of the last parameter
// changes fastest. before is the number of jobs of the file before the document. If wrong is set, the parameters are not
// valid, and only the document itself is checked.
func (d *document) expand(before int, wrong bool) ([]Variant, []Note, Problems) {
	dialect := d.dialect
	j, notes, problems := d.template()
	if wrong || len(problems) > 0 {
		return nil, notes, problems
	}
	if len(d.params) == 0 {
		v := d.variant(before, j, notes, nil)
		if misfit := j.Misfit(); misfit != "" {
			n := j.note("resources", "%s", misfit)
			n.Class = warning
			notes = append(notes, n)
		}
		return []Variant{v}, notes, nil
	}
	all, said, problems := d.combinations(before)
	if len(problems) > 0 && dialect == "" && d.dialect == "" { // only the dialect H may accept all combinations
		d.dialect = DialectH
		return d.expand(before, false)
	}
	misfits, first := 0, ""
	for _, v := range all {
		if v.Misfit != "" {
			if misfits++; misfits == 1 {
				first = v.Misfit
			}
		}
	}
	if misfits > 0 {
		n := j.note("sweep", "%d of %d jobs do not fit (first: %s)", misfits, len(all), first)
		n.Class = warning
		said = append(said, n)
	}
	return all, append(notes, said...), problems
}

// variant returns the job of a document as the n-th job of a file.
func (d *document) variant(n int, j *Job, notes []Note, settings []Setting) Variant {
	of := strings.Trim(inBraces.ReplaceAllString(writtenName(d.tree), ""), "-_. ")
	return Variant{Name: fmt.Sprintf("job_%03d_%s", n+1, j.FileName()), Of: cmp.Or(of, "jobs"), Parameters: settings, Job: j, Notes: notes, Misfit: j.Misfit()}
}

// combinations returns a job for each combination of parameter values, and the notes about the jobs.
func (d *document) combinations(before int) (all []Variant, notes []Note, problems Problems) {
	jobs := 1
	for _, p := range d.params {
		jobs *= len(p.Values)
	}
	dialect := cmp.Or(d.dialect, DialectP)
	said := map[Note]bool{}
	for i := range jobs {
		values := make(map[string]*yamltree.Node, len(d.params))
		settings := make([]Setting, len(d.params))
		for k, rest := len(d.params)-1, i; k >= 0; k-- {
			p := d.params[k]
			at := rest % len(p.Values)
			rest /= len(p.Values)
			values[p.Name], settings[k] = p.nodes[at], Setting{p.Name, p.Values[at]}
		}
		j, more, wrong := d.job(dialect, filled(d.tree, values, true), nil)
		for _, n := range wrong {
			if !said[n] {
				said[n] = true
				n.Text += " (with " + told(settings) + ")"
				problems = append(problems, n)
			}
		}
		for _, n := range more {
			if !said[n] {
				said[n] = true
				notes = append(notes, n)
			}
		}
		j.Sweep = d.params
		j.Name = d.nameOf(j.Name, settings)
		all = append(all, d.variant(before+i, j, more, settings))
	}
	return all, notes, problems
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

// nameOf returns the name of a job of a sweep. As in srtctl, the parameters are appended; in the dialect P, only those
// that do not occur in the name.
func (d *document) nameOf(name string, settings []Setting) string {
	written := writtenName(d.tree)
	for _, s := range settings {
		if d.dialect == DialectH || !strings.Contains(written, "{"+s.Name+"}") {
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
