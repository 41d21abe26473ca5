// Package prom writes metrics in Prometheus' text format.
package prom

import (
	"cmp"
	"math"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Text builds Prometheus text (exposition format 0.0.4).
type Text struct {
	Prefix string // prefix of all metric names; "": SGLang's prefix
	buf    []byte
}

// name appends the text before and then the metric name with its prefix.
func (x *Text) name(before, name string) {
	x.buf = append(append(append(x.buf, before...), cmp.Or(x.Prefix, "sglang:")...), name...)
}

// Reply sends the text as the reply to a scrape.
func (x *Text) Reply(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(x.buf)
}

// Header begins a metric family.
func (x *Text) Header(name, help, kind string) {
	x.name("# HELP ", name)
	x.name(" "+help+"\n# TYPE ", name)
	x.buf = append(x.buf, " "+kind+"\n"...)
}

// Sample appends a sample.
func (x *Text) Sample(name, labels string, v float64) {
	x.name("", name)
	x.buf = append(appendSample(append(x.buf, "{"+labels+"} "...), v), '\n')
}

// appendSample appends a value in the format of Prometheus' Python client.
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

// Escape escapes a label value.
func Escape(s string) string { return labelReplacer.Replace(s) }

// Histogram counts observations by upper bound.
type Histogram struct {
	bounds []float64 // ascending; +Inf is implied

	mu     sync.Mutex
	counts []uint64 // one count per bound, and one for +Inf
	sum    float64
}

// NewHistogram returns a Histogram with ascending upper bounds.
func NewHistogram(bounds []float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// Observe counts a value.
func (h *Histogram) Observe(v float64) {
	i := sort.SearchFloat64s(h.bounds, v) // a value equal to a bound belongs to that bucket
	h.mu.Lock()
	h.counts[i]++
	h.sum += v
	h.mu.Unlock()
}

// Empty reports whether nothing was observed.
func (h *Histogram) Empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.counts {
		if n > 0 {
			return false
		}
	}
	return true
}

// Write appends the histogram's samples to x.
func (h *Histogram) Write(x *Text, name, labels string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		le := "+Inf"
		if i < len(h.bounds) {
			le = string(appendSample(nil, h.bounds[i]))
		}
		x.Sample(name+"_bucket", labels+`,le="`+le+`"`, float64(total))
	}
	x.Sample(name+"_sum", labels, h.sum)
	x.Sample(name+"_count", labels, float64(total))
}
