package read

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Arg is one arg of an event, as its file has it: a text without its quotes, any other value as JSON.
type Arg struct{ Name, Value string }

// ErrNoArgs means that a file has no event for a span, or a format whose args cannot be read.
var ErrNoArgs = errors.New("the file gives no args of this span")

// Args reads all args of a span of t from the file of t. A trace keeps only the args that analyses use, so the file is
// read again, up to the event of the span.
func Args(ctx context.Context, t *trace.Trace, span int32) ([]Arg, error) {
	s := &t.Spans[span]
	paths := []string{t.Source.Path}
	for _, of := range t.Stretches {
		if of.Path != "" && !slices.Contains(paths, of.Path) && of.Start <= s.Start && s.Start <= of.End {
			paths = append(paths, of.Path)
		}
	}
	for _, path := range slices.Backward(paths) {
		of := textArgs
		switch format.Of(path) {
		case format.Kineto, format.Ascend:
		case format.NsysExport:
			of = rowArgs
		default:
			continue
		}
		args, err := of(ctx, path, t, s)
		if args != nil || err != nil {
			return args, err
		}
	}
	return nil, ErrNoArgs
}

// textArgs reads the args of a span from a file of events as text. It returns nil if the file has no such event.
func textArgs(ctx context.Context, path string, t *trace.Trace, s *trace.Span) ([]Arg, error) {
	args, base, err := findArgs(ctx, path, t, s, t.Source.BaseNS)
	if args == nil && err == nil && base != t.Source.BaseNS { // a later stretch counts its times from another base
		args, _, err = findArgs(ctx, path, t, s, base)
	}
	return args, err
}

// findArgs returns the args of the event that begins at the span's start, if times count from base. It also returns the
// base that the file gives. An event on another row counts if there is none on the row of the span, because the rows of
// a joined trace may have other names.
func findArgs(ctx context.Context, path string, t *trace.Trace, s *trace.Span, base int64) (args []Arg, own int64, err error) {
	src, err := chromejson.Open(path)
	if err != nil {
		return nil, base, err
	}
	defer src.Close()
	sc := chromejson.NewScanner(src)
	defer sc.Close()
	own = base
	name, track := t.Strings.Get(s.Name), &t.Tracks[s.Track]
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return nil, own, ctx.Err()
		}
		kind, err := sc.Next()
		if err == io.EOF {
			return args, own, nil
		}
		if err != nil {
			return nil, own, err
		}
		if kind == chromejson.MetaToken {
			if string(sc.Key) == "baseTimeNanoseconds" {
				own, _ = chromejson.ParseInt(bytes.Trim(sc.Value, `" `))
			}
			continue
		}
		e := &sc.Event
		if e.Ph != 'X' && e.Ph != 'B' {
			continue
		}
		if at, ok := when(e); !ok || at+base != s.Start || string(chromejson.Unescape(e.Text(e.Name))) != name {
			continue
		}
		if e.Ph == 'X' {
			if dur, ok := chromejson.ParseMicros(e.Text(e.Dur)); !ok || max(dur, 0) != s.Dur {
				continue
			}
		}
		same := string(e.Text(e.PID)) == track.PID && string(e.Text(e.TID)) == track.TID
		if args == nil || same {
			args = argsOf(e)
		}
		if same {
			return args, own, nil
		}
	}
}

// argsOf returns the members of an event's args.
func argsOf(e *chromejson.Event) []Arg {
	out, b := []Arg{}, e.Value(e.Args)
	if len(b) == 0 || b[0] != '{' {
		return out
	}
	for i := chromejson.SkipSpace(b, 1); i < len(b) && b[i] == '"'; {
		end := chromejson.SkipValue(b, i)
		name := chromejson.String(b[i:end])
		i = chromejson.SkipSpace(b, chromejson.SkipSpace(b, end)+1) // after the colon
		end = chromejson.SkipValue(b, min(i, len(b)))
		value := string(b[min(i, len(b)):end])
		if value != "" && value[0] == '"' {
			value = chromejson.String([]byte(value))
		}
		out = append(out, Arg{name, value})
		if i = chromejson.SkipSpace(b, end); i < len(b) && b[i] == ',' {
			i = chromejson.SkipSpace(b, i+1)
		}
	}
	return out
}

// rowTables are the tables of an Nsight Systems export with the work of a category.
var rowTables = map[trace.Category]string{
	trace.Kernel: "CUPTI_ACTIVITY_KIND_KERNEL", trace.Memcpy: "CUPTI_ACTIVITY_KIND_MEMCPY", trace.Memset: "CUPTI_ACTIVITY_KIND_MEMSET",
	trace.Runtime: "CUPTI_ACTIVITY_KIND_RUNTIME", trace.Driver: "CUPTI_ACTIVITY_KIND_RUNTIME", trace.Sync: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
}

// rowArgs reads the columns of a span's row in an Nsight Systems export. It returns nil if there is no such row.
func rowArgs(ctx context.Context, path string, t *trace.Trace, s *trace.Span) (args []Arg, err error) {
	db, err := sqlitefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	table := db.Table(rowTables[s.Cat])
	if table == nil {
		return nil, nil
	}
	start, end, corr := slices.Index(table.Columns, "start"), slices.Index(table.Columns, "end"), slices.Index(table.Columns, "correlationId")
	if start < 0 || end < 0 || corr < 0 {
		return nil, nil
	}
	found, n := errors.New("found"), 0
	err = table.Scan(table.Columns, func(row *sqlitefile.Row) error {
		if n++; n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if row.Int(start)+t.Source.BaseNS != s.Start || row.Int(end)-row.Int(start) != s.Dur || row.Int(corr) != s.Corr {
			return nil
		}
		for i, name := range table.Columns {
			switch {
			case row.Null(i):
			case row.Text(i) != nil:
				args = append(args, Arg{name, string(row.Text(i))})
			default:
				args = append(args, Arg{name, strconv.FormatInt(row.Int(i), 10)})
			}
		}
		return found
	})
	if err == found {
		err = nil
	}
	return args, err
}
