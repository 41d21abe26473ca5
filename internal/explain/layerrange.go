package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/layers"
	"github.com/stepscope/stepscope/trace"
)

// markers numbers the texts of layer-wise markers, the modules they name, and
// the modules' layers and kinds, over all ranks.
type markers struct {
	byText  map[string]int32 // in texts; -1: no marker
	texts   []markerText
	modules []module
	groups  []layers.Place // modules of one kind in all layers of a stack; Layer is -1, or 0 for any
	layers  []layer
}

type markerText struct {
	module int32
	inputs string  // as shown; "" none
	flops  float64 // of a linear layer; 0 not known
}

type module struct {
	path     string
	static   string
	sizes    string // of its parameters, for telling modules alike
	elements int64
	group    int32
	layer    int32 // in layers; -1
	scope    bool  // a range of the pipeline around modules
	seen     bool  // has ranges, and not just a name in the file
}

type layer struct {
	stack string
	n     int
	like  string // what layers have in common that should take the same time
}

// layerRange is one range of a module on the host.
type layerRange struct {
	start, end int64
	inner      int64 // host time of the ranges directly in it
	text       int32
	module     int32
	parent     int32 // in ranges; -1
	step       int32
	firstGroup bool // no range of a module of the same kind around it
	firstLayer bool // no range of the same layer around it
}

func (g *layerRange) dur() int64 { return g.end - g.start }

// findMarkers looks for layer-wise markers among the names of all ranks, and
// ties launches to them: it fills in the ranks' ranges. Captures without markers,
// for which it gives nil, pay for a look at each distinct name alone.
func findMarkers(ranks []*rank, hosts []*host) *markers {
	m := &markers{byText: map[string]int32{}}
	var parsed []layers.Marker
	prefixes := map[string]bool{} // of components whose names are not known beforehand
	for _, h := range hosts {
		for id := 1; id < h.t.Strings.Len(); id++ {
			text := h.t.Strings.Get(trace.StringID(id))
			if _, known := m.byText[text]; known {
				continue
			}
			mk, ok := layers.Parse(text)
			if !ok {
				continue
			}
			m.byText[text] = int32(len(parsed))
			parsed = append(parsed, mk)
			if mk.Form == layers.Short {
				prefixes[component(&mk)] = true
			}
		}
	}
	modules := 0
	var dicts []string
	bare := func(mk *layers.Marker) bool {
		return mk.Form == layers.Bare && !prefixes[component(mk)] && !layers.Known(mk.Module)
	}
	for i := range parsed {
		switch mk := &parsed[i]; {
		case mk.Form == layers.Dict:
			dicts = append(dicts, mk.Module)
			modules++
		case mk.Form != layers.Scope && !bare(mk):
			modules++
		}
	}
	if modules == 0 {
		return nil
	}
	slices.Sort(dicts)
	root := layers.Root(slices.Compact(dicts))
	m.texts = make([]markerText, len(parsed))
	add := newModules(m, root)
	for i := range parsed {
		if mk := &parsed[i]; bare(mk) {
			m.texts[i].module = -1
		} else {
			m.texts[i] = add(mk)
		}
	}
	found := 0
	for i, r := range ranks {
		r.findRanges(hosts[i].t, m)
		found += len(r.ranges)
	}
	if found == 0 {
		return nil
	}
	m.alike()
	for _, h := range hosts {
		h.marks = m
	}
	return m
}

// component is the first part of a module's path.
func component(mk *layers.Marker) string {
	first, _, _ := strings.Cut(mk.Module, ".")
	return first
}

// newModules gives the function that takes a marker's module into m.
func newModules(m *markers, root string) func(mk *layers.Marker) markerText {
	byPath, byGroup, byLayer := map[string]int32{}, map[layers.Place]int32{}, map[string]int32{}
	return func(mk *layers.Marker) markerText {
		at, ok := byPath[mk.Module]
		if !ok {
			at = int32(len(m.modules))
			byPath[mk.Module] = at
			place := layers.PlaceOf(mk.Module, root)
			mod := module{path: mk.Module, layer: -1, scope: mk.Form == layers.Scope, elements: mk.Elements()}
			for _, p := range mk.Params {
				mod.sizes += fmt.Sprint(p.Name, p.Size)
			}
			for _, s := range mk.Static {
				mod.static += " " + s.Name + "=" + s.Text
			}
			mod.static = strings.TrimPrefix(mod.static, " ")
			if place.Layer >= 0 {
				key := fmt.Sprintf("%s.%d", place.Stack, place.Layer)
				if mod.layer, ok = byLayer[key]; !ok {
					mod.layer = int32(len(m.layers))
					byLayer[key] = mod.layer
					m.layers = append(m.layers, layer{stack: place.Stack, n: place.Layer})
				}
				place.Layer = 0
			}
			if mod.group, ok = byGroup[place]; !ok {
				mod.group = int32(len(m.groups))
				byGroup[place] = mod.group
				m.groups = append(m.groups, place)
			}
			m.modules = append(m.modules, mod)
		}
		text := markerText{module: at, inputs: sizesText(mk.Inputs)}
		text.flops, _ = mk.LinearFLOPs()
		return text
	}
}

// sizesText shows inputs as [7, 4096] [7].
func sizesText(inputs [][]int64) string {
	var b strings.Builder
	for i, in := range inputs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ReplaceAll(fmt.Sprint(in), " ", ", "))
	}
	return b.String()
}

// alike tells layers apart by their stack, modules and parameters.
func (m *markers) alike() {
	parts := make([][]string, len(m.layers))
	for i := range m.modules {
		if mod := &m.modules[i]; mod.seen && mod.layer >= 0 {
			parts[mod.layer] = append(parts[mod.layer], m.groups[mod.group].Kind+mod.sizes)
		}
	}
	for i := range m.layers {
		slices.Sort(parts[i])
		m.layers[i].like = m.layers[i].stack + "\n" + strings.Join(parts[i], "\n")
	}
}

// findRanges nests the markers of each thread, and gives each launch the
// innermost one open when it was made. Spans are in the order of tracks and
// starts, the longer first.
func (r *rank) findRanges(t *trace.Trace, m *markers) {
	textOf := make([]int32, t.Strings.Len()) // StringID -> texts + 1
	found := false
	for id := 1; id < len(textOf); id++ {
		if at, ok := m.byText[t.Strings.Get(trace.StringID(id))]; ok && m.texts[at].module >= 0 {
			textOf[id], found = at+1, true
		}
	}
	if !found {
		return
	}
	callAt := make([]int32, len(t.Spans)) // span -> calls + 1
	r.rangeOf = make([]int32, len(r.calls))
	for i := range r.calls {
		callAt[r.calls[i].span] = int32(i) + 1
	}
	open, track := int32(-1), trace.TrackID(0) // the innermost range
	for i := range t.Spans {
		s := &t.Spans[i]
		text := int32(-1)
		if s.Cat == trace.UserAnnotation || s.Cat == trace.CPUOp {
			text = textOf[s.Name] - 1
		}
		if text < 0 && callAt[i] == 0 {
			continue
		}
		if s.Track != track {
			open, track = -1, s.Track
		}
		for open >= 0 && r.ranges[open].end <= s.Start {
			open = r.ranges[open].parent
		}
		if text < 0 {
			r.rangeOf[callAt[i]-1] = open + 1
			continue
		}
		g := layerRange{start: s.Start, end: s.End(), text: text, module: m.texts[text].module, parent: open, step: r.stepAt(s.Start), firstGroup: true, firstLayer: true}
		if r.rule == trace.Uncut {
			g.step = 0
		}
		mod := &m.modules[g.module]
		mod.seen = true
		for at := open; at >= 0; at = r.ranges[at].parent {
			around := r.ranges[at].module
			g.firstGroup = g.firstGroup && m.modules[around].group != mod.group
			g.firstLayer = g.firstLayer && m.modules[around].layer != mod.layer
		}
		if open >= 0 {
			r.ranges[open].inner += max(0, min(g.end, r.ranges[open].end)-g.start)
		}
		open = int32(len(r.ranges))
		r.ranges = append(r.ranges, g)
	}
	if len(r.steps) == 0 && len(r.ranges) > 0 { // nothing else says when the window was
		whole := step{start: r.ranges[0].start, end: r.ranges[0].end, info: trace.Step{Batch: -1, Tokens: -1}}
		for i := range r.ranges {
			whole.start, whole.end = min(whole.start, r.ranges[i].start), max(whole.end, r.ranges[i].end)
		}
		r.steps = []step{whole}
	}
}

// rangeAt is the range that launched an op, -1 for none.
func (r *rank) rangeAt(o *op) int32 {
	if o.call < 0 || r.rangeOf == nil {
		return -1
	}
	return r.rangeOf[o.call] - 1
}
