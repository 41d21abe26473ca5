package prep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/layers"
	"github.com/stepscope/stepscope/trace"
)

// Markers assigns numbers, which hold for all ranks, to the texts of layer-wise markers, to the modules that the texts
// name, and to the layers and groups of these modules.
type Markers struct {
	byText  map[string]int32 // index in Texts; -1: not a marker
	Texts   []MarkerText
	Modules []Module
	Groups  []Group
	Layers  []Layer
	loose   bool // see FindLayers
}

type MarkerText struct {
	module int32
	Inputs string  // inputs in the form shown to users; "": none
	Flops  float64 // floating-point operations of a linear layer; 0: unknown
}

type Module struct {
	path     string
	static   string
	sizes    string // sizes of the module's parameters, to find modules of the same kind
	elements int64
	Group    int32
	Layer    int32 // index in Layers; -1: none
	Scope    bool  // not a module, but a range of the pipeline that encloses modules
	seen     bool  // the module has ranges, not only a name in the file
}

// Group is the set of modules of one kind in all layers of a stack.
type Group struct {
	layers.Place // Layer is -1 for modules outside layers, and 0 for all others
	Modules      int
	Elements     int64 // number of parameters of all modules
	Static       string
	Scope        bool
}

type Layer struct {
	Stack    string
	N        int
	Elements int64
	Like     string // equal for layers that are expected to take the same time
}

// Range is one call of a module on the host, from its begin to its end.
type Range struct {
	start, end int64
	Inner      int64 // host time of the direct children
	Text       int32
	Module     int32
	Parent     int32 // index in the rank's Ranges; -1: none
	Step       int32
	FirstGroup bool // not nested in a range of the same group
	FirstLayer bool // not nested in a range of the same layer
}

func (g *Range) Dur() int64 { return g.end - g.start }

// FindMarkers finds the layer-wise markers among the names of all ranks. It sets the ranges of each rank, and assigns
// launches to these ranges. It returns nil for captures without markers, after checking each distinct name once.
func FindMarkers(ranks []*Rank) *Markers { return findMarkers(ranks, false) }

// FindLayers is for captures without markers. It uses other signs of layers: Python frames of modules that are layers,
// and annotations with the paths of modules (model.layers.0.mlp). It never returns nil.
func FindLayers(ranks []*Rank) *Markers {
	m := FindMarkers(ranks)
	if m == nil {
		m = findMarkers(ranks, true)
	}
	if m == nil {
		m = &Markers{byText: map[string]int32{}, loose: true}
	}
	return m
}

func findMarkers(ranks []*Rank, loose bool) *Markers {
	m := &Markers{byText: map[string]int32{}, loose: loose}
	var parsed []layers.Marker
	prefixes := map[string]bool{} // path prefixes of components whose names are not known in advance
	for _, r := range ranks {
		for _, text := range r.Host.Texts {
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
		if loose && (mk.Form == layers.Bare || mk.Form == layers.Frame) && layers.PlaceOf(mk.Module, "").Layer >= 0 {
			return false
		}
		return mk.Form == layers.Frame || mk.Form == layers.Bare && !prefixes[component(mk)] && !layers.Known(mk.Module)
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
	m.Texts = make([]MarkerText, len(parsed))
	add := newModules(m, root)
	for i := range parsed {
		if mk := &parsed[i]; bare(mk) {
			m.Texts[i].module = -1
		} else {
			m.Texts[i] = add(mk)
		}
	}
	found := 0
	for _, r := range ranks {
		r.findRanges(m)
		found += len(r.Ranges)
	}
	if found == 0 {
		return nil
	}
	m.sumUp()
	return m
}

// component returns the first part of a module's path.
func component(mk *layers.Marker) string {
	first, _, _ := strings.Cut(mk.Module, ".")
	return first
}

// newModules returns a function that adds a marker's module to m.
func newModules(m *Markers, root string) func(mk *layers.Marker) MarkerText {
	byPath, byGroup, byLayer := map[string]int32{}, map[layers.Place]int32{}, map[string]int32{}
	return func(mk *layers.Marker) MarkerText {
		at, ok := byPath[mk.Module]
		if !ok {
			at = int32(len(m.Modules))
			byPath[mk.Module] = at
			place := layers.PlaceOf(mk.Module, root)
			mod := Module{path: mk.Module, Layer: -1, Scope: mk.Form == layers.Scope, elements: mk.Elements()}
			for _, p := range mk.Params {
				mod.sizes += fmt.Sprint(p.Name, p.Size)
			}
			for _, s := range mk.Static {
				mod.static += " " + s.Name + "=" + s.Text
			}
			mod.static = strings.TrimPrefix(mod.static, " ")
			if place.Layer >= 0 {
				key := fmt.Sprintf("%s.%d", place.Stack, place.Layer)
				if mod.Layer, ok = byLayer[key]; !ok {
					mod.Layer = int32(len(m.Layers))
					byLayer[key] = mod.Layer
					m.Layers = append(m.Layers, Layer{Stack: place.Stack, N: place.Layer})
				}
				place.Layer = 0
			}
			if mod.Group, ok = byGroup[place]; !ok {
				mod.Group = int32(len(m.Groups))
				byGroup[place] = mod.Group
				m.Groups = append(m.Groups, Group{Place: place})
			}
			m.Modules = append(m.Modules, mod)
		}
		text := MarkerText{module: at, Inputs: sizesText(mk.Inputs)}
		text.Flops, _ = mk.LinearFLOPs()
		return text
	}
}

// sizesText formats the sizes of inputs, as in "[7, 4096] [7]".
func sizesText(inputs [][]int64) string {
	text := fmt.Sprint(inputs)
	return strings.ReplaceAll(strings.ReplaceAll(text[1:len(text)-1], " ", ", "), "], [", "] [")
}

// sumUp adds up the modules of each group and layer. It sets the Like of each layer from the layer's stack, modules and
// parameters.
func (m *Markers) sumUp() {
	parts := make([][]string, len(m.Layers))
	for i := range m.Modules {
		mod := &m.Modules[i]
		if !mod.seen {
			continue
		}
		g := &m.Groups[mod.Group]
		g.Elements += mod.elements
		g.Modules++
		g.Scope, g.Static = mod.Scope, cmp.Or(g.Static, mod.static)
		if mod.Layer >= 0 {
			m.Layers[mod.Layer].Elements += mod.elements
			parts[mod.Layer] = append(parts[mod.Layer], g.Kind+mod.sizes)
		}
	}
	for i := range m.Layers {
		slices.Sort(parts[i])
		m.Layers[i].Like = m.Layers[i].Stack + "\n" + strings.Join(parts[i], "\n")
		if m.loose { // it is unknown whether the modules of the layers are alike
			m.Layers[i].Like = fmt.Sprint(i)
		}
	}
}

// findRanges nests the markers of each thread and assigns each launch to the innermost marker open at the time of the
// launch. Spans must be ordered by track, then start, then longest first.
func (r *Rank) findRanges(m *Markers) {
	textOf := make([]int32, len(r.Host.Texts)) // index in m.Texts, plus 1
	found := false
	for i, text := range r.Host.Texts {
		if at, ok := m.byText[text]; ok && m.Texts[at].module >= 0 {
			textOf[i], found = at+1, true
		}
	}
	if !found {
		return
	}
	calls := r.callsBySpan()
	r.rangeOf = make([]int32, len(r.Calls))
	open, track := int32(-1), trace.TrackID(0) // the innermost open range, and its thread
	reach := func(at int64, on trace.TrackID) {
		if on != track {
			open, track = -1, on
		}
		for open >= 0 && r.Ranges[open].end <= at {
			open = r.Ranges[open].Parent
		}
	}
	launches := func(before int32) {
		for len(calls) > 0 && r.Calls[calls[0]].Span < before {
			c := &r.Calls[calls[0]]
			reach(c.Start, c.Track)
			r.rangeOf[calls[0]] = open + 1
			calls = calls[1:]
		}
	}
	for i := range r.Host.Marked {
		s := &r.Host.Marked[i]
		text := textOf[s.Text] - 1
		if text < 0 {
			continue
		}
		launches(s.Span)
		reach(s.Start, s.Track)
		if m.loose && open >= 0 { // a part of a layer may look like a layer itself
			continue
		}
		g := Range{start: s.Start, end: s.End, Text: text, Module: m.Texts[text].module, Parent: open, Step: r.StepAt(s.Start), FirstGroup: true, FirstLayer: true}
		if r.Rule == trace.Uncut {
			g.Step = 0
		}
		mod := &m.Modules[g.Module]
		mod.seen = true
		for at := open; at >= 0; at = r.Ranges[at].Parent {
			around := r.Ranges[at].Module
			g.FirstGroup = g.FirstGroup && m.Modules[around].Group != mod.Group
			g.FirstLayer = g.FirstLayer && m.Modules[around].Layer != mod.Layer
		}
		if open >= 0 {
			r.Ranges[open].Inner += max(0, min(g.end, r.Ranges[open].end)-g.start)
		}
		open = int32(len(r.Ranges))
		r.Ranges = append(r.Ranges, g)
	}
	launches(math.MaxInt32)
	if len(r.Steps) == 0 && len(r.Ranges) > 0 { // only the ranges show the extent of the window
		whole := Step{Start: r.Ranges[0].start, End: r.Ranges[0].end, Info: trace.Step{Batch: -1, Tokens: -1}}
		for i := range r.Ranges {
			whole.Start, whole.End = min(whole.Start, r.Ranges[i].start), max(whole.End, r.Ranges[i].end)
		}
		r.Steps = []Step{whole}
	}
}

// SpanName returns the name to show for a span. For a layer-wise marker, whose text contains sizes, it returns only the
// path of the module. If anyLayer is set, it returns the name of the module's group, which is the same in all layers.
func (m *Markers) SpanName(name string, anyLayer bool) string {
	if m == nil {
		return name
	}
	at, ok := m.byText[name]
	if !ok || m.Texts[at].module < 0 {
		return name
	}
	mod := &m.Modules[m.Texts[at].module]
	if anyLayer {
		return m.Groups[mod.Group].Name()
	}
	return mod.path
}

// RangeAt returns the range in which an op was launched, or -1.
func (r *Rank) RangeAt(op int) int32 {
	if r.replayed != nil && r.replayed[op] > 0 {
		return r.replayed[op] - 1
	}
	return r.RangeOfCall(r.Ops[op].Call)
}

// RangeOfCall returns the range in which a call was made, or -1.
func (r *Rank) RangeOfCall(call int32) int32 {
	if call < 0 || r.rangeOf == nil {
		return -1
	}
	return r.rangeOf[call] - 1
}

// LayerAt returns the layer of a range, as an index in Layers; -1: none.
func (m *Markers) LayerAt(r *Rank, at int32) int32 {
	for ; at >= 0; at = r.Ranges[at].Parent {
		if l := m.Modules[r.Ranges[at].Module].Layer; l >= 0 {
			return l
		}
	}
	return -1
}
