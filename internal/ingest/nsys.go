package ingest

import (
	"context"
	"errors"
	"strings"

	"github.com/stepscope/stepscope/internal/ingest/nsysdb"
	"github.com/stepscope/stepscope/internal/traceset"
	"github.com/stepscope/stepscope/trace"
)

// readNsys reads a report of Nsight Systems or its export. Its ranks are placed by what the
// report says; where the file's name says which rank it is, that counts.
func readNsys(ctx context.Context, f traceset.File, opt Options) ([]*trace.Trace, error) {
	path := f.Path
	if strings.HasSuffix(path, ".nsys-rep") {
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

// Places keeps the ranks of several reports apart. Reports of one window that
// were made rank by rank or node by node each count from 0 unless their names,
// or those of the processes in them, say more.
type Places struct {
	used map[place]bool
	next map[string]int // TP that is free, by stage
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
