package merge

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"io"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// pfRank converts the events of one rank to sorted records and named tracks.
type pfRank struct {
	*part   // the part being read; after reading, the last part
	parts   []*part
	spool   spool
	tracks  []pfTrack
	byRow   map[string]uint32 // pid NUL tid
	lastRow []byte
	last    uint32
	process map[string]string // pid -> process name from M events
	labels  map[string]string
	threads map[string]string // row -> thread name from M events
	open    map[uint32][]record
	flows   map[string]uint64 // category of a flow -> hash of the category
	key     []byte
	shapes  []*pfShape // by chromejson.Event.Shape, one file after another; nil: not created yet
	shape   int        // index of the current file's first shape
	numbers []byte
	clamped int64
	ready   chan error
}

type pfTrack struct {
	pid, tid string
	gpu      bool
	unit     string // unit of a counter; "" for slices
	name     string // name of a counter
}

// read reads the rank's files into the spool.
func (p *pfRank) read(ctx context.Context) error {
	for _, p.part = range p.parts {
		p.shape = len(p.shapes)
		if err := p.readFile(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *pfRank) readFile(ctx context.Context) error {
	src, err := chromejson.Open(p.File.Path)
	if err != nil {
		p.problem = set.OpenProblem(err)
		return nil
	}
	defer src.Close()
	s := chromejson.NewScanner(src)
	defer s.Close()
	defer func() { p.stats = s.Stats }()
	var read int64
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if !p.takes(s, kind) {
			continue
		}
		if err := p.event(&s.Event); err != nil {
			return err
		}
		if p.kept&0xfff == 0 {
			p.meter.Reach(src.Consumed(), &read)
		}
	}
	p.finish(src, &s.Stats)
	return nil
}

func (p *pfRank) event(e *chromejson.Event) error {
	if e.Ph == 'M' {
		p.name(e)
		return nil
	}
	ns, ok := chromejson.ParseMicros(e.Text(e.TS))
	if !ok {
		p.rw.oddTimes++
		return nil
	}
	if p.rw.shift.Nonzero {
		ns = p.rw.shift.at(ns)
	}
	if ns < 0 {
		ns = 0
		p.clamped++
	}
	r := record{track: p.row(e), start: ns, name: e.Text(e.Name), cat: e.Text(e.Cat)}
	if e.Args.Present() {
		r.args = e.Value(e.Args)
	}
	switch e.Ph {
	case 'X':
		r.what = sliceRecord
		if dur, ok := chromejson.ParseMicros(e.Text(e.Dur)); ok && dur > 0 && ns+dur > 0 {
			r.dur = dur
		}
		p.slice(e, &r)
		p.shaped(e, &r)
	case 'B':
		p.begin(r)
		return nil
	case 'E':
		if !p.end(&r) {
			return nil
		}
	case 's', 't', 'f':
		if string(r.cat) == "ac2g" {
			return nil // arrows of this category are drawn from correlation ids instead
		}
		r.what, r.args = flowRecord, nil
		r.flow = p.flow(r.cat, e.Text(e.ID))
	case 'C':
		return p.counters(e, &r)
	default:
		r.what = instantRecord
		if err := p.memory(e, ns); err != nil {
			return err
		}
	}
	return p.spool.add(&r)
}

// slice adds the arrow from a launch to the launched work, and marks rows with GPU work.
func (p *pfRank) slice(e *chromejson.Event, r *record) {
	switch string(r.cat) {
	case "kernel", "gpu_memcpy", "gpu_memset":
		p.tracks[r.track].gpu = true
	default:
		if !trace.IsCall(r.cat) {
			return
		}
	}
	if id, ok := e.Arg(chromejson.ArgCorrelation); ok {
		if n, ok := e.Int(id); !ok || n > 0 {
			r.flow = p.flow([]byte("ac2g"), e.Text(id))
		}
	}
}

// flow returns the id of an arrow, which is unique for each combination of file, category and id.
func (p *pfRank) flow(cat, id []byte) uint64 {
	h, ok := p.flows[string(cat)]
	if !ok {
		f := fnv.New64a()
		_, _ = f.Write([]byte{byte(p.index), byte(p.index >> 8), byte(p.index >> 16)})
		_, _ = f.Write(cat)
		h = f.Sum64()
		p.flows[string(cat)] = h
	}
	const prime = 1099511628211
	for _, c := range id {
		h = (h ^ uint64(c)) * prime
	}
	return max(h, 1)
}

// begin stores a B event until end combines it with the matching E event to a slice.
func (p *pfRank) begin(r record) {
	r.name, r.cat, r.args = bytes.Clone(r.name), bytes.Clone(r.cat), bytes.Clone(r.args)
	p.open[r.track] = append(p.open[r.track], r)
}

func (p *pfRank) end(r *record) bool {
	open := p.open[r.track]
	if len(open) == 0 {
		return false
	}
	b := open[len(open)-1]
	p.open[r.track] = open[:len(open)-1]
	b.what, b.dur = sliceRecord, max(0, r.start-b.start)
	*r = b
	return true
}

// row returns the index of the track for an event's pid and tid.
func (p *pfRank) row(e *chromejson.Event) uint32 {
	p.key = append(append(append(p.key[:0], e.Text(e.PID)...), 0), e.Text(e.TID)...)
	if bytes.Equal(p.key, p.lastRow) {
		return p.last
	}
	id, ok := p.byRow[string(p.key)]
	if !ok {
		id = p.addTrack(string(p.key), pfTrack{pid: string(e.Text(e.PID)), tid: string(e.Text(e.TID))})
	}
	p.lastRow, p.last = append(p.lastRow[:0], p.key...), id
	return id
}

func (p *pfRank) addTrack(key string, t pfTrack) uint32 {
	id := uint32(len(p.tracks))
	p.tracks = append(p.tracks, t)
	p.byRow[key] = id
	return id
}

func (p *pfRank) counter(pid []byte, name, unit string) uint32 {
	key := "\x00" + string(pid) + "\x00" + name
	if id, ok := p.byRow[key]; ok {
		return id
	}
	return p.addTrack(key, pfTrack{pid: string(pid), name: name, unit: unit})
}

// memory adds the totals of an allocation as counter values.
func (p *pfRank) memory(e *chromejson.Event, ns int64) error {
	total, ok := e.ArgInt(chromejson.ArgTotalAllocated)
	if !ok {
		return nil
	}
	where := "CPU"
	if kind, _ := e.ArgInt(chromejson.ArgDeviceType); kind != 0 {
		dev, _ := e.Arg(chromejson.ArgDeviceID)
		where = "GPU " + string(e.Text(dev))
	}
	r := record{track: p.counter(nil, "memory allocated on "+where, "bytes"), what: counterRecord, start: ns, value: total}
	if err := p.spool.add(&r); err != nil {
		return err
	}
	if total, ok = e.ArgInt(chromejson.ArgTotalReserved); !ok {
		return nil
	}
	r.track, r.value = p.counter(nil, "memory reserved on "+where, "bytes"), total
	return p.spool.add(&r)
}

// counters adds a C event: each member of args is a series.
func (p *pfRank) counters(e *chromejson.Event, r *record) error {
	var series map[string]json.Number
	if json.Unmarshal(r.args, &series) != nil {
		r.what = instantRecord
		return p.spool.add(r)
	}
	for name, v := range series {
		n, err := v.Float64()
		if err != nil {
			continue
		}
		title := strings.TrimSpace(string(chromejson.Unescape(r.name)) + " " + name)
		c := record{track: p.counter(e.Text(e.PID), title, "count"), what: counterRecord, start: r.start, value: int64(n)}
		if err := p.spool.add(&c); err != nil {
			return err
		}
	}
	return nil
}

// name stores the row name of an M event.
func (p *pfRank) name(e *chromejson.Event) {
	var args struct{ Name, Labels string }
	if json.Unmarshal(e.Value(e.Args), &args) != nil {
		return
	}
	pid := string(e.Text(e.PID))
	switch string(e.Text(e.Name)) {
	case "process_name":
		p.process[pid] = args.Name
	case "process_labels":
		p.labels[pid] = args.Labels
	case "thread_name":
		p.threads[pid+"\x00"+string(e.Text(e.TID))] = strings.TrimSpace(args.Name)
	}
}
