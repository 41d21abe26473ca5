package tensor

import (
	"fmt"
	"math"
)

// Add sets dst = a + b, element by element. All slices must have the same length. dst may be a or b.
func Add(dst, a, b []float32) {
	sameLen("add", len(dst), len(a), len(b))
	if len(dst) > 0 {
		add(Current(), dst, a, b)
	}
}

// Axpy adds a·x to dst. dst and x must have the same length.
func Axpy(dst []float32, a float32, x []float32) {
	sameLen("axpy", len(dst), len(x), len(x))
	if len(dst) > 0 {
		axpy(Current(), dst, x, a)
	}
}

// Scale multiplies x by s.
func Scale(x []float32, s float32) {
	if len(x) > 0 {
		scale(Current(), x, s)
	}
}

// RMSNorm sets dst[i] = x[i] / sqrt(mean(x²) + eps) · w[i] (Zhang and Sennrich, arXiv:1910.07467). All slices must have
// the same length. dst may be x.
func RMSNorm(dst, x, w []float32, eps float32) {
	sameLen("rmsnorm", len(dst), len(x), len(w))
	if len(x) == 0 {
		return
	}
	level := Current()
	mean := dot(level, x, x) / float32(len(x))
	mulScale(level, dst, x, w, float32(1/math.Sqrt(float64(mean+eps))))
}

// SiLUMul sets dst[i] = gate[i] / (1 + exp(-gate[i])) · up[i], the inner step of a SwiGLU feed-forward. All slices must
// have the same length. dst may be gate or up.
func SiLUMul(dst, gate, up []float32) {
	sameLen("silu", len(dst), len(gate), len(up))
	if len(dst) > 0 {
		siluMul(Current(), dst, gate, up)
	}
}

// Rope rotates one head in place. Each element of the first half is paired with the corresponding element of the second
// half, as the checkpoints of Llama and Qwen in the Hugging Face layout require. With h = len(x)/2,
//
//	x[i], x[i+h] = x[i]·cos[i] - x[i+h]·sin[i], x[i+h]·cos[i] + x[i]·sin[i]
//
// cos and sin have h elements, which belong to the head's position.
func Rope(x, cos, sin []float32) {
	h := len(x) / 2
	sameLen("rope", h, len(cos), len(sin))
	if len(x)%2 != 0 {
		panic(fmt.Sprintf("tensor: rope of %d elements", len(x)))
	}
	if h > 0 {
		rope(Current(), x[:h:h], x[h:], cos, sin)
	}
}

// Softmax replaces x by exp(x - max) / Σ exp(x - max). Elements that are -Inf become 0. At least one element must be
// finite.
func Softmax(x []float32) {
	if len(x) > 0 {
		softmax(Current(), x, 1)
	}
}

// softmax replaces x by the softmax of x·by, for by > 0.
func softmax(level Level, x []float32, by float32) {
	sum := expSum(level, x, by, maxOf(level, x)*by)
	scale(level, x, 1/sum)
}

// MaxIdx returns the index of the largest element, or -1 if x is empty. If several elements are equal to the maximum,
// MaxIdx returns the index of the first. x must not contain NaNs.
func MaxIdx(x []float32) int {
	// First find the section that contains the maximum, because that is fast. Then find the position within that
	// section.
	const stretch = 1024
	level := Current()
	best, at := float32(0), -1
	for i := 0; i < len(x); i += stretch {
		if m := maxOf(level, x[i:min(i+stretch, len(x))]); at < 0 || m > best {
			best, at = m, i
		}
	}
	for ; at >= 0 && at < len(x); at++ {
		if x[at] == best {
			return at
		}
	}
	return min(at, 0) // reached only with a NaN
}

// LogSumExp returns log Σ exp(x), computed relative to the maximum. The log probability of a logit is the logit minus
// this value. x is not modified; tmp needs at least len(x) elements.
func LogSumExp(x, tmp []float32) float32 {
	if len(x) == 0 {
		return float32(math.Inf(-1))
	}
	level := Current()
	tmp = tmp[:len(x)]
	copy(tmp, x)
	m := maxOf(level, x)
	return m + float32(math.Log(float64(expSum(level, tmp, 1, m))))
}

func sameLen(op string, a, b, c int) {
	if a != b || a != c {
		panic(fmt.Sprintf("tensor: %s of %d, %d and %d elements", op, a, b, c))
	}
}
