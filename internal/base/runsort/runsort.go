// Package runsort sorts data that consists of a few ascending runs, such as a row of a trace. A row holds the events of
// several activities one after another, and the events of each activity are in order of time. The package merges the
// runs, which takes n·log₂ k comparisons for n elements in k runs. The standard library's stable sort takes n·(log₂
// n)².
package runsort

// Stable sorts list by less, which reports whether a must come before b. Equal elements keep their order. It allocates
// as much memory as list takes, unless list is already sorted.
func Stable[E any](list []E, less func(a, b E) bool) {
	var ends []int // ends of the runs
	for i := 1; i < len(list); i++ {
		if less(list[i], list[i-1]) {
			ends = append(ends, i)
		}
	}
	if ends == nil {
		return
	}
	ends = append(ends, len(list))
	from, to := list, make([]E, len(list))
	for len(ends) > 1 {
		lo, merged := 0, 0
		for k := 0; k < len(ends); k += 2 {
			mid, hi := ends[k], ends[min(k+1, len(ends)-1)]
			merge(to[lo:hi], from[lo:mid], from[mid:hi], less)
			ends[merged] = hi
			merged++
			lo = hi
		}
		ends = ends[:merged]
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// merge merges two runs into to. If elements are equal, those of a come first.
func merge[E any](to, a, b []E, less func(a, b E) bool) {
	i, j := 0, 0
	for k := range to {
		switch {
		case j == len(b):
			copy(to[k:], a[i:])
			return
		case i == len(a):
			copy(to[k:], b[j:])
			return
		case less(b[j], a[i]):
			to[k] = b[j]
			j++
		default:
			to[k] = a[i]
			i++
		}
	}
}
