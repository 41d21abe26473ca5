package diffusion

import (
	"math"

	"github.com/stepscope/stepscope/internal/base/twister"
)

// randn fills dst with standard normal numbers determined by the seed. The numbers equal the output of torch.randn with
// a CPU generator, to the precision of the logarithm and the cosine. The generator is MT19937 by Matsumoto and
// Nishimura, with Box and Muller's method on blocks of 16 (normal_fill of ATen's DistributionTemplates.h).
func randn(dst []float32, seed uint64) {
	m := normals{twister.New(uint32(seed))}
	if len(dst) < 16 {
		m.few(dst)
		return
	}
	for i := range dst {
		dst[i] = m.uniform()
	}
	for i := 0; i+16 <= len(dst); i += 16 {
		boxMuller(dst[i : i+16])
	}
	if len(dst)%16 != 0 { // draw the last 16 numbers again
		last := dst[len(dst)-16:]
		for i := range last {
			last[i] = m.uniform()
		}
		boxMuller(last)
	}
}

// boxMuller turns 16 uniform numbers into 16 normal numbers.
func boxMuller(x []float32) {
	for j := range 8 {
		radius := float32(math.Sqrt(float64(-2 * float32(math.Log(float64(1-x[j]))))))
		theta := 2 * float32(math.Pi) * x[j+8]
		x[j], x[j+8] = radius*float32(math.Cos(float64(theta))), radius*float32(math.Sin(float64(theta)))
	}
}

// few fills dst, which has fewer than 16 elements. Like torch, it draws the numbers in pairs and computes in float64.
func (m *normals) few(dst []float32) {
	const bits = 1 << 53
	for i := 0; i < len(dst); i += 2 {
		a, b := float64(m.next64()%bits)/bits, float64(m.next64()%bits)/bits
		radius := math.Sqrt(-2 * math.Log1p(-b))
		dst[i] = float32(radius * math.Cos(2*math.Pi*a))
		if i+1 < len(dst) {
			dst[i+1] = float32(radius * math.Sin(2*math.Pi*a))
		}
	}
}

// normals draws the uniform numbers from which normal numbers are computed.
type normals struct{ *twister.Twister }

// uniform returns the next number, one of 2^24 values in [0, 1).
func (m *normals) uniform() float32 { return float32(m.Next()&(1<<24-1)) / (1 << 24) }

func (m *normals) next64() uint64 {
	hi := uint64(m.Next())
	return hi<<32 | uint64(m.Next())
}
