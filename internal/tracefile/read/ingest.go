// Package read reads trace files into values of trace.Trace. It is the only place where units and clocks are converted:
// all resulting times are nanoseconds since the Unix epoch.
package read

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Options control reading.
type Options struct {
	Meter *progress.Meter
	// Nsys controls the reading of Nsight Systems exports. Export makes an export of a report and returns the path of
	// the export. If Export is nil, reports cannot be read. ReadFile calls done after it has read the export.
	Nsys   nsysdb.Options
	Export func(ctx context.Context, report string) (export string, done func(), err error)
}

// Failure is a file that could not be read at all.
type Failure struct {
	Path string
	Err  error
}

// ReadSet reads all files of a set, several at a time. The traces are in the set's order; a merged file yields one
// trace per rank. A file that yields no trace becomes a Failure.
func ReadSet(ctx context.Context, set set.Set, opt Options) ([]*trace.Trace, []Failure, error) {
	results := make([][]*trace.Trace, len(set.Files))
	failures, err := Each(ctx, set, opt, func(i int, ts []*trace.Trace) { results[i] = ts })
	if err != nil {
		return nil, nil, err
	}
	var all []*trace.Trace
	var places Places
	for i, files := range set.ByRank() {
		ts := results[i]
		if len(set.Files) > 1 && files[0].Report() {
			places.Take(ts)
		}
		all = append(all, ts...)
	}
	return all, failures, nil
}

// Each is ReadSet for callers that need only the traces of one rank at a time. take receives the traces of the files at
// index i of [set.Set.ByRank]. The calls of take come in any order, and calls for several ranks are concurrent. The
// ranks of Nsight Systems reports keep their numbers from the reports, so the caller must pass all of them through one
// Places.
func Each(ctx context.Context, set set.Set, opt Options, take func(i int, ts []*trace.Trace)) ([]Failure, error) {
	var mu sync.Mutex
	var failures []Failure
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	byStage := set.ByStage()
	for i, files := range set.ByRank() {
		g.Go(func() error {
			ts, failed := Rank(ctx, files, byStage, opt)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			mu.Lock()
			failures = append(failures, failed...)
			mu.Unlock()
			take(i, ts)
			return nil
		})
	}
	return failures, g.Wait()
}

// Rank reads the files of one rank, as grouped by [set.Set.ByRank]. The files of several stages become one trace with a
// stretch for each stage, unless they come from different processes. In a window by stage, the Source.Stage of the
// resulting traces is then empty.
func Rank(ctx context.Context, files []set.File, byStage bool, opt Options) (all []*trace.Trace, failures []Failure) {
	for _, f := range files {
		ts, err := ReadFile(ctx, f, opt)
		if err != nil {
			failures = append(failures, Failure{f.Path, err})
		}
		all = append(all, ts...)
	}
	if !byStage || files[0].Report() {
		return all, failures
	}
	if len(all) > 1 {
		joined := trace.JoinStretches(all)
		if joined == nil {
			return all, failures
		}
		all = []*trace.Trace{joined}
	}
	for _, t := range all {
		if files[0].Name.Stage != "" {
			t.Source.Stage = ""
		}
	}
	return all, failures
}

// ReadFile reads one file. If the file is truncated or partly broken, ReadFile returns the readable part, with notes.
// An error means that no part was readable.
func ReadFile(ctx context.Context, f set.File, opt Options) ([]*trace.Trace, error) {
	if f.Format == format.Unknown {
		f.Format = format.Of(f.Path)
	}
	if err := f.Format.Refuse(f.Path); err != nil {
		return nil, err
	}
	return readers[f.Format](ctx, f, opt)
}

// readers has the reader of each format that is not refused.
var readers = map[format.Format]func(context.Context, set.File, Options) ([]*trace.Trace, error){
	format.NsysReport: readNsys,
	format.NsysExport: readNsys,
	format.Rocprof:    readRocprof,
	format.Rocpd:      readRocprof,
	format.Ascend:     readEvents, // each reader of text knows the vocabularies of all producers
	format.Kineto:     readEvents,
}

// readEvents reads a file of events as text.
func readEvents(ctx context.Context, f set.File, opt Options) ([]*trace.Trace, error) {
	src, err := chromejson.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return read(ctx, src, f, opt)
}

func read(ctx context.Context, src *chromejson.Source, f set.File, opt Options) ([]*trace.Trace, error) {
	sc := chromejson.NewScanner(src)
	defer sc.Close()
	r := &reader{file: f, metaText: map[string]json.RawMessage{}}
	var seen int64
	for n := 0; ; n++ {
		if n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			opt.Meter.Reach(src.Consumed(), &seen)
		}
		kind, err := sc.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if kind == chromejson.MetaToken {
			r.meta(sc.Key, sc.Value)
			continue
		}
		r.builderFor(sc.Event.Text(sc.Event.PID)).event(&sc.Event)
	}
	opt.Meter.Reach(src.Consumed(), &seen)
	if sc.Stats.Events == 0 {
		if reason := sc.Stats.End.Reason; reason != "" {
			return nil, fmt.Errorf("no event can be read: %s at byte %d of the text", reason, sc.Stats.End.Offset)
		}
		return nil, fmt.Errorf("it contains no events")
	}
	if err := r.foreign(); err != nil {
		return nil, err
	}
	return r.finish(src, sc.Stats), nil
}
