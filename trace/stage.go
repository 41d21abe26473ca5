package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HeldStage is the stage of a trace of a window by stage: what its file's name says,
// unless its steps, counted by kind, are all of the other stage. SGLang 0.5.11 has written
// prefill steps into files named DECODE. what then says what it holds; "": the name is
// right, or nothing speaks against it.
func HeldStage(named string, steps map[string]int) (stage, what string) {
	// Batches of both stages are prefill's.
	prefill, decode := steps[Prefill.String()]+steps[Mixed.String()], steps[Decode.String()]
	switch strings.ToLower(named) {
	case "extend", "prefill":
		if prefill > 0 || decode == 0 {
			return named, ""
		}
		stage = Decode.String()
	case "decode":
		if decode > 0 || prefill == 0 {
			return named, ""
		}
		stage = Prefill.String()
	default:
		return named, ""
	}
	var held []string
	for _, kind := range slices.Sorted(maps.Keys(steps)) {
		held = append(held, fmt.Sprintf("%d %s", steps[kind], kind))
	}
	return stage, strings.Join(held, ", ")
}
