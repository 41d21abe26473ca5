package merge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/pftrace"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Perfetto merges the set into the file at path as a Perfetto trace, gzipped unless Options.Plain is set. Each rank is
// a group of tracks with its CPU threads, GPU streams and counters. Memory does not grow with the input: the records of
// a rank that exceed 4 MB are sorted in a temporary file in the directory of path.
func Perfetto(ctx context.Context, set set.Set, path string, opt Options) (*Result, error) {
	return toFile(ctx, set, path, opt, func(m *merger, ctx context.Context, w io.Writer) error {
		return m.perfetto(ctx, w, path)
	})
}

// perfetto writes the whole output once. Ranks are read and sorted in parallel, and encoded one after another.
func (m *merger) perfetto(ctx context.Context, w io.Writer, path string) error {
	ctx, cancel := context.WithCancel(ctx)
	g, gctx := errgroup.WithContext(ctx)
	ranks := m.pfRanks(path)
	defer func() {
		cancel()
		_ = g.Wait()
		for _, p := range ranks {
			p.spool.close()
		}
	}()
	turn := make(chan struct{}, min(runtime.GOMAXPROCS(0), 4)) // limits the spools in memory
	g.Go(func() error {
		for _, p := range ranks {
			select {
			case turn <- struct{}{}:
			case <-gctx.Done():
				return gctx.Err()
			}
			g.Go(func() error {
				p.ready <- p.read(gctx)
				return nil
			})
		}
		return nil
	})
	s := newSink(ctx, w, cmp.Or(m.opt.Level, PerfettoLevel), m.opt.Plain, m.opt.Rest)
	pf := pftrace.NewWriter(newBlockWriter(s))
	m.wall(pf)
	err := func() error {
		for i, p := range ranks {
			select {
			case err := <-p.ready:
				if err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := p.encode(s.ctx, pf, uint64(i+1)<<32, m.about(p), &m.notes); err != nil {
				return err
			}
			p.spool.close()
			p.spool, p.shapes = spool{}, nil
			<-turn
		}
		if m.nothing() {
			return ErrNothing
		}
		for i, lack := range set.Together(m.result().Missing) {
			pf.Track(pftrace.Track{
				UUID: uint64(len(ranks)+i+1) << 32, Kind: pftrace.Group,
				Name: lack.Label + " (missing)", Description: lack.String(),
			})
		}
		return pf.Flush()
	}()
	if closeErr := s.close(); err == nil {
		err = closeErr
	}
	return err
}

func (m *merger) pfRanks(path string) []*pfRank {
	var ranks []*pfRank
	of := map[string]*pfRank{}
	for _, p := range m.readables() {
		if r := of[p.label]; r != nil { // another stage
			r.parts = append(r.parts, p)
			continue
		}
		of[p.label] = &pfRank{
			part: p, parts: []*part{p}, spool: spool{path: path}, byRow: map[string]uint32{}, process: map[string]string{},
			labels: map[string]string{}, threads: map[string]string{}, open: map[uint32][]record{},
			flows: map[string]uint64{}, ready: make(chan error, 1),
		}
		ranks = append(ranks, of[p.label])
	}
	return ranks
}

// wall relates the trace's times to the time of day. The output's times count from the base, as in a JSON merge.
func (m *merger) wall(pf *pftrace.Writer) {
	for _, p := range m.parts {
		if at := p.rw.shift.at(p.FirstTS); p.FirstTS > 0 && at > 0 && (m.hasBase || at > epochNS) {
			pf.Wall(at, m.base+at)
			return
		}
	}
}

// about returns the description of a rank's group: for each file one line with the entry that the file would have in
// the metadata of a JSON merge. Perfetto's format has no other place for this metadata.
func (m *merger) about(r *pfRank) string {
	var lines []string
	for _, p := range r.parts {
		text, err := marshal(m.file(p.index))
		if err != nil {
			text = []byte(p.base())
		}
		lines = append(lines, string(text))
	}
	return strings.Join(lines, "\n")
}

// blockWriter splits a stream into blocks for the sink.
type blockWriter struct {
	s    *sink
	free chan []byte
}

func newBlockWriter(s *sink) *blockWriter {
	// The sink's jobs hold at most cap(s.spare) blocks, and one more block may be created when none is free.
	return &blockWriter{s, make(chan []byte, cap(s.spare)+1)}
}

func (b *blockWriter) Write(p []byte) (int, error) {
	var data []byte
	select {
	case data = <-b.free:
	default:
	}
	if !b.s.put(block{data: append(data, p...), home: b.free}) {
		return 0, context.Cause(b.s.ctx)
	}
	return len(p), nil
}

// encode writes the rank's tracks and events. uuid is the id of the rank's first track. encode stops when ctx, the
// sink's context, ends.
func (p *pfRank) encode(ctx context.Context, pf *pftrace.Writer, uuid uint64, about string, notes *[]trace.Note) error {
	pf.Track(pftrace.Track{UUID: uuid, Name: p.label, Kind: pftrace.Group, Description: about})
	var out *pftrace.TrackWriter
	at := -1
	var args pftrace.Args
	var flows []uint64
	var pending int64 // start of the slice to which the collected flows belong
	var lost int64
	rank := p.order()
	strays := func() {
		for _, f := range flows { // no slice begins at the start of the arrow
			out.Instant(&pftrace.Event{TS: pending, Name: []byte("flow"), Flows: []uint64{f}})
		}
		flows = flows[:0]
	}
	err := p.spool.each(ctx, func(r *record) error {
		t := &p.tracks[r.track]
		id := uuid + 1 + uint64(r.track)
		if int(r.track) != at {
			if out != nil {
				strays()
			}
			at = int(r.track)
			track := pftrace.Track{UUID: id, Parent: uuid, Name: p.title(t), Order: rank[r.track], Description: "pid " + t.pid + " tid " + t.tid}
			if t.unit != "" {
				track.Kind, track.Unit, track.Description = pftrace.Counter, t.unit, ""
				pf.Track(track)
				out = nil
			} else {
				out = pf.Spans(track)
			}
		}
		if r.what == counterRecord {
			pf.Counter(id, r.start, r.value)
			return nil
		}
		if len(flows) > 0 && r.start != pending {
			strays()
		}
		if r.what == flowRecord {
			flows, pending = append(flows, r.flow), r.start
			return nil
		}
		if r.flow != 0 {
			flows = append(flows, r.flow)
		}
		ev := pftrace.Event{TS: r.start, Dur: r.dur, Flows: flows}
		if r.what == sliceRecord && r.value > 0 {
			p.shapes[r.value].fill(&ev, r.args)
		} else {
			args.Reset()
			addArgs(&args, r.args, nil)
			ev.Name, ev.Cat, ev.Args = chromejson.Unescape(r.name), chromejson.Unescape(r.cat), &args
		}
		if r.what == instantRecord {
			out.Instant(&ev)
		} else if !out.Add(&ev) {
			lost++
		}
		flows = flows[:0]
		return nil
	})
	if err == nil && out != nil {
		strays()
	}
	if p.clamped > 0 {
		*notes = append(*notes, trace.Note{Kind: trace.NoteClamped, Source: p.base(), Count: p.clamped})
	}
	if lost > 0 && p.problem == nil {
		p.problem = &set.Problem{Reason: fmt.Sprintf("%d spans overlap more than %d others on their row and are not in the output", lost, pftrace.MaxLanes)}
	}
	return err
}

// order returns the order of the rank's tracks: CPU threads, then GPU streams, then other rows, then counters. Tracks
// of one kind are ordered by number.
func (p *pfRank) order() []int32 {
	ids := make([]int, len(p.tracks))
	for i := range ids {
		ids[i] = i
	}
	group := func(t *pfTrack) int {
		_, err := strconv.Atoi(t.pid)
		switch {
		case t.unit != "":
			return 3
		case t.gpu:
			return 1
		case err != nil:
			return 2
		}
		return 0
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		x, y := &p.tracks[a], &p.tracks[b]
		return cmp.Or(cmp.Compare(group(x), group(y)), cmp.Compare(number(x.pid), number(y.pid)),
			cmp.Compare(number(x.tid), number(y.tid)), cmp.Compare(x.name, y.name))
	})
	rank := make([]int32, len(ids))
	for at, id := range ids {
		rank[id] = int32(at)
	}
	return rank
}

// title returns the display name of a track.
func (p *pfRank) title(t *pfTrack) string {
	switch {
	case t.unit != "":
		return t.name
	case t.gpu:
		return cmp.Or(p.labels[t.pid], "GPU "+t.pid) + " " + cmp.Or(p.threads[t.pid+"\x00"+t.tid], "stream "+t.tid)
	}
	return cmp.Or(p.threads[t.pid+"\x00"+t.tid], p.process[t.pid]+" "+t.pid+" "+t.tid)
}
