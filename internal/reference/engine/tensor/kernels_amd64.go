//go:build !noasm

package tensor

import (
	"golang.org/x/sys/cpu"
)

//go:generate go run -C ../../../../tools/asmgen . -out ../../internal/reference/engine/tensor -limits ../../scripts/bench/limits

var bestLevel = detect()

// detect queries the CPU. The package x/sys/cpu checks that the operating system saves the vector registers.
func detect() Level {
	c := &cpu.X86
	switch {
	case !c.HasAVX2 || !c.HasFMA:
		return Generic
	case !c.HasAVX512F || !c.HasAVX512BW || !c.HasAVX512DQ || !c.HasAVX512VL:
		return AVX2
	case !c.HasAVX512BF16:
		return AVX512
	}
	return AVX512BF16
}

// The functions below pass an operation to the kernel of a level. They use switches instead of tables of functions, so
// that the compiler detects that no argument escapes. Therefore buffers can stay on the stack. Callers must have
// checked that operands are not empty and have the right lengths.

func (t tile) run(level Level, f Format) {
	switch {
	case level == Generic:
		t.runGeneric(f)
	case f == BF16Dot:
		tileDotAVX512(t.y, t.ldy, t.x, t.ldx, t.w, t.ldw, (t.k+1)/2, t.n, t.add, t.ahead)
	case f == F32 && level == AVX2:
		tileF32AVX2(t.y, t.ldy, t.x, t.ldx, t.w, t.ldw, t.k, t.n, t.add, t.ahead)
	case f == F32:
		tileF32AVX512(t.y, t.ldy, t.x, t.ldx, t.w, t.ldw, t.k, t.n, t.add, t.ahead)
	case level == AVX2:
		tileBF16AVX2(t.y, t.ldy, t.x, t.ldx, t.w, t.ldw, t.k, t.n, t.add, t.ahead)
	default:
		tileBF16AVX512(t.y, t.ldy, t.x, t.ldx, t.w, t.ldw, t.k, t.n, t.add, t.ahead)
	}
}

// runStrips runs the tile for at least the first outputs outputs and, where possible, omits later outputs. If the level
// does not support partial tiles, runStrips does nothing and returns false.
func (t tile) runStrips(level Level, outputs int) bool {
	if level < AVX512 {
		return false
	}
	const strip = 16
	for i := 0; i < outputs; i += strip {
		stripF32AVX512(ptrAdd(t.y, i), t.ldy, t.x, t.ldx, ptrAdd(t.w, i), t.ldw, t.k, t.n, t.add, 0)
	}
	return true
}

func add(level Level, dst, a, b []float32) {
	switch level {
	case Generic:
		addGeneric(dst, a, b)
	case AVX2:
		addAVX2(&dst[0], &a[0], &b[0], len(dst))
	default:
		addAVX512(&dst[0], &a[0], &b[0], len(dst))
	}
}

func axpy(level Level, dst, x []float32, a float32) {
	switch level {
	case Generic:
		axpyGeneric(dst, x, a)
	case AVX2:
		axpyAVX2(&dst[0], &x[0], len(dst), a)
	default:
		axpyAVX512(&dst[0], &x[0], len(dst), a)
	}
}

func dot(level Level, a, b []float32) float32 {
	switch level {
	case Generic:
		return dotGeneric(a, b)
	case AVX2:
		return dotAVX2(&a[0], &b[0], len(a))
	default:
		return dotAVX512(&a[0], &b[0], len(a))
	}
}

func mulScale(level Level, dst, x, w []float32, s float32) {
	switch level {
	case Generic:
		mulScaleGeneric(dst, x, w, s)
	case AVX2:
		mulScaleAVX2(&dst[0], &x[0], &w[0], len(dst), s)
	default:
		mulScaleAVX512(&dst[0], &x[0], &w[0], len(dst), s)
	}
}

func siluMul(level Level, dst, gate, up []float32) {
	switch level {
	case Generic:
		siluMulGeneric(dst, gate, up)
	case AVX2:
		siluMulAVX2(&dst[0], &gate[0], &up[0], len(dst))
	default:
		siluMulAVX512(&dst[0], &gate[0], &up[0], len(dst))
	}
}

func scale(level Level, x []float32, s float32) {
	switch level {
	case Generic:
		scaleGeneric(x, s)
	case AVX2:
		scaleAVX2(&x[0], len(x), s)
	default:
		scaleAVX512(&x[0], len(x), s)
	}
}

func maxOf(level Level, x []float32) float32 {
	switch level {
	case Generic:
		return maxGeneric(x)
	case AVX2:
		return maxAVX2(&x[0], len(x))
	default:
		return maxAVX512(&x[0], len(x))
	}
}

func expSum(level Level, x []float32, by, sub float32) float32 {
	switch level {
	case Generic:
		return expSumGeneric(x, by, sub)
	case AVX2:
		return expSumAVX2(&x[0], len(x), by, sub)
	default:
		return expSumAVX512(&x[0], len(x), by, sub)
	}
}

func rope(level Level, a, b, cos, sin []float32) {
	switch level {
	case Generic:
		ropeGeneric(a, b, cos, sin)
	case AVX2:
		ropeAVX2(&a[0], &b[0], &cos[0], &sin[0], len(a))
	default:
		ropeAVX512(&a[0], &b[0], &cos[0], &sin[0], len(a))
	}
}

func encodeBF16(level Level, dst []uint16, src []float32) {
	switch whole := len(src) &^ 7; {
	case level >= AVX512:
		encodeBF16AVX512(&dst[0], &src[0], len(src))
	case level == AVX2 && whole > 0:
		encodeBF16AVX2(&dst[0], &src[0], whole)
		encodeBF16Generic(dst[whole:], src[whole:])
	default:
		encodeBF16Generic(dst, src)
	}
}

func decodeBF16(level Level, dst []float32, src []uint16) {
	switch whole := len(src) &^ 7; {
	case level >= AVX512:
		decodeBF16AVX512(&dst[0], &src[0], len(src))
	case level == AVX2 && whole > 0:
		decodeBF16AVX2(&dst[0], &src[0], whole)
		decodeBF16Generic(dst[whole:], src[whole:])
	default:
		decodeBF16Generic(dst, src)
	}
}
