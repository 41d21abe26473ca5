package op

import "sync/atomic"

// turns hands out the panels of a product to workers, each of which takes part in every run of the kernel. The spans
// become shorter: so the workers are done at about the same time, though one was held up, and most of what each of
// them reads lies together, as memory is read fastest.
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

// next gives the panels to do next, an empty span when there are none left.
func (t *turns) next() Span {
	if i := int(t.taken.Add(1)) - 1; i < len(t.spans) {
		return t.spans[i]
	}
	return Span{}
}

// end says that a worker has done its part. The last one sees to the next run.
func (t *turns) end() {
	if t.ended.Add(1) == t.workers {
		t.ended.Store(0)
		t.taken.Store(0)
	}
}
