//go:build amd64 && !noasm

// Package limits has loops that measure the limits of a core: arithmetic on registers alone, and reading memory as
// streams. No program can be faster.
package limits

import (
	"golang.org/x/sys/cpu"

	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Arithmetic returns a loop with the instructions that matrix products of a format use at a level, and the number of
// floating-point operations per turn of the loop.
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
