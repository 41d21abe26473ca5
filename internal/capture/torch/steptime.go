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

// paceLevel is the confidence level of the interval of the median. If the median of the window has an interval of the
// same level, the interval of the ratio of the two medians has a level of at least 95 %.
const paceLevel = 0.975

// leastPaces is the minimum number of values for a median.
const leastPaces = 3

// NewStepTime returns the step time of decode steps with batch requests, computed from the times in took, in ns. If
// there are too few times, ok is false. NewStepTime sorts took.
func NewStepTime(batch int, took []int64) (p trace.StepTime, ok bool) {
	slices.Sort(took)
	if len(took) < leastPaces || took[0] <= 0 {
		return p, false
	}
	lo, hi := metric.MedianInterval(took, paceLevel)
	return trace.StepTime{Batch: batch, N: len(took), Median: int64(metric.MedianInPlace(took)), Low: lo, High: hi}, true
}

// Refer writes the step times that were measured without the profiler to a file next to the traces. A failed write
// becomes a note.
func (r *ServerResult) Refer(ref *trace.Reference) {
	r.Reference = ref
	err := atomicfile.Write(filepath.Join(r.Dir, trace.ReferenceFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(ref) })
	if err != nil {
		r.Notes = append(r.Notes, trace.ReferenceFile+" could not be written: "+err.Error())
	}
}
