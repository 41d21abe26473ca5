package nsysdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Summary is one table of `nsys stats`: the total of all work, by name.
type Summary struct {
	Report string       `json:"report"` // nsys' name: cuda_gpu_kern_sum
	Unit   string       `json:"unit"`   // unit of the values: ns or bytes
	Rows   []SummaryRow `json:"rows"`
}

// SummaryRow is the total for one name.
type SummaryRow struct {
	Name   string  `json:"name"`
	Style  string  `json:"style,omitempty"` // NVTX ranges: PushPop or StartEnd
	Count  int64   `json:"count"`
	Total  int64   `json:"total"` // in Summary.Unit, like the other figures
	Min    int64   `json:"min"`
	Max    int64   `json:"max"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"` // for an even count, the mean of the middle two values
	StdDev float64 `json:"stddev"` // sample standard deviation, with divisor n-1; 0 for a single value
}

// Reports lists the names of the supported summaries.
var Reports = []string{"cuda_gpu_kern_sum", "cuda_api_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_sum", "osrt_sum"}

// Known reports whether a summary is one of Reports.
func Known(report string) bool { return slices.Contains(Reports, report) }

// Total returns the sum over all names.
func (s *Summary) Total() float64 {
	var sum float64
	for i := range s.Rows {
		sum += float64(s.Rows[i].Total)
	}
	return sum
}

// Summaries streams through the tables of an export and computes the requested summaries in the same way as `nsys
// stats` of 2023 and later. Memory does not depend on the number of rows.
func Summaries(ctx context.Context, path string, reports []string) ([]Summary, error) {
	for _, report := range reports {
		if !Known(report) {
			return nil, fmt.Errorf("%s: no such summary", report)
		}
	}
	db, err := sqlitefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &reader{ctx: ctx, db: db, to: math.MaxInt64, odd: trace.Tally{}}
	if err := r.readMeta(); err != nil {
		return nil, err
	}
	out := make([]Summary, len(reports))
	g, ctx := errgroup.WithContext(ctx)
	for i, report := range reports {
		g.Go(func() error {
			// Use a separate reader for each summary, because scan counts rows in the reader.
			own := &reader{ctx: ctx, db: db, meta: r.meta}
			t, err := own.summarise(report)
			unit := "ns"
			if report == "cuda_gpu_mem_size_sum" {
				unit = "bytes"
			}
			out[i] = Summary{report, unit, t.rows()}
			return err
		})
	}
	return out, g.Wait()
}

// tallies holds the tallies of one summary by name.
type tallies struct {
	by   map[tallyKey]*tally
	last tallyKey
	at   *tally
}

type tallyKey struct {
	name, style string
	id          int64 // id of the name in StringIds
}

func (t *tallies) of(key tallyKey) *tally {
	if t.at != nil && t.last == key {
		return t.at
	}
	at := t.by[key]
	if at == nil {
		at = &tally{min: math.MaxInt64, max: math.MinInt64}
		t.by[key] = at
	}
	t.last, t.at = key, at
	return at
}

func (r *reader) summarise(report string) (*tallies, error) {
	t := &tallies{by: map[tallyKey]*tally{}}
	byID := func(table string, id string) error {
		return r.scan(table, []string{"start", "end", id}, func(row *sqlitefile.Row) {
			t.of(tallyKey{id: row.Int(2)}).add(row.Int(1) - row.Int(0))
		})
	}
	var err error
	switch report {
	case "cuda_gpu_kern_sum":
		err = byID(tableKernel, "demangledName")
	case "cuda_api_sum":
		err = byID(tableRuntime, "nameId")
	case "osrt_sum":
		err = r.scan(tableOSRT, []string{"start", "end", "nameId", "eventClass"}, func(row *sqlitefile.Row) {
			if row.Int(3) == osrtCall {
				t.of(tallyKey{id: row.Int(2)}).add(row.Int(1) - row.Int(0))
			}
		})
	case "cuda_gpu_mem_time_sum":
		err = r.copies(t, func(row *sqlitefile.Row) int64 { return row.Int(1) - row.Int(0) })
	case "cuda_gpu_mem_size_sum":
		err = r.copies(t, func(row *sqlitefile.Row) int64 { return row.Int(2) })
	case "nvtx_sum":
		err = r.ranges(t)
	}
	named := map[tallyKey]*tally{}
	for key, at := range t.by { // several ids can have the same name, such as the versions of an API call
		if key.id != 0 {
			key.name, key.id = r.meta.strings[key.id], 0
			if report == "cuda_api_sum" { // only API calls: a kernel's name may legitimately end in such a suffix
				key.name = apiVersion.ReplaceAllString(key.name, "")
			}
		}
		if named[key] == nil {
			named[key] = at
		} else {
			named[key].join(at)
		}
	}
	t.by = named
	return t, err
}

// longKinds are nsys' names for the kinds of copies.
var longKinds = map[int64]string{
	1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array", 4: "Array-to-Host", 5: "Array-to-Array",
	6: "Array-to-Device", 7: "Device-to-Array", 8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
	11: "Unified Host-to-Device", 12: "Unified Device-to-Host", 13: "Unified Device-to-Device",
}

// copies adds copies and memsets to t.
func (r *reader) copies(t *tallies, of func(*sqlitefile.Row) int64) error {
	err := r.scan(tableMemcpy, []string{"start", "end", "bytes", "copyKind"}, func(row *sqlitefile.Row) {
		t.of(tallyKey{name: "[CUDA memcpy " + word(longKinds, row.Int(3)) + "]"}).add(of(row))
	})
	return errors.Join(err, r.scan(tableMemset, []string{"start", "end", "bytes"}, func(row *sqlitefile.Row) {
		t.of(tallyKey{name: "[CUDA memset]"}).add(of(row))
	}))
}

// ranges adds NVTX ranges to t. Unfinished ranges do not count.
func (r *reader) ranges(t *tallies) error {
	domains, err := r.domains()
	if err != nil {
		return err
	}
	styles := map[int64]string{nvtxPushPop: "PushPop", nvtxStartEnd: "StartEnd"}
	return r.scan(tableNVTX, []string{"eventType", "start", "end", "text", "textId", "globalTid", "domainId"}, func(row *sqlitefile.Row) {
		style := styles[row.Int(0)]
		if style == "" || row.Null(2) {
			return
		}
		name := r.text(row, 3, 4)
		if of := domains[domain{row.Int(5) & procMask, row.Int(6)}]; of != "" {
			name = of + ":" + name
		}
		t.of(tallyKey{name: name, style: style}).add(row.Int(2) - row.Int(1))
	})
}

// rows returns the rows of the summary, largest totals first.
func (t *tallies) rows() []SummaryRow {
	var rows []SummaryRow
	for key, at := range t.by {
		rows = append(rows, at.row(key))
	}
	sorts.By(rows, func(a, b SummaryRow) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Style, b.Style))
	})
	return rows
}
