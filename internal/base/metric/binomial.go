package metric

// gonum's distuv also has the binomial distribution. But distuv imports the matrix packages, with which compilation
// takes ten times as long.
import "gonum.org/v1/gonum/mathext"

// AtLeast returns the probability of k or more successes in n trials of probability p each.
func AtLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}
