package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HeldStage returns the stage of a trace from a window split by stage. steps counts the steps in the file by kind. The
// returned stage is the stage in the file name, unless all steps belong to the other stage: SGLang 0.5.11 has written
// prefill steps into files named DECODE. If the steps contradict the name, the second result lists the steps found;
// otherwise it is "".
func HeldStage(named string, steps map[string]int) (stage, what string) {
	// Mixed batches count as prefill.
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
