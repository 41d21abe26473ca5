// Package goal says of each goal whether it is met, in lines that scripts/bench/all reads.
package goal

import "fmt"

// Missed tells whether any goal was.
var Missed bool

// Say prints a line of a goal: what it wants and what was measured.
func Say(met bool, format string, args ...any) {
	word := "met   "
	if !met {
		word, Missed = "MISSED", true
	}
	fmt.Printf("%s  %s\n", word, fmt.Sprintf(format, args...))
}
