package diffusion

import "math"

// Normals fills dst with standard normal numbers that the seed decides: those of torch.randn with a generator of the
// CPU (MT19937 by Matsumoto and Nishimura; Box and Muller's method on blocks of 16, normal_fill of ATen's
// DistributionTemplates.h), to the precision of the logarithm and the cosine.
func Normals(dst []float32, seed uint64) {
	m := newTwister(uint32(seed))
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
	if len(dst)%16 != 0 { // the last 16 are drawn anew
		last := dst[len(dst)-16:]
		for i := range last {
			last[i] = m.uniform()
		}
		boxMuller(last)
	}
}

// boxMuller turns 16 uniform numbers into 16 normal ones.
func boxMuller(x []float32) {
	for j := range 8 {
		radius := float32(math.Sqrt(float64(-2 * float32(math.Log(float64(1-x[j]))))))
		theta := 2 * float32(math.Pi) * x[j+8]
		x[j], x[j+8] = radius*float32(math.Cos(float64(theta))), radius*float32(math.Sin(float64(theta)))
	}
}

// few is how torch draws fewer than 16: pairs, in float64.
func (m *twister) few(dst []float32) {
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

// twister is MT19937.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed uint32) *twister {
	m := &twister{at: 624}
	m.state[0] = seed
	for i := 1; i < len(m.state); i++ {
		m.state[i] = 1812433253*(m.state[i-1]^m.state[i-1]>>30) + uint32(i)
	}
	return m
}

// uniform is the next of 2^24 numbers from 0 to below 1.
func (m *twister) uniform() float32 { return float32(m.next()&(1<<24-1)) / (1 << 24) }

func (m *twister) next64() uint64 {
	hi := uint64(m.next())
	return hi<<32 | uint64(m.next())
}

func (m *twister) next() uint32 {
	if m.at == len(m.state) {
		m.turn()
	}
	y := m.state[m.at]
	m.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (m *twister) turn() {
	const n, mid = 624, 397
	for i := range m.state {
		y := m.state[i]&0x80000000 | m.state[(i+1)%n]&0x7fffffff
		x := m.state[(i+mid)%n] ^ y>>1
		if y&1 != 0 {
			x ^= 0x9908b0df
		}
		m.state[i] = x
	}
	m.at = 0
}
