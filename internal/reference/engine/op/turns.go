package op

import "sync/atomic"

// turns assigns spans of a product's panels to workers. Every worker participates in every run of the kernel. The spans
// become shorter towards the end, so that all workers finish at about the same time even if one of them was delayed.
// The first spans are long, so that each worker reads mostly contiguous memory, which is fastest.
type turns struct {
	spans   []Span
	workers int32
	taken   atomic.Int32
	ended   atomic.Int32
}

func newTurns(panels, workers int) *turns {
	t := &turns{workers: int32(workers)}
	for at := 0; at < panels; {
		n := max((panels-at)/(2*workers), 1)
		t.spans = append(t.spans, Span{at, at + n})
		at += n
	}
	return t
}

// next returns the next span of panels, or an empty span if no panels are left.
func (t *turns) next() Span {
	if i := int(t.taken.Add(1)) - 1; i < len(t.spans) {
		return t.spans[i]
	}
	return Span{}
}

// end marks the end of a worker's participation in a run. The last worker resets turns for the next run.
func (t *turns) end() {
	if t.ended.Add(1) == t.workers {
		t.ended.Store(0)
		t.taken.Store(0)
	}
}
