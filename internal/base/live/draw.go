package live

import (
	"slices"
	"strings"
)

var levels = []rune("▁▂▃▄▅▆▇█")

// Spark draws non-negative values as a row of columns whose heights are scaled to the highest value. A zero is drawn as
// a blank.
func Spark(values []float64) string {
	most := 0.0
	if len(values) > 0 {
		most = slices.Max(values)
	}
	var out strings.Builder
	for _, v := range values {
		if v <= 0 {
			out.WriteRune(' ')
			continue
		}
		out.WriteRune(levels[min(int(v/most*float64(len(levels))), len(levels)-1)])
	}
	return out.String()
}

// Bar draws a fraction between 0 and 1 as a bar of the given width.
func Bar(share float64, columns int) string {
	full := int(min(max(share, 0), 1) * float64(columns))
	return strings.Repeat("█", full) + strings.Repeat("░", max(columns-full, 0))
}
