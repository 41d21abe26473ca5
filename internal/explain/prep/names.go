package prep

import "github.com/stepscope/stepscope/internal/explain/kernel"

// Names numbers kernel names, and names with grids, over all ranks, and
// classifies each name once.
type Names struct {
	rules  *kernel.Rules
	byName map[string]int32
	List   []string
	Class  []kernel.Class
	byKey  map[KernelGrid]int32
	Keys   []KernelGrid
}

// KernelGrid is a kernel by name and launch grid.
type KernelGrid struct {
	Name int32
	Grid [3]int32
}

func NewNames(rules *kernel.Rules) *Names {
	return &Names{rules: rules, byName: map[string]int32{}, byKey: map[KernelGrid]int32{}}
}

func (n *Names) id(name, cat string) int32 {
	id, ok := n.byName[name]
	if !ok {
		id = int32(len(n.List))
		n.byName[name] = id
		n.List = append(n.List, name)
		n.Class = append(n.Class, n.rules.Classify(name, cat))
	}
	return id
}

func (n *Names) key(name int32, grid [3]int32) int32 {
	k := KernelGrid{name, grid}
	id, ok := n.byKey[k]
	if !ok {
		id = int32(len(n.Keys))
		n.byKey[k] = id
		n.Keys = append(n.Keys, k)
	}
	return id
}
