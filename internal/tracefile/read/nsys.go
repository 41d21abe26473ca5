package read

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// readNsys reads a report of Nsight Systems or its export. Its ranks are placed by what the
// report says; where the file's name says which rank it is, that counts.
func readNsys(ctx context.Context, f set.File, opt Options) ([]*trace.Trace, error) {
	path := f.Path
	if trace.IsReport(path) {
		if opt.Export == nil {
			return nil, errors.New("a report of Nsight Systems: give its SQLite export")
		}
		export, done, err := opt.Export(ctx, path)
		if err != nil {
			return nil, err
		}
		defer done()
		path = export
	}
	traces, err := nsysdb.Read(ctx, path, opt.Nsys)
	opt.Meter.Add(f.Size)
	for _, t := range traces {
		t.Source.Path, t.Source.Bytes = f.Path, f.Size
		for i := range t.Notes {
			t.Notes[i].Source = f.Path
		}
		t.Source.Stage = f.Name.Stage
		if len(traces) == 1 && f.Named {
			t.Source.Rank = f.Name.Rank
		}
	}
	return traces, err
}

// Places keeps the ranks of several reports apart, and tells reports of
// different windows, which are no ranks of one. Reports of one window that
// were made rank by rank or node by node each count from 0 unless their names,
// or those of the processes in them, say more.
type Places struct {
	used map[place]bool
	next map[string]int // TP that is free, by stage
	seen []extent       // of the reports before
}

// extent is when a report was recorded.
type extent struct {
	path       string
	start, end int64
}

// apart is more than the clocks of two hosts differ by, in ns.
const apart = int64(time.Second)

// extentOf is from the first to the last event of a report; ok is false for none.
func extentOf(traces []*trace.Trace) (x extent, ok bool) {
	for _, t := range traces {
		for i := range t.Spans {
			s := &t.Spans[i]
			if !ok {
				x, ok = extent{t.Source.Path, s.Start, s.End()}, true
			}
			x.start, x.end = min(x.start, s.Start), max(x.end, s.End())
		}
	}
	return x, ok
}

// compare notes that a report does not overlap one before.
func (p *Places) compare(traces []*trace.Trace) {
	x, ok := extentOf(traces)
	if !ok {
		return
	}
	for _, o := range p.seen {
		if gap := max(x.start-o.end, o.start-x.end); gap > apart {
			traces[0].Notes = append(traces[0].Notes, trace.Note{Kind: trace.NoteApart, Source: x.path, Count: 1, End: gap, Names: []string{filepath.Base(o.path)}})
			break
		}
	}
	p.seen = append(p.seen, x)
}

type place struct {
	rank  trace.Rank
	stage string
}

// Take gives the ranks of the next report their places: their own where these
// are free, else those after the ranks of the reports before.
func (p *Places) Take(traces []*trace.Trace) {
	if p.used == nil {
		p.used, p.next = map[place]bool{}, map[string]int{}
	}
	p.compare(traces)
	clash := false
	for _, t := range traces {
		at := place{t.Source.Rank, t.Source.Stage}
		clash = clash || at.rank == trace.NoRank || p.used[at]
	}
	for _, t := range traces {
		s := &t.Source
		if clash {
			s.Rank.TP = max(s.Rank.TP, 0) + p.next[s.Stage]
		}
		p.used[place{s.Rank, s.Stage}] = true
	}
	for _, t := range traces {
		p.next[t.Source.Stage] = max(p.next[t.Source.Stage], t.Source.Rank.TP+1)
	}
}
