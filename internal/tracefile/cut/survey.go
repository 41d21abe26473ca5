package cut

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// survey is the result of the first reading of a file. It suffices to decide for any window which events of the file
// belong to that window. It stores 24 bytes for each API call that launches work, but not the events.
type survey struct {
	head     *set.Head
	steps    []trace.Pass
	before   int   // steps of the rank's earlier stages
	ofRank   int   // steps of all stages of the rank
	start    int64 // ns, start of the earliest span, without the file's base added
	end      int64
	short    string          // part of the window that the file lacks
	launches []link          // API calls that launch work; id is the correlation; sorted by id
	notes    []link          // CPU annotations; id is External id; sorted by id
	flows    map[flow]bounds // flows other than launches
	rows     map[uint64]bounds
	seed     maphash.Seed
}

// link is a span that others reference by id.
type link struct{ id, start, end int64 }

type flow struct {
	cat string
	id  int64
}

type bounds struct{ lo, hi int64 }

func (b bounds) with(lo, hi int64) bounds { return bounds{min(b.lo, lo), max(b.hi, hi)} }

var nowhere = bounds{math.MaxInt64, math.MinInt64}

// look reads a file for the first time. If r is not nil, look also collects the names to redact from the whole file.
func look(ctx context.Context, f set.File, meter *progress.Meter, r *redact.Redactor) (*survey, error) {
	sv := &survey{head: set.ReadHead(f, nil), flows: map[flow]bounds{}, rows: map[uint64]bounds{}, seed: maphash.MakeSeed()}
	if sv.head.Problem != nil {
		return sv, nil
	}
	if r != nil {
		r.LookFile(f.Path, sv.head.Host)
	}
	src, err := chromejson.Open(f.Path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	defer src.Close()
	s := chromejson.NewScanner(src)
	defer s.Close()
	steps := check.Steps{Cutter: trace.NewCutter(f.Path)}
	var read int64
	whole := nowhere
	for {
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if kind == chromejson.MetaToken {
			if s.Stats.Events > 0 {
				sv.head.Add(s.Key, s.Value)
			}
			if r != nil {
				r.Look(s.Value)
			}
			continue
		}
		if s.Stats.Events&0xfff == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			meter.Reach(src.Consumed(), &read)
		}
		e := &s.Event
		if r != nil {
			r.Look(e.Raw)
		}
		lo, hi, ok := interval(e)
		if !ok || e.Ph == 'M' {
			continue
		}
		steps.Event(e)
		if e.Ph == 'X' && string(e.Text(e.Cat)) != "Trace" {
			whole = whole.with(lo, hi)
		}
		sv.add(e, lo, hi)
	}
	byID := func(a, b link) int { return cmp.Compare(a.id, b.id) }
	sorts.Stable(sv.launches, byID)
	sorts.Stable(sv.notes, byID)
	sv.steps, _ = steps.Passes()
	sv.start, sv.end = whole.lo, whole.hi
	return sv, nil
}

func (sv *survey) add(e *chromejson.Event, lo, hi int64) {
	for _, tid := range [...][]byte{nil, e.Text(e.TID)} { // first the process, then the thread
		row := sv.row(e.Text(e.PID), tid)
		b, ok := sv.rows[row]
		if !ok {
			b = nowhere
		}
		sv.rows[row] = b.with(lo, hi)
	}
	switch kindOf(e) {
	case launch:
		if id, ok := e.ArgInt(chromejson.ArgCorrelation); ok && id > 0 {
			sv.launches = append(sv.launches, link{id, lo, hi})
		}
	case annotation:
		if id, ok := e.ArgInt(chromejson.ArgExternalID); ok && id > 0 {
			sv.notes = append(sv.notes, link{id, lo, hi})
		}
	case otherFlow:
		if id, ok := e.Int(e.ID); ok {
			k := flow{string(e.Text(e.Cat)), id}
			b, ok := sv.flows[k]
			if !ok {
				b = nowhere
			}
			sv.flows[k] = b.with(lo, hi)
		}
	}
}

// row returns the key of a thread or stream, or of a process if tid is nil.
func (sv *survey) row(pid, tid []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(sv.seed)
	_, _ = h.Write(pid)
	if tid != nil {
		_ = h.WriteByte(0)
		_, _ = h.Write(tid)
	}
	return h.Sum64()
}

// interval returns an event's time range in ns. For an event without a duration, lo equals hi.
func interval(e *chromejson.Event) (lo, hi int64, ok bool) {
	if !e.TS.Present() {
		return 0, 0, false
	}
	lo, ok = chromejson.ParseMicros(e.Text(e.TS))
	if !ok {
		return 0, 0, false
	}
	hi = lo
	if e.Ph == 'X' && e.Dur.Present() {
		if dur, ok := chromejson.ParseMicros(e.Text(e.Dur)); ok && dur > 0 {
			hi = lo + dur
		}
	}
	return lo, hi, true
}

type kind uint8

const (
	plain      kind = iota
	launch          // API call
	gpuWork         // linked to an API call by correlation
	annotation      // annotation on the CPU
	shadow          // GPU copy of an annotation, linked by External id
	launchFlow      // id is the correlation
	otherFlow
	window // the profiler's recording window, never part of a smaller window
	name   // event that names a row
)

func kindOf(e *chromejson.Event) kind {
	cat := e.Text(e.Cat)
	switch e.Ph {
	case 'X':
		if trace.IsCall(cat) {
			return launch
		}
		switch string(cat) {
		case "kernel", "gpu_memcpy", "gpu_memset":
			return gpuWork
		case "user_annotation":
			return annotation
		case "gpu_user_annotation":
			return shadow
		case "Trace":
			return window
		}
	case 's', 't', 'f':
		if bytes.Equal(cat, []byte("ac2g")) {
			return launchFlow
		}
		return otherFlow
	case 'M':
		return name
	}
	return plain
}
