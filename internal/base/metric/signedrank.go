package metric

import (
	"slices"
)

// Blocks of PseudoMedian. Samples of fewer than 2·leastBlocks values are not averaged. Larger samples are averaged in
// blocks of inBlock values. If this would result in more than mostWalsh blocks, the blocks are longer, because the
// number of pairs grows with the square of the number of blocks.
const (
	inBlock     = 3
	leastBlocks = 6
	mostWalsh   = 64
)

// PseudoMedian estimates the centre of a sample by the median of the means of all pairs of values (Hodges and Lehmann
// 1963). lo and hi bound the centre with at least the given confidence level by the signed-rank test (Wilcoxon 1945).
// If the sample is too small for the level, they are the smallest and largest value. In a sample of 12 or more values,
// the values are first replaced by the means of consecutive blocks of about three values (at least 6 and at most 64
// blocks). Averaging evens out values, such as step lengths, that are long at the expense of their neighbours.
// Averaging also keeps effects on every third value, which a median would ignore. The sample must not be empty.
func PseudoMedian[T Number](x []T, level float64) (centre, lo, hi float64) {
	var of []float64
	blocks := len(x)
	if blocks >= 2*leastBlocks {
		blocks = min(max(blocks/inBlock, leastBlocks), mostWalsh)
	}
	for i := range blocks {
		of = append(of, Mean(x[i*len(x)/blocks:(i+1)*len(x)/blocks]))
	}
	walsh := make([]float64, 0, len(of)*(len(of)+1)/2)
	for i, a := range of {
		for _, b := range of[i:] {
			walsh = append(walsh, (a+b)/2)
		}
	}
	slices.Sort(walsh)
	cut := max(signedRankCut(len(of), (1-level)/2)-1, 0)
	return Quantile(walsh, 0.5), walsh[cut], walsh[len(walsh)-1-cut]
}

// signedRankCut returns the largest rank sum k for which a sum below k has a probability of at most tail if signs are
// random. It returns 0 if there is no such k.
func signedRankCut(n int, tail float64) int {
	// ways[s] is the fraction of all sign assignments whose positive ranks sum to s.
	ways := make([]float64, n*(n+1)/2+1)
	ways[0] = 1
	top := 0
	for rank := 1; rank <= n; rank++ {
		top += rank
		for s := top; s >= 0; s-- {
			w := ways[s] / 2
			if s >= rank {
				w += ways[s-rank] / 2
			}
			ways[s] = w
		}
	}
	sum := 0.0
	for k, w := range ways {
		if sum += w; sum > tail {
			return k
		}
	}
	return 0
}
