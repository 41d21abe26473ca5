//go:build linux && amd64 && !noasm

package main

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
	"github.com/stepscope/stepscope/scripts/bench/limits"
)

// machine runs loops on n cores. No program on this machine can be faster than these loops.
type machine struct {
	n      int
	stream []byte // larger than any cache
	from   int
}

func newMachine(n int) *machine {
	m := &machine{n: n, stream: must(unix.Mmap(-1, 0, 256<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))}
	_ = unix.Madvise(m.stream, unix.MADV_HUGEPAGE) // as for the weights
	for i := range m.stream {
		m.stream[i] = byte(i) // if nothing were written, all pages would be the same zero page
	}
	return m
}

// cores calls f for each part and distributes the calls over n goroutines.
func cores(n, parts int, f func(part int)) {
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= parts {
				return
			}
			f(i)
		}
	}
	var g sync.WaitGroup
	for range n - 1 {
		g.Go(work)
	}
	work()
	g.Wait()
}

// compute returns a job that performs the given number of floating-point operations on registers. It uses the
// instructions that matrix products of this format use at this level.
func (m *machine) compute(f tensor.Format, flops float64) job {
	loop, each := limits.Arithmetic(tensor.Current(), f)
	parts := 16 * m.n
	turns := int(flops/each)/parts + 1
	return timed(func() { cores(m.n, parts, func(int) { loop(turns) }) })
}

// read returns a job that reads a number of bytes of memory, with one stream per core.
func (m *machine) read(bytes float64) job {
	const piece = 1 << 20
	return timed(func() {
		cores(m.n, max(int(bytes/piece), 1), func(part int) { limits.Read(m.stream[(m.from+part*piece)%len(m.stream):][:piece]) })
		m.from = (m.from + int(bytes/piece)*piece) % len(m.stream)
	})
}
