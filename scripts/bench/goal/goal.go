// Package goal prints whether goals are met, in the format that scripts/bench/all reads.
package goal

import "fmt"

// Missed reports whether any goal was missed.
var Missed bool

// Say prints the result of a goal: the target and the measured value.
func Say(met bool, format string, args ...any) {
	word := "met   "
	if !met {
		word, Missed = "MISSED", true
	}
	fmt.Printf("%s  %s\n", word, fmt.Sprintf(format, args...))
}
