package light

import (
	"cmp"
	"fmt"
)

// MLA holds the sizes of multi-head latent attention (DeepSeek-V2 and V3). The cache has one latent vector and one rotated
// key for each token and layer, which all heads share.
type MLA struct {
	Query  int // size of the latent query; 0: the query is a product of the residual stream
	Latent int // size of the latent vector
	Plain  int // size of the part of a head's key that is not rotated
	Rope   int // size of the rotated part
	Value  int // size of a head's value
}

// latent reads the sizes of MLA. Sparse attention (index_topk) is refused, because its work depends on an indexer.
func (m *Model) latent(c *config) error {
	if c.IndexTopK > 0 {
		return fmt.Errorf("config.json: index_topk: the work of sparse attention is not known")
	}
	a := MLA{Query: c.QueryLatent, Latent: c.Latent, Plain: c.PlainDim, Rope: c.RopeDim, Value: c.ValueDim}
	for _, n := range []struct {
		key string
		is  int
	}{{"kv_lora_rank", a.Latent}, {"qk_nope_head_dim", a.Plain}, {"qk_rope_head_dim", a.Rope}, {"v_head_dim", a.Value}, {"q_lora_rank", a.Query + 1}} {
		if n.is < 1 || n.is > mostSize {
			return fmt.Errorf("config.json: %s: want a positive number, got %d", n.key, n.is)
		}
	}
	m.MLA = &a
	return nil
}

// parameters returns the weights of the attention of a layer.
func (a *MLA) parameters(hidden, heads int64) int64 {
	query, kv := int64(a.Query), int64(a.Latent)
	n := hidden*(kv+int64(a.Rope)) + kv + kv*heads*int64(a.Plain+a.Value) + heads*int64(a.Value)*hidden
	if q := heads * int64(a.Plain+a.Rope); query > 0 {
		return n + hidden*query + query + query*q
	}
	return n + hidden*heads*int64(a.Plain+a.Rope)
}

// mla returns the work of the attention of a layer, for the heads of this rank. The products with the latent vectors are on all
// ranks. Decode multiplies queries and results by the parts of kv_b_proj and attends to the cache itself; prefill computes
// the keys and values of each head. With cached tokens, prefill is a lower bound: servers compute their keys and values again.
func (m *Model) mla(heads int, b Batch) []Work {
	a, t, h := m.MLA, b.Tokens, m.Hidden
	q, kv := a.Plain+a.Rope, a.Latent+a.Rope
	rows := func(n int) float64 { return float64(t) * float64(n) * actBytes }
	element := float64(max(b.KVBytes, 1))
	var out []Work
	if a.Query > 0 {
		out = append(out, product(QKVDown, t, a.Query+kv, h, m.Attention, false), product(QUp, t, heads*q, a.Query, m.Attention, false))
	} else {
		out = append(out, product(QUp, t, heads*q, h, m.Attention, false), product(QKVDown, t, kv, h, m.Attention, false))
	}
	norm := Work{Role: QKNorm, Weights: float64(a.Query+a.Latent) * actBytes, Acts: 2 * rows(a.Query+a.Latent)}
	rope := Work{Role: Rope, Acts: 2 * rows((heads+1)*a.Rope)}
	write := Work{Role: KVWrite, Acts: rows(kv), KV: float64(t) * float64(kv) * element}
	out = append(out, norm, rope, write)
	attention := func(width int) Work {
		pairs := float64(max(b.Pairs, int64(t)))
		return Work{Role: Attention, Acts: rows(heads * width), FLOPs: 2 * float64(heads) * float64(width) * pairs, Unknown: b.Keys < 0 || b.KVBytes == 0}
	}
	if b.Prefill {
		w := attention(q + a.Value)
		w.Acts += w.Acts // keys and values of the new tokens
		w.Unknown = w.Unknown || b.Keys > int64(t)
		out = append(out, product(KVUp, t, heads*(a.Plain+a.Value), a.Latent, m.Attention, false), w)
	} else {
		w := attention(kv + a.Latent)
		keys, most := max(b.Keys, int64(cmp.Or(b.Real, b.Requests))), b.KeysMost
		if most == 0 && b.Keys >= 0 {
			most = keys
		}
		w.KV = float64(keys) * float64(kv) * element
		w.Unknown = w.Unknown || float64(most) > sameKeys*float64(keys)
		if most > 0 {
			w.KVMost = float64(most) * float64(kv) * float64(cmp.Or(b.KVBytes, actBytes))
			w.FLOPsMost = w.FLOPs + float64(most-keys)*2*float64(heads)*float64(kv+a.Latent)
		}
		out = append(out, m.perHead(QAbsorb, t, heads, a.Latent, a.Plain), w, m.perHead(VAbsorb, t, heads, a.Value, a.Latent))
	}
	return append(out, product(O, t, h, heads*a.Value, m.Attention, false))
}

// perHead returns the work of a product of each head. Its grid does not tell N.
func (m *Model) perHead(role Role, rows, heads, n, k int) Work {
	w, f := product(role, rows, n, k, m.Attention, false), float64(heads)
	w.Weights, w.Acts, w.FLOPs, w.PerHead = f*w.Weights, f*w.Acts, f*w.FLOPs, true
	return w
}

// mlaRoles returns the roles of the heavy kernels before o_proj, in the order of execution.
func (a *MLA) mlaRoles(prefill bool) []Role {
	first := []Role{QKVDown, QUp}
	if a.Query == 0 {
		first = []Role{QUp, QKVDown}
	}
	if prefill {
		return append(first, KVUp, Attention)
	}
	return append(first, QAbsorb, Attention, VAbsorb)
}
