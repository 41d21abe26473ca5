package metric

// Significant is the largest p-value of a significant difference. Two samples count as the same if the whole interval
// of the relative change lies within ±SameWithin.
const (
	Significant = 0.05
	SameWithin  = 0.05
)

// Differs classifies a relative change with the 95 % interval lo to hi and the adjusted p-value p: the two samples
// differ, or they are the same. If the result is unclear, both results are false.
func Differs(lo, hi, p float64) (differs, same bool) {
	if p <= Significant && (lo > 0 || hi < 0) {
		return true, false
	}
	return false, lo > -SameWithin && hi < SameWithin
}
