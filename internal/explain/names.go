package explain

import "github.com/stepscope/stepscope/internal/explain/kernel"

// names numbers kernel names, and names with grids, over all ranks, and
// classifies each name once.
type names struct {
	rules  *kernel.Rules
	byName map[string]int32
	list   []string
	class  []kernel.Class
	byKey  map[kernelGrid]int32
	keys   []kernelGrid
}

// kernelGrid is a kernel by name and launch grid.
type kernelGrid struct {
	name int32
	grid [3]int32
}

func newNames(rules *kernel.Rules) *names {
	return &names{rules: rules, byName: map[string]int32{}, byKey: map[kernelGrid]int32{}}
}

func (n *names) id(name, cat string) int32 {
	id, ok := n.byName[name]
	if !ok {
		id = int32(len(n.list))
		n.byName[name] = id
		n.list = append(n.list, name)
		n.class = append(n.class, n.rules.Classify(name, cat))
	}
	return id
}

func (n *names) key(name int32, grid [3]int32) int32 {
	k := kernelGrid{name, grid}
	id, ok := n.byKey[k]
	if !ok {
		id = int32(len(n.keys))
		n.byKey[k] = id
		n.keys = append(n.keys, k)
	}
	return id
}
