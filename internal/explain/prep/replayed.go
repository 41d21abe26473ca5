package prep

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/layers"
)

// Template gives ranges to the ops of a step that were launched without markers, such as those of a replayed graph. A
// template is derived from another step that launched the same ops one by one.
type Template struct {
	Ranges []Range // a range comes after its parent
	Of     []int32 // index in Ranges of the innermost range of each op of the step, in order; -1: none
}

// Nameless returns the template of ops in layers without names. of holds the layer of each op, or -1. Layers are
// numbered within the given stack.
func (m *Markers) Nameless(stack string, of []int32) *Template {
	t := &Template{Of: of}
	for _, layer := range of {
		for int(layer) >= len(t.Ranges) {
			text := m.nameless(stack, len(t.Ranges))
			t.Ranges = append(t.Ranges, Range{Text: text, Module: m.Texts[text].module, Parent: -1, FirstGroup: true, FirstLayer: true})
		}
	}
	return t
}

// nameless returns the marker text for layer n of a stack whose layers have no names.
func (m *Markers) nameless(stack string, n int) int32 {
	key := fmt.Sprintf("\x00%s.%d", stack, n) // cannot be a name in a file
	if at, ok := m.byText[key]; ok {
		return at
	}
	layer := int32(len(m.Layers))
	m.Layers = append(m.Layers, Layer{Stack: stack, N: n, Like: key})
	group := int32(-1)
	for i := range m.Groups {
		if m.Groups[i].Place == (layers.Place{Stack: stack}) {
			group = int32(i)
		}
	}
	if group < 0 {
		group = int32(len(m.Groups))
		m.Groups = append(m.Groups, Group{Place: layers.Place{Stack: stack}})
	}
	m.Groups[group].Modules++
	m.Modules = append(m.Modules, Module{path: fmt.Sprintf("%s.%d", stack, n), Group: group, Layer: layer, seen: true})
	m.byText[key] = int32(len(m.Texts))
	m.Texts = append(m.Texts, MarkerText{module: int32(len(m.Modules) - 1)})
	return m.byText[key]
}

// sizeless returns the marker text for a module with unknown inputs.
func (m *Markers) sizeless(module int32) int32 {
	key := "\x00" + m.Modules[module].path
	at, ok := m.byText[key]
	if !ok {
		at = int32(len(m.Texts))
		m.byText[key] = at
		m.Texts = append(m.Texts, MarkerText{module: module})
	}
	return at
}

// Replay gives the ops of a step that are in no range the ranges of the template.
func (r *Rank) Replay(m *Markers, step int32, ops []int32, t *Template) {
	if r.replayed == nil {
		r.replayed = make([]int32, len(r.Ops))
	}
	made := map[int32]int32{} // index of a range in the template -> index of the new range of the step
	var place func(at int32) int32
	place = func(at int32) int32 {
		if at < 0 {
			return -1
		}
		own, ok := made[at]
		if !ok {
			g := t.Ranges[at]
			g.Parent = place(g.Parent)
			g.Step, g.Text, g.Inner = step, m.sizeless(g.Module), 0
			g.start, g.end = r.Steps[step].Start, r.Steps[step].Start
			own = int32(len(r.Ranges))
			made[at] = own
			r.Ranges = append(r.Ranges, g)
		}
		return own
	}
	for i, op := range ops {
		if at := t.Of[i]; at >= 0 && r.RangeAt(int(op)) < 0 {
			r.replayed[op] = place(at) + 1
		}
	}
}
