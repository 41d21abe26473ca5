package read

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// readNsys reads an Nsight Systems report or its export. The coordinates of the ranks come from the report, unless the
// file's name gives the rank.
func readNsys(ctx context.Context, f set.File, opt Options) ([]*trace.Trace, error) {
	path := f.Path
	if f.Format == format.NsysReport {
		if opt.Export == nil {
			return nil, errors.New("an Nsight Systems report: give its SQLite export")
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
	return fromReport(f, traces), err
}

// fromReport completes the ranks of a report.
func fromReport(f set.File, traces []*trace.Trace) []*trace.Trace {
	if len(traces) > 1 && traces[0].Source.Rank == trace.NoRank {
		for i, t := range traces {
			t.Source.Rank.TP = i
		}
	}
	for _, t := range traces {
		t.Source.Path, t.Source.Bytes = f.Path, f.Size
		checkInvariants(t, nil, false) // a process of several ranks has launches for other devices
		for i := range t.Notes {
			t.Notes[i].Source = f.Path
		}
		t.Source.Stage = f.Name.Stage
		if len(traces) == 1 && f.Named {
			t.Source.Rank = f.Name.Rank
		}
	}
	return traces
}

// Places gives the ranks of several reports different coordinates. It also detects reports of different windows, which
// are not ranks of one run. In reports made per rank or per node, the ranks of each report count from 0, unless the
// names of the reports or of their processes give the rank.
type Places struct {
	used map[place]bool
	next map[string]int // next free TP, by stage
	seen []extent       // extents of earlier reports
}

// extent is the recording time of a report.
type extent struct {
	path       string
	start, end int64
}

// apart is the gap between two reports, in ns, above which they belong to different windows. It is longer than the
// clock difference between any two hosts.
const apart = int64(time.Second)

// extentOf returns the extent from the first to the last event of a report. ok is false if there are no events.
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

// compare adds a note if the report is recorded more than apart before or after an earlier report.
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

// Take assigns coordinates to the ranks of the next report. If earlier reports use none of their coordinates, the ranks
// keep them. Otherwise the TP of each rank is increased, so that the ranks follow those of earlier reports.
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
