// Package suggest finds the word that the user meant by a misspelt word.
package suggest

import "strings"

// Closest returns the word at the smallest edit distance (letters changed, omitted, added or swapped), or "" if every
// word differs from written in more than a third of the letters of written. The leading dashes of flags do not count as
// letters.
func Closest(written string, words []string) string {
	best, fewest := "", (len(strings.TrimLeft(written, "-"))+2)/3+1
	for _, w := range words {
		if d := edits(written, w); d < fewest {
			best, fewest = w, d
		}
	}
	return best
}

// edits returns the optimal string alignment distance of two words.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	var before, row, above []int
	for j := range len(b) + 1 {
		above = append(above, j)
	}
	for i := range len(a) {
		row = append(make([]int, 0, len(b)+1), i+1)
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			d := min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			row = append(row, d)
		}
		before, above = above, row
	}
	return above[len(b)]
}
