package kernel

import "math/bits"

// This file computes the FLOPs and memory traffic of operators from the shapes that the PyTorch profiler records with
// record_shapes.
//
// A multiply-add counts as two FLOPs, so a matrix product has 2·B·M·N·K FLOPs, plus M·N for a bias. Bytes are the
// minimum traffic: each operand is read once, and the result is written once. Operators nest (aten::linear calls
// aten::matmul, which calls aten::mm), and each records its shapes. Count only the innermost operator that has a cost.

// OpCost returns the floating-point operations and bytes of one call of the ATen operator named op. dims and types are
// the shapes and types of its arguments, as in Kineto's "Input Dims" and "Input type". ok is false if the operator is
// not a supported matrix product or attention, if a shape is missing or inconsistent with others, or if a result
// exceeds int64.
//
// The result is assumed to have the type of the first operand. The result of aten::_scaled_mm is assumed to have 2
// bytes per element, because its type is not recorded. Attention is counted without a causal mask, because the shapes
// do not show whether it is causal.
func OpCost(op string, dims [][]int64, types []string) (flops, bytes int64, ok bool) {
	in := operands{dims, types}
	switch op {
	case "aten::mm", "aten::mm.out":
		return in.product(0, 1, -1, 0)
	case "aten::addmm", "aten::addmm.out":
		return in.product(1, 2, 0, 0)
	case "aten::bmm", "aten::bmm.out":
		return in.product(0, 1, -1, 0)
	case "aten::baddbmm", "aten::baddbmm_", "aten::baddbmm.out":
		return in.product(1, 2, 0, 0)
	case "aten::matmul":
		return in.product(0, 1, -1, 0)
	case "aten::_scaled_mm":
		return in.product(0, 1, 4, 2)
	case "aten::linear":
		return in.linear()
	}
	if a, ok := attentionOf(op, dims, types); ok {
		return a.cost()
	}
	return 0, 0, false
}

type operands struct {
	dims  [][]int64
	types []string
}

// shape returns the dims of argument i, or nil if it is absent or not a tensor.
func (in operands) shape(i int) []int64 {
	if i < 0 || i >= len(in.dims) {
		return nil
	}
	return in.dims[i]
}

func (in operands) size(i int) (int64, bool) {
	if i < 0 || i >= len(in.types) {
		return 0, false
	}
	n, ok := DTypeSize(in.types[i])
	return int64(n), ok
}

// product returns the cost of a @ b, where ai and bi are the indices of the arguments. Leading dimensions are
// broadcast, and one-dimensional operands are treated as in torch.matmul. bias is the index of an argument that is
// added, if any. outSize is the element size of the result; 0 means the element size of a.
func (in operands) product(ai, bi, bias int, outSize int64) (flops, bytes int64, ok bool) {
	a, b := in.shape(ai), in.shape(bi)
	asize, ok1 := in.size(ai)
	bsize, ok2 := in.size(bi)
	if len(a) == 0 || len(b) == 0 || !ok1 || !ok2 {
		return 0, 0, false
	}
	m, k := int64(1), a[len(a)-1]
	var abatch, bbatch []int64
	if len(a) > 1 {
		m, abatch = a[len(a)-2], a[:len(a)-2]
	}
	kb, n := b[0], int64(1)
	if len(b) > 1 {
		kb, n, bbatch = b[len(b)-2], b[len(b)-1], b[:len(b)-2]
	}
	if k != kb {
		return 0, 0, false
	}
	batch, ok := broadcast(abatch, bbatch)
	if !ok {
		return 0, 0, false
	}
	if outSize == 0 {
		outSize = asize
	}
	var c checked
	out := c.mul(batch, m, n)
	flops = c.mul(2, out, k)
	bytes = c.add(c.mul(asize, c.mul(a...)), c.mul(bsize, c.mul(b...)), c.mul(outSize, out))
	flops, bytes = in.addend(&c, bias, out, flops, bytes)
	return flops, bytes, !c.bad
}

// linear returns the cost of x @ wᵀ + bias, where the weight w is [out, in].
func (in operands) linear() (flops, bytes int64, ok bool) {
	x, w := in.shape(0), in.shape(1)
	xsize, ok1 := in.size(0)
	wsize, ok2 := in.size(1)
	if len(x) == 0 || len(w) != 2 || !ok1 || !ok2 || x[len(x)-1] != w[1] {
		return 0, 0, false
	}
	var c checked
	out := c.mul(c.mul(x[:len(x)-1]...), w[0])
	flops = c.mul(2, out, w[1])
	bytes = c.add(c.mul(xsize, c.mul(x...)), c.mul(wsize, c.mul(w...)), c.mul(xsize, out))
	flops, bytes = in.addend(&c, 2, out, flops, bytes)
	return flops, bytes, !c.bad
}

// addend adds the cost of adding argument i to a product of out elements.
func (in operands) addend(c *checked, i int, out, flops, bytes int64) (int64, int64) {
	shape := in.shape(i)
	size, ok := in.size(i)
	if len(shape) == 0 || !ok {
		return flops, bytes
	}
	return c.add(flops, out), c.add(bytes, c.mul(size, c.mul(shape...)))
}

// broadcast returns the number of products in a batch, given the batch dimensions of both operands. Dimensions are
// aligned at the last one.
func broadcast(a, b []int64) (int64, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	var c checked
	n := int64(1)
	for i, d := range a {
		if j := i - (len(a) - len(b)); j >= 0 && b[j] != d {
			switch {
			case d == 1:
				d = b[j]
			case b[j] != 1:
				return 0, false
			}
		}
		n = c.mul(n, d)
	}
	return n, !c.bad
}

// checked does int64 arithmetic on non-negative numbers. It records whether a result was too large or an operand
// negative, since shapes come from files and may be invalid.
type checked struct{ bad bool }

func (c *checked) mul(vs ...int64) int64 {
	n := int64(1)
	for _, v := range vs {
		hi, lo := bits.Mul64(uint64(n), uint64(v))
		if v < 0 || hi != 0 || int64(lo) < 0 {
			c.bad = true
			return 0
		}
		n = int64(lo)
	}
	return n
}

func (c *checked) add(vs ...int64) int64 {
	var n int64
	for _, v := range vs {
		if v < 0 || n+v < n {
			c.bad = true
			return 0
		}
		n += v
	}
	return n
}
