package metric

// Of a comparison: the probability below which chance is no explanation, and the share within which all of the interval
// must lie for both sides to be called the same.
const (
	Significant = 0.05
	SameWithin  = 0.05
)

// Differs tells what is shown by a relative change whose 95 % interval is lo to hi and whose adjusted probability is p:
// that the sides differ, or that they are the same; neither where it is not clear.
func Differs(lo, hi, p float64) (differs, same bool) {
	if p <= Significant && (lo > 0 || hi < 0) {
		return true, false
	}
	return false, lo > -SameWithin && hi < SameWithin
}
