package crc32c

import (
	"fmt"
	"hash/crc32"
	"testing"
)

func noise(n int) []byte {
	p, x := make([]byte, n), uint32(1)
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// Every length around the blocks, at every start, in one piece and in two.
func TestUpdate(t *testing.T) {
	p := noise(2000)
	for n := range len(p) {
		at := n % 67
		q := p[min(at, n):n]
		want := crc32.Checksum(q, table)
		if got := Checksum(q); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", len(q), got, want)
		}
		cut := len(q) / 3
		if got := Update(Checksum(q[:cut]), q[cut:]); got != want {
			t.Fatalf("%d bytes and %d: %08x, want %08x", cut, len(q)-cut, got, want)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add(uint32(0), noise(600))
	f.Add(^uint32(0), make([]byte, 1024))
	f.Fuzz(func(t *testing.T, crc uint32, p []byte) {
		if got, want := Update(crc, p), crc32.Update(crc, table, p); got != want {
			t.Errorf("%08x, want %08x", got, want)
		}
	})
}

// BenchmarkUpdate is of what lies in a cache, and of what does not.
func BenchmarkUpdate(b *testing.B) {
	p := noise(64 << 20)
	for _, size := range []int{256 << 10, len(p)} {
		b.Run(fmt.Sprint(size>>10, " kB"), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				Checksum(p[:size])
			}
		})
	}
}
