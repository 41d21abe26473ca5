package metric

import (
	"slices"
)

// A PseudoMedian averages single values of fewer than leastBlocks of inBlock, else blocks of inBlock, or longer ones where
// more than mostWalsh remain: the number of pairs grows as its square.
const (
	inBlock     = 3
	leastBlocks = 6
	mostWalsh   = 64
)

// PseudoMedian estimates the centre of a sample by the median of the means of all pairs
// (Hodges and Lehmann 1963), and bounds it with confidence level or more by the signed-rank
// test (Wilcoxon 1945). A sample too small for the level is bounded by its least and greatest
// value. Of 12 values and more the means of blocks of three, in the order given, stand for the
// values, 6 at least and 64 at most. Values that borrow from their neighbours, as lengths of steps
// do, even out so, and what only every third value has still counts; in a median it does not. The
// sample has one element or more.
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

// signedRankCut is the largest sum of ranks k such that a sum below k has a probability of tail
// at most, if signs mean nothing; 0 if there is none.
func signedRankCut(n int, tail float64) int {
	// ways[s] is the share of all signs whose positive ranks add up to s.
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
