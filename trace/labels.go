package trace

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareLabels orders rank labels by text, but compares numbers within the labels by value: "rank 2" sorts before
// "rank 10".
func CompareLabels(a, b string) int {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), cmp.Compare(m, n)); c != 0 {
			return c
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(len(a), len(b))
}

// LabelRuns shortens a list of ranks: three or more labels whose last numbers are consecutive become "rank 2 to rank
// 7".
func LabelRuns(labels []string) (out []string) {
	for len(labels) > 0 {
		n := 1
		for n < len(labels) && follows(labels[n-1], labels[n]) {
			n++
		}
		if n > 2 {
			out = append(out, labels[0]+" to "+labels[n-1])
		} else {
			out = append(out, labels[:n]...)
		}
		labels = labels[n:]
	}
	return out
}

// follows reports whether the last number in b is one more than the last number in a, and a and b are otherwise equal.
func follows(a, b string) bool {
	aHead, aNumber, aTail := lastNumber(a)
	bHead, bNumber, bTail := lastNumber(b)
	m, err := strconv.Atoi(aNumber)
	n, err2 := strconv.Atoi(bNumber)
	return err == nil && err2 == nil && n == m+1 && aHead == bHead && aTail == bTail
}

// lastNumber splits s into the text before its last number, the number, and the text after it.
func lastNumber(s string) (head, number, tail string) {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	to := len(s)
	for to > 0 && !digit(s[to-1]) {
		to--
	}
	from := to
	for from > 0 && digit(s[from-1]) {
		from--
	}
	return s[:from], s[from:to], s[to:]
}

// digits returns the number of leading digits in s.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
