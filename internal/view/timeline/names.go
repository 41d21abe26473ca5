package timeline

import (
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// names numbers the span names of all ranks. The page requests names in blocks, and each block only once.
type names struct {
	full  []string // names as in the traces
	label []string // names for display
	of    map[named]uint32
}

// named is a name together with its use, for GPU work or for host work. Only kernel names have a short form.
type named struct {
	name string
	gpu  bool
}

const (
	nameBlock = 256 // number of names per request
	mostLabel = 160 // maximum length of a label, since longer labels do not fit where they are drawn
)

func newNames() names { return names{of: map[named]uint32{}} }

// id returns the number of a name, and adds the name if it is new.
func (n *names) id(name string, gpu bool) uint32 {
	key := named{name, gpu}
	id, ok := n.of[key]
	if !ok {
		id = uint32(len(n.full))
		label := name
		if gpu {
			label = kernel.Short(name)
		}
		n.of[key] = id
		n.full, n.label = append(n.full, name), append(n.label, columns.Short(columns.Clean(label), mostLabel))
	}
	return id
}

// addName numbers the name of a span.
func (t *Timeline) addName(r *rank, s *trace.Span) {
	r.namesOf(s)[s.Name] = t.names.id(r.t.Strings.Get(s.Name), s.Cat.OnGPU()) + 1
}

// nameOf returns the number of a span's name. The span must be in a lane.
func (r *rank) nameOf(span int32) uint32 {
	s := &r.t.Spans[span]
	return r.namesOf(s)[s.Name] - 1
}

func (r *rank) namesOf(s *trace.Span) []uint32 {
	if s.Cat.OnGPU() {
		return r.kernel
	}
	return r.name
}

// Names returns the labels of a block of names. The first is the label of name block·256. The result is empty beyond
// the last name.
func (t *Timeline) Names(block int) []string {
	from := min(max(block, 0), len(t.names.label)/nameBlock+1) * nameBlock
	from = min(from, len(t.names.label))
	return append([]string{}, t.names.label[from:min(from+nameBlock, len(t.names.label))]...)
}

// like reports for each name whether it contains text, ignoring case, and returns the number of names that do.
func (n *names) like(text string) (is []bool, some int) {
	is = make([]bool, len(n.full))
	text = strings.ToLower(text)
	for i, name := range n.full {
		if strings.Contains(strings.ToLower(name), text) || strings.Contains(strings.ToLower(n.label[i]), text) {
			is[i] = true
			some++
		}
	}
	return is, some
}
