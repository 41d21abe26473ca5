package metric

// Segment is a run of consecutive samples, First and Last included.
type Segment struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// FirstPersistent returns the first index from which x stays above threshold for at least run samples (run < 1 means
// 1), or −1. It answers "since when": one slow step is noise, three in a row are a change. A run that the end of x
// cuts short does not count. NaN is never above.
func FirstPersistent(x []float64, threshold float64, run int) int {
	run = max(run, 1)
	for _, s := range Segments(x, threshold) {
		if s.Last-s.First+1 >= run {
			return s.First
		}
	}
	return -1
}

// Segments returns the runs of consecutive samples above threshold, in order.
func Segments(x []float64, threshold float64) []Segment {
	var segs []Segment
	first := -1
	for i, v := range x {
		switch {
		case v > threshold:
			if first < 0 {
				first = i
			}
		case first >= 0:
			segs = append(segs, Segment{First: first, Last: i - 1})
			first = -1
		}
	}
	if first >= 0 {
		segs = append(segs, Segment{First: first, Last: len(x) - 1})
	}
	return segs
}
