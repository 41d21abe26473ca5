package workload

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// TimedTrace is the data set of a file with the time and the lengths of each request.
const TimedTrace = "timed-trace"

// Timed reports whether the requests of a data set are always sent at the times that it gives.
func Timed(dataset string) bool { return dataset == "mooncake" || dataset == TimedTrace }

// timedColumn is a column of a timed trace. Its usual names are compared without case.
type timedColumn struct {
	key   string
	usual []string
}

// timedColumns lists the columns of a timed trace with the names that public traces use: Azure's, BurstGPT's, Vidur's,
// Mooncake's and those of usage records.
var timedColumns = []timedColumn{
	{"time", []string{"timestamp", "time", "arrival_time", "arrived_at", "start_time"}},
	{"input", []string{"input", "input_length", "input_len", "input_tokens", "prompt_tokens", "contexttokens", "request tokens", "num_prefill_tokens"}},
	{"output", []string{"output", "output_length", "output_len", "output_tokens", "completion_tokens", "generatedtokens", "response tokens", "num_decode_tokens"}},
}

const timedWanted = "a CSV file or JSON lines with the columns time, input and output"

// timeUnits are the units of times, in ns.
var timeUnits = map[string]float64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// columnNames parses the value of --trace-columns.
func columnNames(text string) (names map[string]string, unit float64, err error) {
	names, unit = map[string]string{}, timeUnits["s"]
	for _, part := range strings.Split(text, ",") {
		if text == "" {
			break
		}
		key, name, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		known := slices.ContainsFunc(timedColumns, func(c timedColumn) bool { return c.key == key })
		if !ok || !known || name == "" || names[key] != "" {
			return nil, 0, fmt.Errorf("--trace-columns %q: give time=COLUMN[:ms],input=COLUMN,output=COLUMN", part)
		}
		if at := strings.LastIndexByte(name, ':'); at > 0 && key == "time" {
			if u, ok := timeUnits[name[at+1:]]; ok {
				name, unit = name[:at], u
			}
		}
		names[key] = name
	}
	return names, unit, nil
}

// timedRow is a row of a timed trace.
type timedRow struct {
	at            int64 // ns
	input, output int
}

// timedTrace reads the first rows of a trace, in order of time. A prompt consists of random tokens of the row's length.
func (b *builder) timedTrace(ctx context.Context) ([]Request, error) {
	names, unit, err := columnNames(b.TraceColumns)
	if err != nil {
		return nil, err
	}
	rows, err := b.open(orCSV, timedWanted)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	trace, err := b.timedRows(rows, names, unit)
	if err != nil {
		return nil, err
	}
	sorts.Stable(trace, func(a, b timedRow) int { return cmp.Compare(a.at, b.at) })
	in, outs := make([]int, len(trace)), make([]int, len(trace))
	for i, row := range trace {
		in[i], outs[i] = row.input, row.output
	}
	out, err := b.madeUp(ctx, in, outs, (*fitter).uniform)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].At = time.Duration(trace[i].at - trace[0].at)
	}
	if len(out) > 0 {
		b.note("%s: %d requests over %v", b.Path, len(out), out[len(out)-1].At.Round(time.Millisecond))
	}
	b.shorter(len(out))
	return out, rows.finish(b, len(out))
}

// cells decodes row i of JSON or, if header is not nil, of CSV.
func (r *records) cells(i int, header []string) (map[string]json.RawMessage, bool, error) {
	out := map[string]json.RawMessage{}
	if header == nil {
		ok, err := r.read(i, &out)
		return out, ok, err
	}
	r.looked = min(r.looked+1, len(r.at))
	raw, err := r.raw(i)
	if err != nil {
		return nil, false, err
	}
	list, err := csvRow(raw)
	if err != nil || len(list) != len(header) {
		r.skip(i, "%d cells under %d columns", len(list), len(header))
		return nil, false, nil
	}
	for k, name := range header {
		out[name] = json.RawMessage(list[k])
	}
	return out, true, nil
}

func csvRow(line []byte) ([]string, error) {
	in := csv.NewReader(bytes.NewReader(line))
	in.TrimLeadingSpace = true
	return in.Read()
}

// header returns the names of the columns if the rows are CSV, or nil if they are JSON.
func (r *records) header() ([]string, error) {
	if len(r.at) == 0 {
		return nil, nil
	}
	raw, err := r.raw(0)
	if err != nil || bytes.HasPrefix(raw, []byte("{")) || bytes.HasPrefix(raw, []byte("[")) {
		return nil, err
	}
	names, err := csvRow(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: line 1: the names of the columns cannot be read: %w", r.path, err)
	}
	return names, nil
}

// timedRows reads the rows of a trace. given maps the keys of timedColumns to columns; those that are absent are found.
func (b *builder) timedRows(rows *records, given map[string]string, unit float64) (out []timedRow, err error) {
	header, err := rows.header()
	if err != nil {
		return nil, err
	}
	first := 0
	var columns []string // in the order of timedColumns
	if header != nil {
		first = 1
		names := map[string]json.RawMessage{}
		for _, name := range header {
			names[name] = nil
		}
		if columns, err = findColumns(names, given, rows.path); err != nil {
			return nil, err
		}
	}
	for i := first; i < len(rows.at) && len(out) < b.limit(len(rows.at)); i++ {
		cells, ok, err := rows.cells(i, header)
		if err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if columns == nil {
			if columns, err = findColumns(cells, given, rows.path); err != nil {
				return nil, err
			}
		}
		var row timedRow
		text := func(k int) string { return strings.Trim(string(cells[columns[k]]), `" `) }
		if row.at, err = timeOf(text(0), unit); err != nil {
			rows.skip(i, "%s %q is not a time", columns[0], text(0))
			continue
		}
		for k, into := range []*int{&row.input, &row.output} {
			n, err := strconv.ParseFloat(text(k+1), 64)
			if ok = ok && err == nil && n >= 1 && n <= most && n == math.Trunc(n); !ok {
				rows.skip(i, "%s %q is not a number of tokens from 1 to %d", columns[k+1], text(k+1), most)
				break
			}
			*into = int(n)
		}
		if ok {
			out = append(out, row)
		}
	}
	return out, nil
}

// findColumns returns the names of the columns in the order of timedColumns.
func findColumns(cells map[string]json.RawMessage, names map[string]string, path string) (out []string, err error) {
	var there []string
	for name := range cells {
		there = append(there, name)
	}
	slices.Sort(there)
	for _, c := range timedColumns {
		want := c.usual
		if names[c.key] != "" {
			want = []string{names[c.key]}
		}
		found := ""
		for _, w := range want {
			if i := slices.IndexFunc(there, func(name string) bool {
				return name == w || names[c.key] == "" && strings.EqualFold(strings.TrimSpace(name), w)
			}); i >= 0 && found == "" {
				found = there[i]
			}
		}
		switch {
		case found == "" && names[c.key] != "":
			return nil, fmt.Errorf("%s has no column %q: its columns are %s", path, names[c.key], strings.Join(there, ", "))
		case found == "":
			return nil, fmt.Errorf("%s has no known column for %s: give --trace-columns %s=COLUMN; its columns are %s", path, c.key, c.key, strings.Join(there, ", "))
		}
		out = append(out, found)
	}
	return out, nil
}

// dates are the layouts of times that are not numbers. Fractions of seconds may follow the seconds.
var dates = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006/01/02 15:04:05"}

// timeOf parses a number or a date as a time in ns.
func timeOf(text string, unit float64) (int64, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(v*unit) < 4e18 {
		return int64(math.Round(v * unit)), nil
	}
	for _, layout := range dates {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixNano(), nil
		}
	}
	return 0, errors.New("not a time")
}
