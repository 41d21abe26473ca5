package torch

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// paceLevel is that of the interval of a pace's median: with one as sure of the steps of a
// window the ratio of the two has 95 % or more.
const paceLevel = 0.975

// leastPaces are needed for a median.
const leastPaces = 3

// NewPace is the pace of decode steps of so many requests that took so long each, ns; ok
// is false if they are too few. The list is sorted.
func NewStepTime(batch int, took []int64) (p trace.StepTime, ok bool) {
	slices.Sort(took)
	if len(took) < leastPaces || took[0] <= 0 {
		return p, false
	}
	lo, hi := metric.MedianInterval(took, paceLevel)
	return trace.StepTime{Batch: batch, N: len(took), Median: int64(metric.MedianInPlace(took)), Low: lo, High: hi}, true
}

// Refer puts what decode steps took that were not recorded beside the traces. That it
// cannot be written is a note.
func (r *ServerResult) Refer(ref *trace.Reference) {
	r.Reference = ref
	err := atomicfile.Write(filepath.Join(r.Dir, trace.ReferenceFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(ref) })
	if err != nil {
		r.Notes = append(r.Notes, trace.ReferenceFile+" could not be written: "+err.Error())
	}
}
