package server

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// exposition builds Prometheus text (exposition format 0.0.4). All names get
// SGLang's prefix.
type exposition struct{ buf []byte }

func (x *exposition) header(name, help, kind string) {
	x.buf = append(x.buf, "# HELP sglang:"+name+" "+help+"\n# TYPE sglang:"+name+" "+kind+"\n"...)
}

func (x *exposition) sample(name, labels string, v float64) {
	x.buf = append(x.buf, "sglang:"+name+"{"+labels+"} "...)
	x.buf = append(appendSample(x.buf, v), '\n')
}

// appendSample appends a value as Prometheus' Python client prints it.
func appendSample(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return append(strconv.AppendFloat(dst, v, 'f', -1, 64), ".0"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

var labelReplacer = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelEscape(s string) string { return labelReplacer.Replace(s) }

// histogram counts observations by upper bound.
type histogram struct {
	bounds []float64 // ascending; +Inf is implied

	mu     sync.Mutex
	counts []uint64 // one more than bounds
	sum    float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i := sort.SearchFloat64s(h.bounds, v) // a bound belongs to its own bucket
	h.mu.Lock()
	h.counts[i]++
	h.sum += v
	h.mu.Unlock()
}

func (h *histogram) write(x *exposition, name, labels string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		le := "+Inf"
		if i < len(h.bounds) {
			le = string(appendSample(nil, h.bounds[i]))
		}
		x.sample(name+"_bucket", labels+`,le="`+le+`"`, float64(total))
	}
	x.sample(name+"_sum", labels, h.sum)
	x.sample(name+"_count", labels, float64(total))
}
