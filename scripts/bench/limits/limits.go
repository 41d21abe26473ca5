//go:build amd64 && !noasm

// Package limits has loops that measure the limits of a core. One loop performs arithmetic on registers alone, and
// another reads memory as streams. No program can be faster than these loops.
package limits

import (
	"golang.org/x/sys/cpu"

	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Arithmetic returns a loop that contains the instructions used by matrix products of format f at level l. It also
// returns the number of floating-point operations per turn of the loop.
func Arithmetic(l tensor.Level, f tensor.Format) (loop func(turns int), flops float64) {
	switch {
	case f == tensor.BF16Dot:
		return dotAVX512, 24 * 64
	case l == tensor.AVX2:
		return fmaAVX2, 12 * 16
	}
	return fmaAVX512, 24 * 32
}

// Read reads memory. len(b) must be a multiple of 1024.
func Read(b []byte) {
	if cpu.X86.HasAVX512F {
		readAVX512(&b[0], len(b))
	} else {
		readAVX2(&b[0], len(b))
	}
}
