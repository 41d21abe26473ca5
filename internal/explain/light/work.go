package light

import (
	"cmp"
	"fmt"
	"math"
)

// Layout is the division of the model among ranks. All sizes are at least 1.
type Layout struct {
	TP     int // ranks that share each product of a dense MLP and the head
	AttnTP int // ranks that share the heads: TP, or TP/DP with data-parallel attention
	EP     int // ranks that share the experts
	MoETP  int // ranks that share each expert
	PP     int // stages of a pipeline; 0: 1
}

func (l Layout) String() string {
	out := fmt.Sprintf("TP %d", l.TP)
	if l.AttnTP < l.TP {
		out += fmt.Sprintf(", DP attention %d", l.TP/l.AttnTP)
	}
	if l.EP > 1 {
		out += fmt.Sprintf(", EP %d", l.EP)
	}
	if l.PP > 1 {
		out += fmt.Sprintf(", PP %d", l.PP)
	}
	return out
}

// Batch is the input of a step on one rank.
type Batch struct {
	Tokens   int // new tokens
	Requests int // requests, which is also the number of tokens whose logits are needed
	Routed   int // tokens that reach the experts: those of all ranks after a gather; 0: Tokens
	// Keys is the number of keys, summed over requests, that the last query of each sees. Pairs is the number of pairs of
	// a query and a key that it sees. They are -1 if they are not known.
	Keys, Pairs int64
	// KeysMost is set if Keys is only a lower bound: an upper bound of the keys; 0: not known. If Pairs is a lower bound too,
	// each request has one new token.
	KeysMost    int64
	Least, Most int64 // keys of the request that has fewest, and most; 0: not known
	Real        int   // requests without those that pad a graph; 0: all
	KVBytes     int   // of an element of the KV cache; 0: not known, 1 or 2
	Prefill     bool
}

// Role is the task of a kernel in a step.
type Role string

const (
	Embedding   Role = "embedding"
	NormIn      Role = "input norm"
	QKV         Role = "qkv_proj"
	QKNorm      Role = "q/k norm"
	Rope        Role = "rope"
	KVWrite     Role = "KV write"
	QKVDown     Role = "qkv_a_proj"
	QUp         Role = "q_b_proj" // or q_proj, without a latent query
	KVUp        Role = "kv_b_proj"
	QAbsorb     Role = "kv_b_proj of queries"
	VAbsorb     Role = "kv_b_proj of values"
	Attention   Role = "attention"
	O           Role = "o_proj"
	NormPost    Role = "post-attention norm"
	GateUp      Role = "gate_up_proj"
	Act         Role = "activation"
	Down        Role = "down_proj"
	Router      Role = "router"
	ExpertsIn   Role = "experts gate_up"
	ExpertsOut  Role = "experts down"
	ExpertsSum  Role = "sum of experts"
	SharedIn    Role = "shared gate_up"
	SharedOut   Role = "shared down"
	FinalNorm   Role = "final norm"
	Head        Role = "lm_head"
	AllReduce   Role = "all-reduce"
	AllGather   Role = "all-gather"
	ReduceScatt Role = "reduce-scatter"
	SendRecv    Role = "send/receive"
)

// Work is what one module has to read, write and compute in a step on one rank, at least.
type Work struct {
	Role    Role
	Weights float64 // bytes
	Acts    float64 // bytes of activations
	KV      float64 // bytes of the KV cache
	FLOPs   float64
	Compute Compute
	N, K    int  // sizes of a product [tokens,K] × [K,N]; 0: not a product
	PerHead bool // the product is computed for each head
	// Low and High bound Weights if they depend on the routing of tokens to experts; 0: they do not.
	Low, High float64
	// Unknown is set if the keys are not known: KV and FLOPs are then lower bounds. KVMost and FLOPsMost are their upper
	// bounds; 0: not known.
	Unknown           bool
	KVMost, FLOPsMost float64
}

// most returns the work at the upper bounds of KV and FLOPs.
func (w Work) most() Work {
	w.KV, w.FLOPs = w.KVMost, w.FLOPsMost
	return w
}

// Bytes returns all bytes.
func (w *Work) Bytes() float64 { return w.Weights + w.Acts + w.KV }

const (
	actBytes  = 2 // of an activation, an element of the KV cache, and a weight outside the layers' products
	headAlign = 64
)

// product returns the work of a product over the given rows.
func product(role Role, rows, n, k int, f Format, bias bool) Work {
	w := Work{Role: role, N: n, K: k, Compute: f.Compute, Weights: float64(n) * float64(k) * f.Bytes, Acts: float64(rows) * (float64(n)*actBytes + float64(k)*f.input()),
		FLOPs: 2 * float64(rows) * float64(n) * float64(k)}
	if bias {
		w.Weights += float64(n) * actBytes
	}
	return w
}

// input returns the bytes of an element of a product's input. An fp8 product reads it in fp8, with a scale for 128
// elements.
func (f Format) input() float64 {
	if f.Compute == FP8 {
		return 1 + 4.0/128
	}
	return actBytes
}

// plain is the format of the weights that are never quantised.
var plain = Format{Name: "bf16", Bytes: actBytes}

// Layer returns the work of a layer, in the order of execution.
func (m *Model) Layer(i int, l Layout, b Batch) []Work {
	t, h, d := b.Tokens, m.Hidden, m.HeadDim
	q, kv := m.Heads/l.AttnTP, max(1, m.KVHeads/l.AttnTP)
	rows := func(n int) float64 { return float64(t) * float64(n) * actBytes }
	norm := func(role Role) Work { return Work{Role: role, Weights: float64(h) * actBytes, Acts: 4 * rows(h)} }
	out := []Work{norm(NormIn)}
	if m.MLA != nil {
		out = append(out, m.mla(q, b)...)
	} else {
		out = append(out, product(QKV, t, (q+2*kv)*d, h, m.Attention, m.QKVBias))
		if m.QKNorm {
			out = append(out, Work{Role: QKNorm, Weights: 2 * float64(d) * actBytes, Acts: 2 * rows((q+kv)*d)})
		}
		out = append(out, Work{Role: Rope, Acts: 2 * rows((q+kv)*d)},
			Work{Role: KVWrite, Acts: 2 * rows(kv*d), KV: 2 * float64(t) * float64(kv*d) * float64(max(b.KVBytes, 1))}, m.attention(i, q, kv, b),
			product(O, t, h, q*d, m.Attention, m.OBias))
	}
	out = append(out, norm(NormPost))
	if m.Sparse[i] {
		return append(out, m.moe(l, b)...)
	}
	inter := m.Inter / l.TP
	return append(out, product(GateUp, t, 2*inter, h, m.Weight, false), Work{Role: Act, Acts: 3 * rows(inter)}, product(Down, t, h, inter, m.Weight, false))
}

// sameKeys is the largest ratio of the bounds of keys that count as known.
const sameKeys = 1.02

// attention returns the work of the attention of a layer, for q heads and kv key heads of this rank.
func (m *Model) attention(i, q, kv int, b Batch) Work {
	w := Work{Role: Attention, Acts: 2 * float64(b.Tokens) * float64(q*m.HeadDim) * actBytes}
	requests := int64(cmp.Or(b.Real, b.Requests))
	tokens := int64(b.Tokens)
	// New tokens see those before them in their request; this is least if all requests have as many.
	keys, pairs, most := max(b.Keys, tokens), max(b.Pairs, tokens*(tokens/max(requests, 1)+1)/2), b.KeysMost
	if most == 0 && b.Keys >= 0 {
		most = keys
	}
	pairsMost := pairs + most - keys
	if n := int64(m.Windows[i]); n > 0 && requests == 1 {
		see := func(keys int64) int64 { return min(keys, n+tokens-1) }
		keys, pairs, pairsMost, most = see(keys), pairsOf(n, tokens, keys), pairsOf(n, tokens, most), see(most)
	} else if n > 0 && b.Tokens == b.Requests {
		keys, most = inWindow(n, requests, keys, most, &b)
		pairs, pairsMost = max(keys, tokens), most
	} else if n > 0 { // those of each request are not known
		keys, pairs, most = max(requests, min(keys, n)), tokens, 0
	}
	w.Unknown = b.KVBytes == 0 || float64(most) > sameKeys*float64(keys) || most == 0
	key, pair := 2*float64(kv*m.HeadDim), 4*float64(q*m.HeadDim)
	w.KV, w.FLOPs = float64(keys)*key*float64(max(b.KVBytes, 1)), float64(pairs)*pair
	if most > 0 {
		w.KVMost, w.FLOPsMost = float64(most)*key*float64(cmp.Or(b.KVBytes, actBytes)), float64(pairsMost)*pair
	}
	return w
}

// pairsOf returns the pairs of a query and a key in a window of n keys, for the last tokens of a request with that many
// keys.
func pairsOf(n, tokens, keys int64) int64 {
	before := max(keys-tokens, 0)
	short := min(max(n-before, 0), tokens) // queries that see all keys before them
	return short*before + short*(short+1)/2 + (tokens-short)*n
}

// inWindow bounds the keys that the requests of a decode step see in a layer with a window of n keys. keys and most bound
// the keys of all layers without one. If nothing is known of each request, one request may have all keys but one of each
// other request.
func inWindow(n, requests, keys, most int64, b *Batch) (low, high int64) {
	low, high = min(keys-requests+1, n)+requests-1, requests*n
	if most > 0 {
		high = min(high, most)
	}
	if b.Least > 0 {
		low, high = max(low, requests*min(b.Least, n)), min(high, requests*min(b.Most, n))
	}
	if b.Most > 0 && b.Most <= n {
		low = keys
	}
	return low, max(low, high)
}

// moe returns the work of a layer of experts. If tokens choose experts at random, E·(1 − (1 − k/E)^T) of E experts are
// chosen by T tokens with k experts each (as TraceLens computes it). The bounds are those of all possible choices.
func (m *Model) moe(l Layout, b Batch) []Work {
	t, h := b.Tokens, m.Hidden
	routed := t
	if b.Routed > 0 {
		routed = b.Routed
	}
	k, all := float64(m.TopK), float64(m.Experts)
	local := all / float64(l.EP)
	hit := local * (1 - math.Pow(1-k/all, float64(routed)))
	low, high := max(1, math.Ceil(k/float64(l.EP))), min(local, float64(routed)*k)
	low = min(low, high)
	visits := float64(routed) * k / float64(l.EP) // of a token to a local expert
	inter := m.MoEInter / l.MoETP
	experts := func(role Role, n, k int) Work {
		one := float64(n)*float64(k)*m.Weight.Bytes + map[bool]float64{true: float64(n) * actBytes}[m.Bias]
		return Work{Role: role, N: n, K: k, Compute: m.Weight.Compute, Weights: hit * one, Low: low * one, High: high * one,
			Acts: visits * float64(n+k) * actBytes, FLOPs: 2 * visits * float64(n) * float64(k)}
	}
	out := []Work{product(Router, routed, m.Experts, h, plain, m.Bias)}
	act := 3 * visits * float64(inter) * actBytes
	if m.Shared > 0 {
		n := m.Shared / l.TP
		act += 3 * float64(t) * float64(n) * actBytes
		out = append(out, product(SharedIn, t, 2*n, h, m.Weight, false), product(SharedOut, t, h, n, m.Weight, false))
	}
	return append(out, experts(ExpertsIn, 2*inter, h), Work{Role: Act, Acts: act}, experts(ExpertsOut, h, inter),
		Work{Role: ExpertsSum, Acts: float64(routed) * (k/float64(l.EP) + 1) * float64(h) * actBytes})
}

// Begin returns the work before the layers.
func (m *Model) Begin(b Batch) []Work {
	return []Work{{Role: Embedding, Acts: 2 * float64(b.Tokens) * float64(m.Hidden) * actBytes}}
}

// End returns the work after the layers: final norm and head. Servers pad the vocabulary to a multiple of 64.
func (m *Model) End(l Layout, b Batch) []Work {
	h := float64(m.Hidden) * actBytes
	vocab := up(m.Vocab, headAlign) / l.TP
	return []Work{{Role: FinalNorm, Weights: h, Acts: 4 * float64(b.Tokens) * h}, product(Head, b.Requests, vocab, m.Hidden, plain, false)}
}

// part returns the work before the layers (-1), of one layer, or after the layers.
func (m *Model) part(n int, l Layout, b Batch) []Work {
	switch {
	case n < 0 && m.Later, n == m.Layers && m.Earlier:
		return nil
	case n < 0:
		return m.Begin(b)
	case n == m.Layers:
		return m.End(l, b)
	}
	return m.Layer(n, l, b)
}

// stage returns the part of the model on a stage of a pipeline: an equal number of layers; nil: they are not divisible.
func (m *Model) stage(pp, of int) *Model {
	if of <= 1 {
		return m
	}
	if m.Layers%of != 0 {
		return nil
	}
	s, n := *m, m.Layers/of
	s.Layers, s.Windows, s.Sparse = n, m.Windows[pp*n:][:n], m.Sparse[pp*n:][:n]
	s.Later, s.Earlier = pp > 0, pp < of-1
	return &s
}

// bus returns the bytes that a rank sends, or receives, in a collective of n ranks with a whole tensor of B bytes:
// 2(n−1)/n·B for an all-reduce, and (n−1)/n·B for an all-gather or a reduce-scatter. Stages of a pipeline send a whole tensor. The bytes of other collectives are
// not known: 0.
func (m *Model) bus(p Place, l Layout, b Batch) float64 {
	if p.Role == Unknown {
		return 0
	}
	n, rows, width := l.TP, b.Tokens, m.Hidden
	switch {
	case p.Layer == m.Layers && p.Role == AllGather: // logits
		rows, width = b.Requests, up(m.Vocab, headAlign)
	case p.Role != AllReduce && b.Routed > 0:
		rows = b.Routed
	case p.Role == AllReduce && l.AttnTP < l.TP:
		n = l.AttnTP
	}
	share := float64(n-1) / float64(max(n, 1))
	if p.Role == SendRecv { // hidden states and residual have a kernel each
		share = 1
	}
	if p.Role == AllReduce {
		share *= 2
	}
	return share * float64(rows) * float64(width) * actBytes
}
