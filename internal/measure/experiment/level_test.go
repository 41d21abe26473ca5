package experiment

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/embedded"
	"github.com/stepscope/stepscope/internal/reference/launch"
)

// counts sets the observable counts of a load.
func counts(released, decoding, done int64) *load.Live {
	l := &load.Live{}
	l.Released.Store(released)
	l.Done.Store(done)
	for range decoding + done {
		l.TTFT.Add(1)
	}
	return l
}

// TestMostAfter checks that the steps of prefill servers do not delay a session without prefill servers.
func TestMostAfter(t *testing.T) {
	after, prefill := int64(20), int64(50)
	p := &Profile{After: &after, PrefillAfter: &prefill}
	for roles, want := range map[string]int64{"": 20, ",": 20, "decode": 20, "prefill": 50, "decode,prefill": 50} {
		if got := p.mostAfter(strings.Split(roles, ",")); got != want {
			t.Errorf("%q: %d steps, want %d", roles, got, want)
		}
	}
}

// TestLevel checks when a load is in its steady part.
func TestLevel(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name string
		l    level
		live *load.Live
		at   time.Duration
		want bool
	}{
		{"nothing yet", level{most: 8, rounds: 100, streams: true}, counts(8, 0, 0), 10 * ms, false},
		{"most are still in prefill", level{most: 8, rounds: 100, streams: true}, counts(8, 5, 0), 10 * ms, false},
		{"all are decoding", level{most: 8, rounds: 100, streams: true}, counts(8, 8, 0), 10 * ms, true},
		{"nine tenths are decoding", level{most: 20, rounds: 100, streams: true}, counts(20, 18, 0), 10 * ms, true},
		{"the server runs fewer", level{most: 100, rounds: 100, streams: true}, counts(100, 16, 1), 10 * ms, true},
		{"replies arrive at once", level{most: 8, rounds: 100}, counts(8, 0, 0), 10 * ms, true},
		{"at a rate: none has ended", level{most: 100, rounds: 100, last: time.Minute, streams: true}, counts(8, 8, 0), time.Second, false},
		{"at a rate: the number still rises", level{most: 100, rounds: 100, last: time.Minute, streams: true, ended: 900 * ms}, counts(9, 8, 1), time.Second, false},
		{"at a rate: long enough", level{most: 100, rounds: 100, last: time.Minute, streams: true, ended: 500 * ms}, counts(20, 8, 12), time.Second, true},
		{"at a rate: between two requests", level{most: 100, rounds: 100, last: time.Minute, streams: true, ended: 500 * ms}, counts(12, 0, 12), time.Second, false},
		{"the rate itself rises", level{most: 100, rounds: 100, last: time.Minute, ramp: 30 * time.Second, streams: true, ended: 500 * ms}, counts(20, 8, 12), time.Second, false},
		{"all were sent", level{most: 4, rounds: 4, last: 20 * ms, streams: true}, counts(4, 1, 0), 30 * ms, true},
	} {
		tt.l.live = tt.live
		if got := tt.l.reached(tt.at); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestShortLoad checks that a load with hardly more steps than the window is not waited for.
func TestShortLoad(t *testing.T) {
	for _, tt := range []struct {
		l     level
		steps int
		want  bool
	}{
		{level{tokens: 8, rounds: 8, most: 8}, 5, true}, {level{tokens: 8, rounds: 8, most: 8}, 4, false}, {level{tokens: 8, rounds: 80, most: 8}, 40, false},
		{level{tokens: 8, rounds: 8, most: 8, last: time.Second}, 100, false}, {level{rounds: 8, most: 8}, 10, false},
	} {
		if got := tt.l.short(tt.steps); got != tt.want {
			t.Errorf("%+v with %d steps: %v", tt.l, tt.steps, got)
		}
	}
}

// TestFitSteps checks that a window covers a whole request, within limits.
func TestFitSteps(t *testing.T) {
	for _, tt := range []struct {
		tokens       int
		chunks, came int64
		want         int
		why          string
	}{
		{48, 0, 0, 48, "as many as the median request takes"}, {256, 100, 100, mostSteps, "about 256"}, {4, 0, 0, fewestSteps, "about 4"}, {0, 0, 0, fewestSteps, "the default"},
		{120, 100, 300, 40, "as many as the median request takes"}, // three tokens per step
	} {
		l := level{tokens: tt.tokens, live: &load.Live{}}
		l.live.Chunks.Store(tt.chunks)
		l.live.Tokens.Store(tt.came)
		if n, why := l.steps(); n != tt.want || !strings.Contains(why, tt.why) || !strings.Contains(why, fmt.Sprintf(" %d steps", tt.want)) {
			t.Errorf("%d tokens: %d steps: %s", tt.tokens, n, why)
		}
	}
}

// recorded runs a load with a window of 10 steps, four requests at a time with 24 tokens each, and returns the outcome
// and the log.
func recorded(t *testing.T, url string, requests int, p Profile) (*Outcome, string) {
	t.Helper()
	spec := workload.Default()
	spec.Dataset, spec.N, spec.InputLen, spec.OutputLen, spec.RangeRatio, spec.TokenIDs = "random-ids", requests, 32, 24, 1, true
	p.Targets, p.Dir, p.Options.LoadFollows = []torch.Target{{URL: url}}, t.TempDir(), true
	p.Window = torch.Window{OutputDir: t.TempDir(), NumSteps: 10}
	var mu sync.Mutex
	var lines []string
	x := &Serving{
		Server: &client.Server{URL: url}, Spec: spec, Arrivals: workload.Arrivals{Rate: math.Inf(1)}, Warmup: 1,
		Load:    load.Options{Backend: "sglang", BaseURL: url, Stream: true, IgnoreEOS: true, MaxConcurrency: 4},
		Run:     bench.Run{Backend: "sglang", URL: url, MaxConcurrency: 4},
		Profile: &p,
		Log: func(line string) {
			mu.Lock()
			lines = append(lines, line)
			mu.Unlock()
		},
	}
	out, err := x.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out, strings.Join(lines, "\n")
}

// TestAfterSteps checks that a window begins after a number of forward steps of the load, counted by the server or by
// the load.
func TestAfterSteps(t *testing.T) {
	a := launch.DefaultArgs("builtin:llama-tiny")
	a.MaxTotalTokens = 8192
	srv, err := embedded.Start(t.Context(), a, 0, "test", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, FlushInterval: -1, ModifyResponse: func(r *http.Response) error {
		if strings.HasSuffix(r.Request.URL.Path, "server_info") {
			text, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(text), "forward_ct", "another_ct")))
			return err
		}
		return nil
	}}
	silent := httptest.NewServer(proxy)
	defer silent.Close()
	for _, c := range []struct{ url, says string }{{srv.URL, "the window begins with step "}, {silent.URL, "have received 20 tokens each"}} {
		after := int64(20)
		out, log := recorded(t, c.url, 60, Profile{After: &after})
		if out.Capture == nil || out.Capture.Result == nil || !strings.Contains(log, c.says) {
			t.Fatalf("%+v\n%s", out.Capture, log)
		}
		if s := out.Capture.Servers[0].Steps; s == nil || s.Fewest == nil || *s.Fewest != 10 {
			t.Errorf("steps %+v\n%s", s, log)
		}
		first := out.Last().Records
		slices.SortFunc(first, func(a, b bench.Record) int { return cmp.Compare(a.Done, b.Done) })
		if c.url == silent.URL && out.Last().Run.Profiled[0].From < first[3].First {
			t.Errorf("it began before four requests had a token\n%s", log)
		}
	}
}

// TestYoung checks the warning about a server in its first seconds or before its first requests.
func TestYoung(t *testing.T) {
	for _, tt := range []struct{ metrics, want string }{
		{"", ""}, {"sglang:num_requests_total{} 97.0\n", ""}, {"sglang:num_requests_total{} 2.0\n", "has served 2 request(s)"},
		{fmt.Sprintf("process_start_time_seconds %d\n", time.Now().Unix()-5), "The server started "},
		{fmt.Sprintf("process_start_time_seconds %d\n", time.Now().Unix()-500), ""},
	} {
		if got := youngBy(tt.metrics, 1); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%q: %q", tt.metrics, got)
		}
	}
}

// TestWindowInLoad checks, with a real server, that the window opens during the load, that its end is noticed while the
// load continues, and that affected requests are excluded from the headline.
func TestWindowInLoad(t *testing.T) {
	a := launch.DefaultArgs("builtin:llama-tiny")
	a.MaxTotalTokens = 8192
	srv, err := embedded.Start(t.Context(), a, 0, "test", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	out, log := recorded(t, srv.URL, 120, Profile{FitSteps: true})
	m := out.Last()
	if out.Capture == nil || out.Capture.Result == nil || len(m.Run.Profiled) != 1 || m.Summary.Window == nil {
		t.Fatalf("no window: %+v\n%s", out.Capture, log)
	}
	if s := out.Capture.Servers[0].Steps; s == nil || s.Fewest == nil || *s.Fewest != 24 {
		t.Errorf("steps %+v\n%s", s, log)
	}
	span, decoding, ended := m.Run.Profiled[0], 0, 0
	untouched := 0
	for _, r := range m.Records {
		if r.First < span.From && span.From < r.Done {
			decoding++
		}
		if r.Done <= span.From {
			ended++
		}
		if r.Done <= span.From || r.Sent >= span.To {
			untouched++
		}
	}
	// It opens when nine tenths decode or when one has ended: requests that begin together may end together.
	if span.To >= m.Run.Duration || decoding+ended == 0 {
		t.Errorf("touched %+v of %d ns, opened with %d requests in decode and %d at their end\n%s", span, m.Run.Duration, decoding, ended, log)
	}
	if s := m.Summary; s.Window.Touched != len(m.Records)-untouched || !s.Lacks("e2e") && s.E2E.N != int64(untouched) {
		t.Errorf("%d of %d requests were unaffected, %d are in the headline", untouched, len(m.Records), s.E2E.N)
	}
}
