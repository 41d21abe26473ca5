// Package twister is MT19937, the random number generator by Matsumoto and Nishimura that Python and torch use, so that
// the same seed yields the same numbers as in Python and torch.
package twister

const size, mid = 624, 397

// Twister is one generator.
type Twister struct {
	state [size]uint32
	at    int
}

// New returns a Twister seeded with init_genrand, as in torch.
func New(seed uint32) *Twister {
	t := &Twister{at: size}
	t.state[0] = seed
	for i := 1; i < size; i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	return t
}

// Python returns a Twister seeded with init_by_array, as in Python's random.Random(seed).
func Python(seed uint64) *Twister {
	t := New(19650218)
	key := []uint32{uint32(seed), uint32(seed >> 32)}
	if key[1] == 0 {
		key = key[:1]
	}
	i, j := 1, 0
	next := func() {
		if i++; i == size {
			t.state[0], i = t.state[size-1], 1
		}
	}
	for range size {
		t.state[i] = (t.state[i] ^ (t.state[i-1]^t.state[i-1]>>30)*1664525) + key[j] + uint32(j)
		next()
		j = (j + 1) % len(key)
	}
	for range size - 1 {
		t.state[i] = (t.state[i] ^ (t.state[i-1]^t.state[i-1]>>30)*1566083941) - uint32(i)
		next()
	}
	t.state[0] = 1 << 31
	return t
}

// Next returns the next 32-bit number.
func (t *Twister) Next() uint32 {
	if t.at == size {
		t.turn()
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Float is Python's random(): a number in [0, 1) with 53 bits.
func (t *Twister) Float() float64 {
	a, b := t.Next()>>5, t.Next()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

func (t *Twister) turn() {
	for i := range t.state {
		y := t.state[i]&0x80000000 | t.state[(i+1)%size]&0x7fffffff
		x := t.state[(i+mid)%size] ^ y>>1
		if y&1 != 0 {
			x ^= 0x9908b0df
		}
		t.state[i] = x
	}
	t.at = 0
}
