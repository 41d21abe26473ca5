package prep

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/layers"
)

// A Template is ranges that the ops of a step are in although nothing marked them when they
// were launched, as those of a replayed graph: as a step has them that launched the same
// ops one by one.
type Template struct {
	Ranges []Range // each after that around it
	Of     []int32 // of the step's ops in order: the innermost, in Ranges; -1: none
}

// Nameless is the template of ops in layers that have no names: of each op its layer, -1 for
// none. They are numbered in a stack of that name.
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

// nameless is the text of a layer that nobody named.
func (m *Markers) nameless(stack string, n int) int32 {
	key := fmt.Sprintf("\x00%s.%d", stack, n) // no name in a file
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

// sizeless is the text of a module of which it is not known what it was called with.
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

// Replay puts ops of a step into the ranges of a template, those alone that are in none.
func (r *Rank) Replay(m *Markers, step int32, ops []int32, t *Template) {
	if r.replayed == nil {
		r.replayed = make([]int32, len(r.Ops))
	}
	made := map[int32]int32{} // of the template's ranges: the step's
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
