package tensor

import "math"

// Vector operations in plain Go. They are the reference in tests of the assembly, and they are the implementation on
// other CPUs. They compute sums in float64. Callers must have checked the lengths.

func addGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func axpyGeneric(dst, x []float32, a float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += a * x[i]
	}
}

func dotGeneric(a, b []float32) float32 {
	b = b[:len(a)]
	var s float64
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return float32(s)
}

// mulScaleGeneric sets dst = (x·s)·w.
func mulScaleGeneric(dst, x, w []float32, s float32) {
	x, w = x[:len(dst)], w[:len(dst)]
	for i := range dst {
		dst[i] = x[i] * s * w[i]
	}
}

func siluMulGeneric(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i, g := range gate {
		dst[i] = g / (1 + float32(math.Exp(-float64(g)))) * up[i]
	}
}

func scaleGeneric(x []float32, s float32) {
	for i := range x {
		x[i] *= s
	}
}

func maxGeneric(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m
}

// expSumGeneric sets x = exp(x·scale - sub) and returns the sum.
func expSumGeneric(x []float32, scale, sub float32) float32 {
	var s float64
	for i, v := range x {
		e := float32(math.Exp(float64(v*scale - sub)))
		x[i] = e
		s += float64(e)
	}
	return float32(s)
}

// ropeGeneric rotates the pairs (a[i], b[i]) by angles whose cosines and sines are cos and sin.
func ropeGeneric(a, b, cos, sin []float32) {
	b, cos, sin = b[:len(a)], cos[:len(a)], sin[:len(a)]
	for i, p := range a {
		q := b[i]
		a[i] = p*cos[i] - q*sin[i]
		b[i] = q*cos[i] + p*sin[i]
	}
}

func encodeBF16Generic(dst []uint16, src []float32) {
	for i, x := range src {
		dst[i] = ToBF16(x)
	}
}

func decodeBF16Generic(dst []float32, src []uint16) {
	for i, h := range src {
		dst[i] = FromBF16(h)
	}
}
