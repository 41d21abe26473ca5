package explaintest

// US and MS are a microsecond and a millisecond in ns, the unit of all times in traces.
const (
	US = 1_000
	MS = 1_000_000
)

// Abs returns the absolute value of a time.
func Abs(ns int64) int64 { return max(ns, -ns) }

// BoolInt returns 1 for true and 0 for false.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
