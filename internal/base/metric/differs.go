package metric

// Significant is the largest p-value of a significant difference. SameWithin is the relative change within which the
// whole interval must lie for both sides to count as the same.
const (
	Significant = 0.05
	SameWithin  = 0.05
)

// Differs classifies a relative change with the 95 % interval lo to hi and the adjusted p-value p: the sides differ,
// they are the same, or neither if the result is unclear.
func Differs(lo, hi, p float64) (differs, same bool) {
	if p <= Significant && (lo > 0 || hi < 0) {
		return true, false
	}
	return false, lo > -SameWithin && hi < SameWithin
}
