// Package sorts sorts slices by a comparison, as package slices does, with one sort for elements of all types. The
// sorts of slices are compiled anew for each type: 150 of them took 1.1 MB of the binary. These sorts allocate once,
// and take longer for millions of elements: trace, tracefile/merge and the engine's scheduler and sampler use slices.
package sorts

import (
	"iter"
	"slices"
	"sort"
)

// by is a slice with its comparison.
type by[T any] struct {
	s   []T
	cmp func(a, b T) int
}

func (b *by[T]) Len() int           { return len(b.s) }
func (b *by[T]) Less(i, j int) bool { return b.cmp(b.s[i], b.s[j]) < 0 }
func (b *by[T]) Swap(i, j int)      { b.s[i], b.s[j] = b.s[j], b.s[i] }

// By sorts s. Elements that compare equal have no certain order.
func By[S ~[]T, T any](s S, cmp func(a, b T) int) { sort.Sort(&by[T]{s, cmp}) }

// Stable sorts s. Elements that compare equal keep their order.
func Stable[S ~[]T, T any](s S, cmp func(a, b T) int) { sort.Stable(&by[T]{s, cmp}) }

// Sorted returns the sorted elements of a sequence.
func Sorted[T any](seq iter.Seq[T], cmp func(a, b T) int) []T {
	s := slices.Collect(seq)
	By(s, cmp)
	return s
}
