package light

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Kernel is one kernel of a step, in the order of execution.
type Kernel struct {
	Name  string
	Grid  [3]int32
	Class kernel.Class
	Track trace.TrackID // stream
}

// Place is the task of a kernel: its role, and the layer in which it has this role.
type Place struct {
	Role  Role
	Layer int // -1: before the first layer; the number of layers: after the last one
}

// Routing is the role of the kernels that choose experts and sort tokens. They have no floor of their own.
const Routing Role = "routing"

// Unknown is the role of kernels whose task is not known.
const Unknown Role = ""

// reduces reports whether a kernel adds up the parts of the product before it.
func reduces(name string) bool { return strings.Contains(name, "splitKreduce") }

// heavyRoles returns the roles of the heavy kernels of a layer, in the order of execution.
func (m *Model) heavyRoles(layer int, prefill bool) []Role {
	roles := []Role{QKV, Attention}
	if m.MLA != nil {
		roles = m.MLA.mlaRoles(prefill)
	}
	if m.Sparse[layer] {
		return append(roles, O, Router, ExpertsIn, ExpertsOut)
	}
	return append(roles, O, GateUp, Down)
}

// Places assigns a task to each kernel of a step. The heavy kernels (products and attention) must be those of all layers of
// the model, in their order, followed by the head. If they are not, places is nil, and why says how far they agree. The
// places of shared experts among the others depend on the server; see sharedRoles.
func (m *Model) Places(step []Kernel, kind trace.StepKind) (places []Place, why fact.Fact) {
	if m.MLA != nil && kind == trace.Mixed {
		return nil, fact.Of("light_mla")
	}
	places = make([]Place, len(step))
	layer, next := 0, 0
	var want []Role
	before := Place{Unknown, -1} // of the latest heavy kernel
	for i, k := range step {
		if next == 0 && layer < m.Layers {
			want = m.heavyRoles(layer, kind == trace.Prefill)
		}
		if m.Shared > 0 && before.Role == O && layer < m.Layers && m.Sparse[layer] && heavy(k) {
			roles := sharedRoles(step[i:])
			if roles == nil {
				return nil, fact.Of("light_shared")
			}
			want = append(want[:next:next], roles...)
		}
		switch {
		case k.Class == kernel.Comm:
			places[i] = Place{collective(k.Name), before.Layer}
			continue
		case !heavy(k), k.Class == kernel.Attention && (layer == m.Layers || want[next] != Attention): // or the preparation of splits
			places[i] = m.helper(k, before)
			continue
		case layer < m.Layers:
			if !fits(want[next], k.Class) {
				return nil, fact.Of("light_order", "kernel", k.Name, "want", string(want[next]), "layer", layer)
			}
			places[i] = Place{want[next], layer}
			if next++; next == len(want) {
				layer, next = layer+1, 0
			}
		case k.Class == kernel.GEMM && before.Role != Head && !m.Earlier:
			places[i] = Place{Head, m.Layers}
		case k.Class == kernel.GEMM: // a second product after the layers, as of a draft model
			return nil, fact.Of("light_more", "kernel", k.Name)
		default:
			return nil, fact.Of("light_more", "kernel", k.Name)
		}
		before = places[i]
	}
	if layer < m.Layers {
		return nil, fact.Of("light_layers", "found", layer, "model", m.Layers)
	}
	return places, fact.Fact{}
}

// heavy reports whether a kernel is a product or an attention.
func heavy(k Kernel) bool {
	switch k.Class {
	case kernel.GEMM, kernel.MoEGEMM:
		return !reduces(k.Name)
	}
	return k.Class == kernel.Attention
}

func fits(r Role, c kernel.Class) bool {
	switch r {
	case Attention:
		return c == kernel.Attention
	case ExpertsIn, ExpertsOut:
		return c == kernel.MoEGEMM
	}
	return c == kernel.GEMM
}

// helper returns the task of a light kernel after the given heavy kernel.
func (m *Model) helper(k Kernel, before Place) Place {
	last := before.Role == Down || before.Role == ExpertsOut || before.Role == SharedOut // of its layer
	switch {
	case reduces(k.Name), k.Class == kernel.Attention && before.Role == Attention:
		return before
	case before.Role == Unknown && k.Class == kernel.Embedding:
		return Place{Embedding, -1}
	case k.Class == kernel.Norm && before.Layer == m.Layers-1 && last:
		return Place{FinalNorm, m.Layers}
	case k.Class == kernel.Norm && (before.Role == Unknown || last):
		return Place{NormIn, before.Layer + 1}
	case k.Class == kernel.Norm && (before.Role == QKV || before.Role == QKVDown || before.Role == QUp):
		return Place{QKNorm, before.Layer}
	case k.Class == kernel.Norm && before.Role == O:
		return Place{NormPost, before.Layer}
	case k.Class == kernel.Rope && before.Role.beforeAttention():
		return Place{Rope, before.Layer}
	case k.Class == kernel.KVCache && before.Role.beforeAttention():
		return Place{KVWrite, before.Layer}
	case k.Class == kernel.Activation && before.Role.mlp(), before.Role == GateUp, before.Role == ExpertsIn:
		return Place{Act, before.Layer}
	case before.Role == Router:
		return Place{Routing, before.Layer}
	case before.Role == ExpertsOut && before.Layer < m.Layers && k.Class != kernel.Elementwise || before.Role == ExpertsOut && strings.Contains(k.Name, "sum"):
		return Place{ExpertsSum, before.Layer}
	}
	return Place{Unknown, before.Layer}
}

// beforeAttention reports whether a product prepares queries, keys or values.
func (r Role) beforeAttention() bool {
	return slices.Contains([]Role{QKV, QKVDown, QUp, KVUp, QAbsorb}, r)
}

// mlp reports whether a product is one of a layer's experts.
func (r Role) mlp() bool {
	return slices.Contains([]Role{Router, SharedIn, SharedOut, ExpertsIn, ExpertsOut}, r)
}

// sharedRoles returns the roles of the next heavy kernels if these are a router, shared and routed experts, in any order and
// on any streams: three products and two of experts. The first product of the shared experts is the one before an
// activation on its stream, the second one follows on this stream. sharedRoles returns nil if that is not clear.
func sharedRoles(step []Kernel) (roles []Role) {
	last := map[trace.TrackID]int{} // the latest heavy kernel of each stream, as an index in roles
	in, tracks, routed := -1, []trace.TrackID{}, 0
	for _, k := range step {
		at, seen := last[k.Track]
		switch {
		case k.Class == kernel.Activation && seen && roles[at] == Router:
			if in >= 0 {
				return nil
			}
			in, roles[at] = at, SharedIn
		case !heavy(k):
		case len(roles) == 5 || k.Class == kernel.Attention:
			return nil
		case k.Class == kernel.MoEGEMM:
			last[k.Track], tracks = len(roles), append(tracks, k.Track)
			roles = append(roles, []Role{ExpertsIn, ExpertsOut, Unknown}[min(routed, 2)])
			routed++
		default:
			last[k.Track], tracks = len(roles), append(tracks, k.Track)
			roles = append(roles, Router)
		}
		if len(roles) == 5 && in >= 0 {
			break
		}
	}
	if len(roles) < 5 || in < 0 || routed != 2 {
		return nil
	}
	for i := in + 1; i < len(roles); i++ {
		if roles[i] == Router && tracks[i] == tracks[in] {
			roles[i] = SharedOut
			return roles
		}
	}
	return nil
}

func collective(name string) Role {
	switch op, _ := kernel.Collective(name); op {
	case kernel.AllGather:
		return AllGather
	case kernel.ReduceScatter:
		return ReduceScatt
	case kernel.SendRecv:
		return SendRecv
	case kernel.AllReduce:
		return AllReduce
	}
	return Unknown
}

// tile matches the names of cuBLAS's generated products: tile, tile of K and stages, cluster, and split along K.
var tile = regexp.MustCompile(`^nvjet_\w+?_(\d+)x(\d+)_\d+x\d+_(\d+)x(\d+)_\w*?(splitK)?_?[TN]*$`)

// mostSplits bounds the parts into which a product is split along K.
const mostSplits = 64

// mostTile bounds the sides of a tile and of a cluster.
const mostTile = 4096

// Witness is the answer of a grid to the sizes of a product.
type Witness uint8

const (
	Silent  Witness = iota // the grid does not depend on the sizes, or its rule is not known
	Agrees                 // the grid is that of the sizes
	Differs                // the grid is that of other sizes
)

// GridOf compares the grid of a product [rows,K] × [K,n] with its sizes, by the rules of cuBLAS. A block computes one
// tile, the numbers of tiles are rounded up to the cluster, and a product that is split along K has several blocks for
// a tile. With more tiles than fit on the device at once, the blocks are as many as fit.
func GridOf(name string, grid [3]int32, rows, n, sms int) Witness {
	blocks := int(grid[0]) * int(grid[1]) * int(grid[2])
	if reduces(name) {
		if strings.Contains(name, "<32, 16,") {
			return agrees(blocks*512 == up(rows, 16)*n)
		}
		return Silent
	}
	p := tile.FindStringSubmatch(name)
	if p == nil || strings.Contains(name, "_coop") {
		return Silent
	}
	var size [4]int
	for i := range size {
		var err error
		if size[i], err = strconv.Atoi(p[i+1]); err != nil || size[i] < 1 || size[i] > mostTile {
			return Silent
		}
	}
	tiles := up(div(n, size[0]), size[2]) * up(div(rows, size[1]), size[3])
	switch {
	case tiles < 1:
		return Silent
	case p[5] != "":
		return agrees(blocks%tiles == 0 && blocks/tiles <= mostSplits)
	case tiles > sms && blocks <= sms && sms > 0:
		return Silent
	}
	return agrees(blocks == tiles)
}

func agrees(ok bool) Witness {
	if ok {
		return Agrees
	}
	return Differs
}

// div divides and rounds up; up rounds up to a multiple.
func div(n, by int) int { return (n + by - 1) / by }
func up(n, to int) int  { return div(n, to) * to }
