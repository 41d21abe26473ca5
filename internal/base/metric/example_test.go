package metric_test

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/metric"
)

func Example() {
	base := []float64{1.24e6, 1.25e6, 1.26e6, 1.23e6, 1.27e6, 1.22e6} // ns
	slow := []float64{1.95e6, 1.96e6, 1.99e6, 1.94e6, 1.97e6, 1.93e6}
	c := metric.Compare(base, slow)
	fmt.Printf("%s -> %s: %s (%s to %s), p = %.4f, enough: %v\n", metric.Duration(c.MedianA), metric.Duration(c.MedianB),
		metric.PercentChange(c.Change), metric.PercentChange(c.Lo), metric.PercentChange(c.Hi), c.P, c.Enough)
	// Output:
	// 1.25 ms -> 1.96 ms: +57.0 % (+54.3 % to +60.2 %), p = 0.0022, enough: true
}
