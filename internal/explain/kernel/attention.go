package kernel

import "strings"

// attention is one call of softmax attention over Batch sequences of equal lengths, counted in elements.
type attention struct {
	Batch, Heads, KVHeads int64
	Q, K                  int64 // numbers of new tokens, and of tokens to which they attend, per sequence
	DimQK, DimV           int64 // dimensions per head
	Elem                  int64 // bytes per element
}

// cost returns the FLOPs and bytes of the call. Per sequence, FLOPs = 2·Q·K·H·(dqk+dv) for the two matrix products,
// without the softmax. Per sequence, Q·H·(dqk+dv) elements of query and output and K·Hkv·(dqk+dv) elements of key and
// value are each moved once; the bytes are the size of these elements.
func (a attention) cost() (flops, bytes int64, ok bool) {
	var c checked
	width := c.add(a.DimQK, a.DimV)
	flops = c.mul(2, a.Batch, a.Q, a.K, a.Heads, width)
	bytes = c.mul(a.Elem, a.Batch, width, c.add(c.mul(a.Q, a.Heads), c.mul(a.K, a.KVHeads)))
	if c.bad {
		return 0, 0, false
	}
	return flops, bytes, true
}

// sequenceFirst lists the ATen attention operators that take [batch, tokens, heads, dim]. The other operators take
// [batch, heads, tokens, dim].
var sequenceFirst = map[string]bool{
	"aten::_flash_attention_forward":     true,
	"aten::_efficient_attention_forward": true,
}

// attentionOf returns the shape of a call of scaled_dot_product_attention. It also accepts the backends of this
// operator, such as aten::_scaled_dot_product_flash_attention, and the operators of the kernels themselves, such as
// aten::_flash_attention_forward and aten::_cudnn_attention_forward. ok is false for packed sequences of different
// lengths, which have three dimensions.
func attentionOf(op string, dims [][]int64, types []string) (a attention, ok bool) {
	name, isATen := strings.CutPrefix(op, "aten::")
	switch {
	case !isATen || strings.HasSuffix(name, "_backward"):
		return a, false
	case strings.HasPrefix(name, "scaled_dot_product_attention"), strings.HasPrefix(name, "_scaled_dot_product_"),
		name == "_cudnn_attention_forward", sequenceFirst[op]:
	default:
		return a, false
	}
	in := operands{dims, types}
	q, k, v := in.shape(0), in.shape(1), in.shape(2)
	size, known := in.size(0)
	if len(q) != 4 || len(k) != 4 || len(v) != 4 || !known || q[0] != k[0] {
		return a, false
	}
	head, token := 1, 2
	if sequenceFirst[op] {
		head, token = 2, 1
	}
	if q[3] != k[3] || k[token] != v[token] || k[head] != v[head] {
		return a, false
	}
	return attention{
		Batch: q[0], Heads: q[head], KVHeads: k[head], Q: q[token], K: k[token], DimQK: q[3], DimV: v[3], Elem: size,
	}, true
}
