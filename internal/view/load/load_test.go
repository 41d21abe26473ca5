package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"context"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/testing/loadtest"
	"github.com/stepscope/stepscope/trace"
)

const ms = int64(1_000_000)

// views returns the views of a directory whose runs have the window of loadtest's trace.
func views(root string) *Views {
	return &Views{Root: root, Say: &progress.Console{W: io.Discard}, Recorded: func(context.Context, *runs.Run) iter.Seq2[Recorded, error] {
		return func(yield func(Recorded, error) bool) { yield(Recorded{Traces: []*trace.Trace{loadtest.Trace()}}, nil) }
	}}
}

// ask returns an answer as the page receives it.
func ask[T any](t *testing.T, v *Views, path string, params ...string) (out T, err error) {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	got, err := v.Answers()[path](httptest.NewRequest("GET", "/api/"+path+"?"+q.Encode(), nil))
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), ":null") && path != "load/request" {
		t.Errorf("%s: a null in %s", path, text)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

func TestPage(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	type page struct {
		ID, Title string
		Rep, Reps int
		Recorded  bool
		Server    []Standing
		Cards     []struct{ Name, Value string }
		Plots     struct {
			Index, Touched []int
			TTFT, E2E      []int64
			Profiled       []bench.Span
			Limits         map[string]int64
		}
	}
	got, err := ask[page](t, views(root), "load", "run", run.ID())
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != run.ID() || got.Title != "Benchmark of tiny" || got.Reps != 1 || got.Rep != 0 || !got.Recorded || len(got.Cards) < 5 {
		t.Errorf("%+v", got)
	}
	if want := []Standing{{100 * ms, 3, 4, 0.25}}; !reflect.DeepEqual(got.Server, want) {
		t.Errorf("the server stood as %+v", got.Server)
	}
	// a had its first token before the window and its last inside; d lies outside; e failed.
	p := got.Plots
	if fmt.Sprint(p.Index) != "[0 1 2 3 4]" || fmt.Sprint(p.Touched) != "[2 2 3 0 0]" || fmt.Sprint(p.TTFT) != "[11000000 29000000 36000000 50000000 -1]" || p.Limits["ttft"] != 40*ms {
		t.Errorf("%+v", p)
	}
}

func TestRequests(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	v := views(root)
	for _, c := range []struct{ from, to, index, row string }{
		{"", "", "[0 1 2 3 4]", "[0 1 2 0 1]"}, // d reuses the row of a
		{"145000000", "299000000", "[0 2]", "[0 2]"},
		{"500000000", "600000000", "[]", "[]"},
	} {
		params := []string{"run", run.ID()}
		if c.from != "" {
			params = append(params, "from", c.from, "to", c.to)
		}
		got, err := ask[Requests](t, v, "load/requests", params...)
		if err != nil || fmt.Sprint(got.Index) != c.index || fmt.Sprint(got.Row) != c.row || got.Rows != 3 || got.Of != len(got.Index) {
			t.Errorf("%s … %s: %v %+v", c.from, c.to, err, got)
		}
		if c.from == "" && (fmt.Sprint(got.Failed) != "[false false false false true]" || fmt.Sprint(got.Touched) != "[true true true false false]" || got.First[4] != bench.Never) {
			t.Errorf("%+v", got)
		}
	}
}

// TestPackMany: there are as many rows as concurrent requests, and no two bars overlap in one. The answer counts the
// requests it omits.
func TestPackMany(t *testing.T) {
	var records []bench.Record
	for i := range int64(8000) {
		records = append(records, bench.Record{Index: int(i), Sent: i * 10, Done: i*10 + 95 + i%7, First: i*10 + 1})
	}
	p := pack(records)
	until := map[int]int64{}
	for k, i := range p.order {
		if until[p.row[k]] > records[i].Sent {
			t.Fatalf("request %d is in row %d, which is occupied until %d", i, p.row[k], until[p.row[k]])
		}
		until[p.row[k]] = records[i].Done
	}
	if p.n < 10 || p.n > 11 {
		t.Errorf("%d rows for at most 11 requests at once", p.n)
	}
	root := t.TempDir()
	got, err := ask[Requests](t, views(root), "load/requests", "run", loadtest.Keep(t, root, records, false).ID())
	if err != nil || got.Of != 8000 || len(got.Index) != mostRows {
		t.Errorf("%v: %d of %d", err, len(got.Index), got.Of)
	}
}

func TestTimeline(t *testing.T) {
	root := t.TempDir()
	got, err := ask[bench.Timeline](t, views(root), "load/timeline", "run", loadtest.Keep(t, root, loadtest.Sample(), true).ID(), "from", "140000000", "to", "159999999")
	if err != nil || got.From != 140*ms || got.Bin != ms || len(got.Tokens) != 20 || fmt.Sprint(got.Tokens[:12]) != "[0 1 0 0 0 0 0 0 0 0 0 2]" {
		t.Errorf("%v %+v", err, got)
	}
}

// TestRequest: a dot leads to the steps of its request, the other requests in them, and the waits.
func TestRequest(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	v := views(root)
	b, err := ask[Request](t, v, "load/request", "run", run.ID(), "index", "1")
	if err != nil {
		t.Fatal(err)
	}
	parts := ""
	for _, p := range b.TTFT.Parts {
		parts += fmt.Sprintf("%s %s %d; ", p.Of, p.Name, p.NS/ms)
	}
	if b.ID != "b" || b.Why != "" || parts != "queue queue 10; prefill its own prefill 18; reply reply to the client 1; " {
		t.Errorf("%q: %+v", parts, b)
	}
	if fmt.Sprint(b.Steps) != "[{0 1} {0 2} {0 3}]" || fmt.Sprint(b.With) != "[{{0 a} 2}]" || len(b.Gaps) != 2 || b.Gaps[0].NS != 70*ms || b.Gaps[0].Event != 2 {
		t.Errorf("%+v", b)
	}
	far, err := ask[Request](t, v, "load/request", "run", run.ID(), "index", "3")
	if err != nil || far.TTFT != nil || far.Why != "none of its steps was recorded: it was served outside the captured window" || len(far.Moments) != 8 {
		t.Errorf("%v %+v", err, far)
	}
	failed, err := ask[Request](t, v, "load/request", "run", run.ID(), "index", "4")
	if err != nil || failed.Failure != "refused" || strings.Contains(failed.Error, "\x1b") {
		t.Errorf("%v %+v", err, failed)
	}
	bare := loadtest.Keep(t, root, loadtest.Sample(), false)
	if got, err := ask[Request](t, v, "load/request", "run", bare.ID(), "index", "1"); err != nil || !strings.HasPrefix(got.Why, "no steps were recorded") {
		t.Errorf("%v %+v", err, got)
	}
}

func TestSteps(t *testing.T) {
	root := t.TempDir()
	v := views(root)
	got, err := ask[Steps](t, v, "load/steps", "run", loadtest.Keep(t, root, loadtest.Sample(), true).ID())
	if err != nil || len(got.Lanes) != 1 {
		t.Fatal(err, got)
	}
	l := got.Lanes[0]
	if got.By != "request ids" || fmt.Sprint(got.Kinds) != "[decode prefill]" || fmt.Sprint(l.Kind) != "[0 1 0 0 1 0]" || fmt.Sprint(l.Batch) != "[1 1 2 2 1 2]" || l.From[1] != 12*ms || l.To[1] != 30*ms {
		t.Errorf("%+v", got)
	}
	// The slowest recorded first token and the slowest gaps: the third tokens of a and b.
	if fmt.Sprint(got.TTFT.Cases, got.ITL.Cases) != "[2] [0 1]" || !got.TTFT.Below || len(got.TTFT.Parts) == 0 {
		t.Errorf("%+v", got)
	}
	run := loadtest.Keep(t, root, loadtest.Sample(), true).ID()
	if got, err := ask[Step](t, v, "load/step", "run", run, "lane", "0", "step", "5"); err != nil || fmt.Sprint(got.With) != "[{0 a} {2 c}]" {
		t.Errorf("%v %+v", err, got)
	}
	if _, err := ask[Step](t, v, "load/step", "run", run, "lane", "0", "step", "6"); err == nil {
		t.Error("step 6 of six accepted")
	}
	if _, err := ask[Steps](t, v, "load/steps", "run", loadtest.Keep(t, root, loadtest.Sample(), false).ID()); err == nil || !strings.HasPrefix(err.Error(), "no steps were recorded during this load") {
		t.Error(err)
	}
}

// TestServers: each of several servers has its lanes, which lead to its own capture; an unreadable server is named, and
// the others keep their lanes.
func TestServers(t *testing.T) {
	root := t.TempDir()
	v := views(root)
	recorded := []Recorded{{Name: "a", Capture: "run:a"}, {Name: "b", Capture: "run:b"}, {Name: "c", Capture: "run:c"}}
	v.Recorded = func(context.Context, *runs.Run) iter.Seq2[Recorded, error] {
		return func(yield func(Recorded, error) bool) {
			for _, r := range recorded {
				var err error
				if r.Traces = []*trace.Trace{loadtest.Trace()}; r.Name == "b" {
					r.Traces, err = nil, errors.New("it is broken")
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	steps := func() (Steps, error) {
		return ask[Steps](t, v, "load/steps", "run", loadtest.Keep(t, root, loadtest.Sample(), true).ID())
	}
	got, err := steps()
	if err != nil || len(got.Lanes) != 2 {
		t.Fatal(err, got)
	}
	for i, want := range []string{"a run:a", "c run:c"} {
		if l := got.Lanes[i]; l.Server+" "+l.Capture != want || len(l.From) != 6 {
			t.Errorf("lane %d: %+v, want %s", i, l, want)
		}
	}
	if len(got.Notes) < 2 || !strings.HasPrefix(got.Notes[0], "The slowest first token waited ") || got.Notes[1] != "b is left out: it is broken" {
		t.Errorf("notes %q", got.Notes)
	}
	recorded = recorded[1:2]
	if _, err = steps(); err == nil || err.Error() != "it is broken" {
		t.Errorf("with only broken servers: %v", err)
	}
}

func TestList(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	other, err := runs.Create(root, runs.About{Kind: "profile", Tool: "profile"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Finish(runs.Complete, nil); err != nil {
		t.Fatal(err)
	}
	got, err := ask[[]runs.Entry](t, views(root), "load/runs")
	if err != nil || len(got) != 1 || got[0].ID != run.ID() || got[0].Traces != 1 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestCompare(t *testing.T) {
	root := t.TempDir()
	slower := loadtest.Sample()
	for i := range slower {
		slower[i].First += 10 * ms
	}
	a, b := loadtest.Keep(t, root, loadtest.Sample(), false), loadtest.Keep(t, root, slower, false)
	type compared struct {
		Sides   [2]string
		Verdict string
		Tables  []struct {
			Rows []struct{ Cells []struct{ Text string } }
		}
	}
	got, err := ask[compared](t, views(root), "load/compare", "run", b.ID(), "vs", a.ID())
	if err != nil || !strings.HasPrefix(got.Sides[0], a.ID()) || !strings.HasPrefix(got.Sides[1], b.ID()) || got.Verdict == "" || len(got.Tables) != 1 {
		t.Errorf("%v %+v", err, got)
	}
}

// TestRefused: unknown runs and invalid numbers.
func TestRefused(t *testing.T) {
	root := t.TempDir()
	run := loadtest.Keep(t, root, loadtest.Sample(), true)
	v := views(root)
	for _, c := range []struct {
		path   string
		params []string
		status int // 0: not found
	}{
		{"load", nil, http.StatusNotFound},
		{"load", []string{"run", "nowhere"}, 0},
		{"load", []string{"run", run.Dir()}, 0}, // no paths
		{"load", []string{"run", "../" + run.ID()}, 0},
		{"load", []string{"run", run.ID(), "rep", "1"}, http.StatusBadRequest},
		{"load/request", []string{"run", run.ID()}, http.StatusBadRequest},
		{"load/request", []string{"run", run.ID(), "index", "5"}, http.StatusBadRequest},
		{"load/requests", []string{"run", run.ID(), "from", "1e9"}, http.StatusBadRequest},
		{"load/compare", []string{"run", run.ID()}, http.StatusNotFound},
	} {
		_, err := ask[any](t, v, c.path, c.params...)
		refused, _ := errors.AsType[*httpguard.Error](err)
		if err == nil || c.status == 0 && !errors.Is(err, runs.ErrNotFound) || c.status != 0 && (refused == nil || refused.Status != c.status) {
			t.Errorf("%s %q: %v", c.path, c.params, err)
		}
	}
}

// FuzzNumbers checks that no value of a numeric parameter crashes an answer, and that errors have one line.
func FuzzNumbers(f *testing.F) {
	for _, c := range [][3]string{
		{"load", "rep", "0"}, {"load", "rep", "9223372036854775807"}, {"load/requests", "from", "-1"}, {"load/requests", "to", "1e9"}, {"load/timeline", "from", "9223372036854775806"},
		{"load/request", "index", "4"}, {"load/request", "index", "99999999999999999999"}, {"load/steps", "rep", "NaN"}, {"load/step", "lane", "0"}, {"load/step", "step", "-9223372036854775808"},
	} {
		f.Add(c[0], c[1], c[2])
	}
	root := f.TempDir()
	run := loadtest.Keep(f, root, loadtest.Sample(), true)
	v := views(root)
	f.Fuzz(func(t *testing.T, path, name, value string) {
		answer := v.Answers()[path]
		if answer == nil {
			return
		}
		q := url.Values{"run": {run.ID()}}
		q.Set(name, value)
		got, err := answer(httptest.NewRequest("GET", "/api/"+path+"?"+q.Encode(), nil))
		if err == nil {
			_, err = json.Marshal(got)
		} else if strings.Contains(err.Error(), "\n") && !strings.Contains(value, "\n") {
			t.Errorf("%s: the error is not one line: %q", q.Encode(), err)
			return
		}
		var refused *httpguard.Error
		if err != nil && name != "run" && !errors.As(err, &refused) {
			t.Errorf("%s?%s: %v", path, q.Encode(), err)
		}
	})
}
