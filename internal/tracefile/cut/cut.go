// Package cut extracts a window of a trace as a smaller valid trace: the CPU spans that overlap the window, the GPU
// work that these spans launched (even outside the window), and the flows between the two. Each file is read twice. The
// second reading is that of a merge, so events are copied byte for byte.
package cut

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// Window selects the steps First to Last, counted from 0 in each rank, or all events between the times From and To.
type Window struct {
	Steps       bool
	First, Last int
	From, To    Time
}

// Time is one end of a window: ns since the earliest span of the set or, if Wall is set, since the epoch. Open means
// that the window has no limit at this end.
type Time struct {
	NS   int64
	Wall bool
	Open bool
}

// all reports whether the window has no limits.
func (w Window) all() bool { return !w.Steps && w.From.Open && w.To.Open }

// Plan is the result of the first reading of a set.
type Plan struct {
	Set    set.Set
	Window Window
	Lacks  []string // files that lack the window or a part of it, with reasons
	keep   []bounds // the window in each file, ns on the file's time scale
	look   []*survey
	redact *redact.Redactor // nil: events are copied unchanged
}

// ErrNothing means that no file contains the window.
var ErrNothing = errors.New("nothing is in the window")

// New reads all files of the set and finds the window in each. Files that contain no part of the window are left out of
// Plan.Set and listed in Plan.Lacks.
//
// If r is not nil, it redacts the output for publication. In that case call Plan.File for one file after another, and
// do not call Plan.Merged.
func New(ctx context.Context, set set.Set, w Window, meter *progress.Meter, r *redact.Redactor) (*Plan, error) {
	all := make([]*survey, len(set.Files))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(min(runtime.GOMAXPROCS(0), 8))
	for i, f := range set.Files {
		g.Go(func() (err error) {
			all[i], err = look(gctx, f, meter, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	start := int64(math.MaxInt64)
	for _, sv := range all {
		if sv.head.Problem == nil && sv.start <= sv.end {
			start = min(start, sv.start+sv.head.BaseNS)
		}
	}
	p := &Plan{Set: set, Window: w, redact: r}
	p.Set.Files = nil
	number(set, all)
	for i, sv := range all {
		b, err := sv.find(w, start)
		if errors.Is(err, errOtherStage) {
			continue
		}
		if err != nil {
			p.Lacks = append(p.Lacks, fmt.Sprintf("%s: %v", set.Files[i].Path, err))
			continue
		}
		if sv.short != "" {
			p.Lacks = append(p.Lacks, set.Files[i].Path+": "+sv.short)
		}
		p.Set.Files = append(p.Set.Files, set.Files[i])
		p.look, p.keep = append(p.look, sv), append(p.keep, b)
	}
	if len(p.keep) == 0 {
		if len(p.Lacks) == 1 {
			return nil, fmt.Errorf("%s", p.Lacks[0])
		}
		return p, ErrNothing
	}
	return p, nil
}

// number numbers the steps of a rank across its stages in order of recording, as the analysis does.
func number(window set.Set, all []*survey) {
	of := map[string]*survey{}
	for i, sv := range all {
		of[window.Files[i].Path] = sv
	}
	for _, files := range window.ByRank() {
		sorts.By(files, func(a, b set.File) int {
			x, y := of[a.Path], of[b.Path]
			return cmp.Compare(x.start+x.head.BaseNS, y.start+y.head.BaseNS)
		})
		n := 0
		for _, f := range files {
			of[f.Path].before = n
			n += len(of[f.Path].steps)
		}
		for _, f := range files {
			of[f.Path].ofRank = n
		}
	}
}

// errOtherStage means that the window lies in another stage of the rank.
var errOtherStage = errors.New("the steps are in another stage")

// find locates the window in one file. A window of steps ends where the next step begins, so that the window includes
// host work that continues after the last step.
func (sv *survey) find(w Window, start int64) (bounds, error) {
	if sv.head.Problem != nil {
		return bounds{}, errors.New(sv.head.Problem.String())
	}
	if sv.start > sv.end {
		return bounds{}, errors.New("has no spans")
	}
	if !w.Steps {
		b := bounds{math.MinInt64, math.MaxInt64}
		if !w.From.Open {
			b.lo = w.From.in(sv.head.BaseNS, start)
		}
		if !w.To.Open {
			b.hi = w.To.in(sv.head.BaseNS, start)
		}
		if b.lo > sv.end || b.hi <= sv.start {
			return b, errors.New("has nothing in the window")
		}
		return b, nil
	}
	n := len(sv.steps)
	first, last := max(w.First-sv.before, 0), min(w.Last-sv.before, n-1)
	switch {
	case sv.ofRank == 0:
		return bounds{}, errors.New("has no step annotations: give --from and --to")
	case w.First >= sv.ofRank:
		return bounds{}, fmt.Errorf("has only %d steps, 0 to %d", sv.ofRank, sv.ofRank-1)
	case first > last:
		return bounds{}, errOtherStage
	case w.Last >= sv.ofRank && sv.before+n == sv.ofRank:
		sv.short = fmt.Sprintf("has only %d steps, cut from %d to %d", sv.ofRank, w.First, sv.ofRank-1)
	}
	b := bounds{sv.steps[first].Start, sv.steps[last].End}
	if last+1 < n {
		b.hi = sv.steps[last+1].Start
	}
	return b, nil
}

func (t Time) in(base, start int64) int64 {
	if t.Wall {
		return t.NS - base
	}
	return start + t.NS - base
}

// filter returns a function that selects the events of file i.
func (p *Plan) filter(i int) func(*chromejson.Event) bool {
	sv, w := p.look[i], p.keep[i]
	inside := func(lo, hi int64) bool { return lo < w.hi && hi > w.lo || lo == hi && lo >= w.lo && lo < w.hi }
	// linked returns a function that looks up the spans with an id. known reports whether there is such a span, and in
	// whether one of them overlaps the window.
	linked := func(links []link) func(id int64) (known, in bool) {
		var ids []int64
		var inWindow []bool
		for _, l := range links {
			if n := len(ids); n == 0 || ids[n-1] != l.id {
				ids, inWindow = append(ids, l.id), append(inWindow, false)
			}
			if inside(l.start, l.end) {
				inWindow[len(ids)-1] = true
			}
		}
		return func(id int64) (known, in bool) {
			at, known := slices.BinarySearch(ids, id)
			return known, known && inWindow[at]
		}
	}
	launches, notes := linked(sv.launches), linked(sv.notes)
	return func(e *chromejson.Event) bool {
		lo, hi, timed := interval(e)
		switch kindOf(e) {
		case name:
			b, ok := p.rowBounds(sv, e)
			return ok && inside(b.lo, b.hi)
		case window:
			return timed && lo >= w.lo && hi <= w.hi
		case gpuWork:
			if id, ok := e.ArgInt(chromejson.ArgCorrelation); ok {
				if known, in := launches(id); known {
					return in
				}
			}
		case shadow:
			if id, ok := e.ArgInt(chromejson.ArgExternalID); ok {
				if known, in := notes(id); known {
					return in
				}
			}
		case launchFlow:
			if id, ok := e.Int(e.ID); ok {
				if known, in := launches(id); known {
					return in
				}
			}
		case otherFlow:
			if id, ok := e.Int(e.ID); ok {
				b := sv.flows[flow{string(e.Text(e.Cat)), id}]
				return b.lo >= w.lo && b.hi < w.hi
			}
		}
		return timed && inside(lo, hi)
	}
}

// rowBounds returns the time range covered by the row that an M event names: a thread or, for an event about a process,
// all threads of the process.
func (p *Plan) rowBounds(sv *survey, e *chromejson.Event) (bounds, bool) {
	if n := e.Text(e.Name); len(n) >= 7 && string(n[:7]) == "process" {
		b, ok := sv.rows[sv.row(e.Text(e.PID), nil)]
		return b, ok
	}
	b, ok := sv.rows[sv.row(e.Text(e.PID), e.Text(e.TID))]
	return b, ok
}

// Key is the top-level member that records the origin of a cut trace.
const Key = "stepscope_cut"

type note struct {
	From   string `json:"from,omitempty"`
	Steps  []int  `json:"steps,omitempty"` // first and last step, as numbered in the original trace
	FromNS int64  `json:"from_ns"`         // since the epoch; if the file has no base, as in the file
	ToNS   int64  `json:"to_ns"`
}

func (p *Plan) extra(i int, from string) []set.Member {
	var members []set.Member
	if p.redact != nil {
		from = ""
		members = append(members, set.Member{Key: redact.Key, Value: []byte("1")})
	}
	if p.Window.all() {
		return members
	}
	n := note{From: from, FromNS: p.keep[i].lo + p.look[i].head.BaseNS, ToNS: p.keep[i].hi + p.look[i].head.BaseNS}
	if p.keep[i].lo == math.MinInt64 {
		n.FromNS = p.look[i].start + p.look[i].head.BaseNS
	}
	if p.keep[i].hi == math.MaxInt64 {
		n.ToNS = p.look[i].end + p.look[i].head.BaseNS
	}
	if p.Window.Steps {
		n.Steps = []int{p.Window.First, p.Window.Last}
	}
	b, err := json.Marshal(n)
	if err != nil {
		panic(err) // cannot happen: n is a plain struct
	}
	return append(members, set.Member{Key: Key, Value: b})
}

// File writes the window of file i of Plan.Set to path.
func (p *Plan) File(ctx context.Context, i int, path string, opt merge.Options) (*merge.Result, error) {
	one := p.Set
	one.Files = p.Set.Files[i : i+1]
	opt.AsIs, opt.Extra = true, p.extra(i, p.Set.Files[i].Name.ID)
	if !p.Window.all() {
		opt.Keep = func(int) func(*chromejson.Event) bool { return p.filter(i) }
	}
	if p.redact != nil {
		opt.Redact = p.redact
	}
	return merge.File(ctx, one, path, opt)
}

// Merged writes the windows of all files to path as one merged trace.
func (p *Plan) Merged(ctx context.Context, path string, opt merge.Options) (*merge.Result, error) {
	opt.Extra, opt.Keep = p.extra(0, p.Set.ID), p.filter
	return merge.File(ctx, p.Set, path, opt)
}
