package worth

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/replay"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// layerOf returns the layer of a piece of a critical path. For device work it is the layer of the op; for host work,
// the layer of the call that follows. A graph launch is in no layer.
func layerOf(m *prep.Markers, r *match.Rank, p *replay.Piece) int32 {
	switch {
	case p.Node.Op >= 0:
		return m.LayerAt(r.Rank, r.RangeAt(p.Node.Op))
	case p.Node.Call >= 0:
		return m.LayerAt(r.Rank, r.RangeOfCall(int32(p.Node.Call)))
	}
	return -1
}

// pathLayers returns the time on a critical path by layer. The row for work outside layers is the last.
func pathLayers(m *prep.Markers, of map[int32]int64, total int64) (out []result.PathLayer) {
	if len(of) == 1 && of[-1] > 0 {
		return nil
	}
	for layer, ns := range of {
		row := result.PathLayer{Layer: -1, NS: ns, Share: float64(ns) / float64(total)}
		if layer >= 0 {
			row.Stack, row.Layer = m.Layers[layer].Stack, m.Layers[layer].N
		}
		out = append(out, row)
	}
	sorts.By(out, func(a, b result.PathLayer) int {
		if (a.Layer < 0) != (b.Layer < 0) {
			return cmp.Compare(b.Layer, a.Layer)
		}
		return cmp.Or(cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Layer, b.Layer))
	})
	return out
}
