package prep

import "github.com/stepscope/stepscope/internal/explain/kernel"

// Names assigns numbers to kernel names, to pairs of name and launch grid, and to the places from which kernels are
// launched. It classifies each name once.
type Names struct {
	List   []string
	Class  []kernel.Class
	Keys   []KernelGrid
	Sites  []Site
	rules  *kernel.Rules
	byName map[string]int32
	byKey  map[KernelGrid]int32
	bySite map[Site]int32
}

// KernelGrid identifies a kernel by its name and launch grid.
type KernelGrid struct {
	Name int32
	Grid [3]int32
}

func newNames(rules *kernel.Rules) Names {
	if rules == nil {
		rules = kernel.Default()
	}
	return Names{rules: rules, byName: map[string]int32{}, byKey: map[KernelGrid]int32{}, bySite: map[Site]int32{}}
}

func (n *Names) id(name, cat string) int32 {
	id, ok := n.byName[name]
	if !ok {
		id = n.add(name, n.rules.Classify(name, cat))
	}
	return id
}

func (n *Names) add(name string, class kernel.Class) int32 {
	id := int32(len(n.List))
	n.byName[name] = id
	n.List = append(n.List, name)
	n.Class = append(n.Class, class)
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

// Site returns the number of a site.
func (n *Names) Site(s Site) int32 {
	id, ok := n.bySite[s]
	if !ok {
		id = int32(len(n.Sites))
		n.bySite[s] = id
		n.Sites = append(n.Sites, s)
	}
	return id
}

// Join combines ranks that were prepared separately. It sets the index and label of each rank, and renumbers kernel
// names so that all ranks use the same numbers.
func Join(ranks []*Rank) *Names {
	all := newNames(nil)
	for i, r := range ranks {
		r.Index = i
		own := r.Names
		r.Names = Names{}
		names, keys := make([]int32, len(own.List)), make([]int32, len(own.Keys))
		for id, name := range own.List {
			at, ok := all.byName[name]
			if !ok {
				at = all.add(name, own.Class[id])
			}
			names[id] = at
		}
		for id, k := range own.Keys {
			keys[id] = all.key(names[k.Name], k.Grid)
		}
		for i := range r.Calls {
			if s := &r.Calls[i].Site; *s >= 0 {
				*s = all.Site(own.Sites[*s])
			}
		}
		for i := range r.Ops {
			o := &r.Ops[i]
			o.Name, o.Key = names[o.Name], keys[o.Key]
		}
	}
	Label(ranks)
	return &all
}
