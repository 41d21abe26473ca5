package tensor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// eachLevel runs f at every level of this CPU. The tests of one process share the level, so none of them is parallel.
func eachLevel(t *testing.T, f func(t *testing.T, l Level)) {
	t.Helper()
	defer Use(Current())
	for l := Generic; l <= Best(); l++ {
		Use(l)
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
}

var formats = []Format{F32, BF16, BF16Dot}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

// normals returns n numbers of mean 0 and deviation 1, at an odd memory offset so that no kernel can rely on alignment.
func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+1)[1:]
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// guard is the test fill of memory that must not be written.
const guard = float32(-12345.5)

func guarded(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = guard
	}
	return x
}

func nan() float32 { return float32(math.NaN()) }

// near fails t unless |got - want| ≤ tol.
func near(t *testing.T, what string, i int, got, want, tol float64) {
	t.Helper()
	if d := math.Abs(got - want); !(d <= tol) {
		t.Fatalf("%s[%d] = %g, want %g ± %.2g", what, i, got, want, tol)
	}
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s[%d] = %g (%08x), want %g (%08x)", what, i,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}
