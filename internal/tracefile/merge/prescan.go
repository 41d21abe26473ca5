package merge

import (
	"context"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// each calls f for the parts that choose accepts. It runs at most as many calls at a time as there are cores.
func (m *merger) each(ctx context.Context, choose func(*part) bool, f func(*part) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(runtime.GOMAXPROCS(0), openFiles))
	for _, p := range m.parts {
		if choose(p) {
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return f(p)
			})
		}
	}
	return g.Wait()
}

// prescan reads a whole file before the merge, to collect the file's collectives or the metadata after the file's
// events. It does not report a broken file, because the merge detects and reports it later.
func (p *part) prescan(ctx context.Context, comms *Comms, meta bool) error {
	src, err := chromejson.Open(p.File.Path)
	if err != nil {
		return nil
	}
	defer src.Close()
	s := chromejson.NewScanner(resting(src, p.rest))
	defer s.Close()
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		kind, err := s.Next()
		switch {
		case err == io.EOF:
			return nil
		case kind == chromejson.EventToken:
			if ns, ok := chromejson.ParseMicros(s.Event.Text(s.Event.TS)); comms != nil && !(ok && trace.Away(ns, p.MidTS)) {
				comms.Event(&s.Event)
			}
		case meta && s.Stats.Events > 0 && string(s.Key) == "baseTimeNanoseconds":
			if n, ok := chromejson.ParseInt(s.Value); ok {
				p.BaseNS, p.HasBase = n, true
			}
		}
	}
}
