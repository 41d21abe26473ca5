package check

import (
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Odd is a kind of anomaly in a file. Harmless kinds occur in good files too.
type Odd struct {
	Kind     string `json:"kind"`
	Count    int64  `json:"count"`
	First    int64  `json:"first_offset"` // offset of the first event in the decompressed text; -1: no single event
	Harmless bool   `json:"harmless"`
}

// oddness counts anomalies by kind, in order of first appearance.
type oddness struct {
	list []Odd
	mid  int64 // median of the times of the first events
}

// oddKinds names the anomalies that violate an invariant of package trace or that cost an event. They keep a file from
// counting as complete.
var oddKinds = map[trace.NoteKind]string{
	trace.NoteNegative:     "negative dur",
	trace.NoteDaysAway:     "ts days away from the others",
	trace.NoteDaysLong:     "dur above 7 days",
	trace.NoteNoDur:        "span without a usable dur",
	trace.NoteNoTime:       "span without a usable ts",
	trace.NoteRunsOn:       "GPU work that ends after later work of its stream",
	trace.NoteSetBack:      "events out of order: the clock was set back",
	trace.NoteCross:        "host spans that cross on one thread: the clock was set back",
	trace.NoteLateOps:      "GPU work that ends after the synchronisation that waited for it",
	trace.NoteBeforeLaunch: "launches whose GPU work begins before them",
	trace.NoteLostOps:      "launches without GPU work",
	trace.NoteTwice:        "repeated records of GPU work",
}

// Impossible returns the number of anomalies of the impossible kinds in the file. A correct recording has none.
func (f *File) Impossible() (n int64) {
	for _, o := range f.Odd {
		for _, kind := range oddKinds {
			if o.Kind == kind {
				n += o.Count
			}
		}
	}
	return n
}

func (o *oddness) add(kind string, n, off int64, harmless bool) {
	if n == 0 {
		return
	}
	i := slices.IndexFunc(o.list, func(x Odd) bool { return x.Kind == kind })
	if i < 0 {
		o.list = append(o.list, Odd{Kind: kind, First: off, Harmless: harmless})
		i = len(o.list) - 1
	}
	o.list[i].Count += n
}

// times reads an event's interval and counts the anomalies in it.
func (o *oddness) times(e *chromejson.Event) (start, end int64, ok bool) {
	if e.Ph == 0 {
		o.add("event without ph", 1, e.Off, false)
	}
	start, ok = chromejson.ParseMicros(e.Text(e.TS))
	switch {
	case ok && e.TS.Present():
	case e.Ph == 'X' || e.Ph == 'B':
		o.add(oddKinds[trace.NoteNoTime], 1, e.Off, false)
		return 0, 0, false
	case e.Ph == 'M' && !e.TS.Present():
		return 0, 0, false
	default:
		o.add("event without a usable ts", 1, e.Off, false)
		return 0, 0, false
	}
	if e.Ph != 'M' && trace.Away(start, o.mid) {
		o.add(oddKinds[trace.NoteDaysAway], 1, e.Off, false)
		return 0, 0, false
	}
	if e.Ph != 'X' {
		return start, start, e.Ph != 'M'
	}
	dur, ok := chromejson.ParseMicros(e.Text(e.Dur))
	switch {
	case !ok:
		o.add(oddKinds[trace.NoteNoDur], 1, e.Off, false)
	case dur < 0:
		o.add(oddKinds[trace.NoteNegative], 1, e.Off, false)
	case dur > trace.Longest:
		o.add(oddKinds[trace.NoteDaysLong], 1, e.Off, false)
		ok = false
	}
	return start, start + dur, ok
}

// pairing finds ids that occur on only one of two sides. It stores the ids of each side in order of arrival, 8 bytes
// each, and compares the sides at the end.
type pairing struct {
	from, to []int64
	full     bool
}

// maxPairs limits the ids per side of a file to 64 MB.
var maxPairs = 8 << 20

func (p *pairing) add(ids *[]int64, id int64) {
	if len(*ids) >= maxPairs {
		p.full = true
		return
	}
	// The kernels of one graph launch have the same id one after another.
	if n := len(*ids); n > 0 && (*ids)[n-1] == id {
		return
	}
	*ids = append(*ids, id)
}

// alone counts the distinct ids that occur only on the side from, and those that occur only on the side to.
func (p *pairing) alone() (from, to int64) {
	slices.Sort(p.from)
	slices.Sort(p.to)
	a, b := slices.Compact(p.from), slices.Compact(p.to)
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			from++
			i++
		case i == len(a) || b[j] < a[i]:
			to++
			j++
		default:
			i, j = i+1, j+1
		}
	}
	return from, to
}
