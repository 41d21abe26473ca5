package nodes

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
)

// Layout assigns ranks to nodes. Ranks are numbered over the whole layout: the tensor-parallel index varies fastest,
// then the pipeline stage, then the replica. Each node gets the same number of consecutive ranks. As in SGLang, a node
// therefore has complete replicas or complete stages if there are enough of them. Otherwise it has a part of a
// tensor-parallel group.
type Layout struct {
	Sizes engine.Sizes
	Nodes int
}

func (l Layout) replica() int { return max(l.Sizes.TP, 1) * max(l.Sizes.PP, 1) }
func (l Layout) ranks() int   { return l.replica() * max(l.Sizes.DP, 1) }

// PerNode returns the number of ranks on each node.
func (l Layout) PerNode() int { return l.ranks() / l.Nodes }

// Check returns an error unless all nodes get the same number of ranks.
func (l Layout) Check() error {
	if n := l.ranks(); n%l.Nodes != 0 {
		return fmt.Errorf("--nnodes %d: the %d ranks of tp-size × pp-size × dp-size cannot be spread evenly", l.Nodes, n)
	}
	return nil
}

// At returns the node on which a rank runs.
func (l Layout) At(rank int) int { return rank / l.PerNode() }

// Name describes a node's ranks, for messages.
func (l Layout) Name(node int) string {
	n := l.PerNode()
	if n == 1 {
		return fmt.Sprintf("rank %d", node)
	}
	return fmt.Sprintf("ranks %d-%d", node*n, node*n+n-1)
}

// Has reports whether a node has ranks of a replica.
func (l Layout) Has(dp, node int) bool { return slices.Contains(l.members(dp), node) }

// members lists the nodes that have ranks of a replica.
func (l Layout) members(dp int) []int {
	first := dp * l.replica()
	var out []int
	for node := l.At(first); node <= l.At(first+l.replica()-1); node++ {
		out = append(out, node)
	}
	return out
}

// Channels of the mesh.
const (
	setupChannel uint32 = 1
	filesChannel uint32 = 2
	stepChannels uint32 = 1 << 16 // plus the number of the replica
	tpChannels   uint32 = 2 << 16 // plus the number of the group
	ppChannels   uint32 = 3 << 16
)

// Spread returns the description with which NewRanks connects to the ranks of other nodes.
func (l Layout) Spread(m *mesh.Mesh) *engine.Spread {
	return &engine.Spread{Here: m.Node(), At: l.At, Line: func(kind string, index int) device.Line {
		first := tpChannels
		if kind == "pp" {
			first = ppChannels
		}
		return m.Channel(first+uint32(index), mesh.Fast)
	}}
}
