package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

// fake is a server that generates 100 tokens a second and reports neither their rank nor its cache.
type fake struct {
	reads   atomic.Int32
	broken  atomic.Bool
	forgets atomic.Int32
}

func (f *fake) Read(context.Context) (*signals.Sample, error) {
	f.reads.Add(1)
	if f.broken.Load() {
		return nil, errors.New("no \x1b[31mconnection")
	}
	s, ok := signals.Parse(fmt.Sprintf("sglang:num_running_reqs 3\nsglang:num_queue_reqs 1\nsglang:generation_tokens_total %.3f\n", 100*time.Since(time.Unix(0, 0)).Seconds()))
	if !ok {
		return nil, errors.New("no families of a server")
	}
	s.At = time.Now()
	return s, nil
}

func (f *fake) Forget() { f.forgets.Add(1) }

// over returns a Live over one fake server.
func over(record func(context.Context, int, *progress.Console, *torch.Progress) (string, error)) (*Live, *fake) {
	l := New(Options{Targets: []torch.Target{{URL: "http://gpu1:30000", Role: "decode"}}, Record: record})
	f := &fake{}
	l.servers[0].reader = f
	return l, f
}

// shown returns a sample as pages receive it.
func shown(t *testing.T, e event) string {
	t.Helper()
	s, ok := e.data.(*Sample)
	if !ok {
		t.Fatalf("%+v is no sample", e)
	}
	s.At = 0
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFollow: servers are polled while a page is connected, once for all pages, and a new page receives the history.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := over(nil)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { l.Run(ctx); close(ended) }()
		time.Sleep(time.Minute)
		if n := server.reads.Load(); n != 0 {
			t.Fatalf("polled %d times without a page", n)
		}
		page, first := l.enter()
		if len(first.Samples) != 0 || first.Records || first.Capture != nil || first.Every != 1000 || len(first.Servers) != 1 || first.Servers[0].Role != "decode" {
			t.Errorf("%+v", first)
		}
		// The first sample has only gauges.
		if got, want := shown(t, <-page), `{"server":0,"at_ms":0,"error":"","restarted":false,"ranks":[{"dp":0,"running":3,"queued":1,"tokens":null,"prefill":null,"usage":null}],"tokens":null,"ttft":null,"itl":null}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if got, want := shown(t, <-page), `{"server":0,"at_ms":0,"error":"","restarted":false,"ranks":[{"dp":0,"running":3,"queued":1,"tokens":null,"prefill":null,"usage":null}],"tokens":100,"ttft":null,"itl":null}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		other, later := l.enter()
		if len(later.Samples) != 2 {
			t.Errorf("a later page received %d samples", len(later.Samples))
		}
		time.Sleep(10*time.Second + 500*time.Millisecond)
		if n, here := server.reads.Load(), len(page); n != 12 || here != 10 || len(other) != 10 {
			t.Errorf("polled %d times, %d and %d samples pending", n, here, len(other))
		}
		server.broken.Store(true)
		for range 10 {
			<-page
		}
		if got := shown(t, <-page); !strings.Contains(got, `"error":"no `) || strings.Contains(got, "\\u001b") || server.forgets.Load() != 1 {
			t.Errorf("%s", got)
		}
		// A page that stops reading is dropped.
		time.Sleep(2 * time.Minute)
		for range other {
		}
		l.leave(page)
		n := server.reads.Load()
		time.Sleep(time.Minute)
		if got := server.reads.Load(); got > n+1 {
			t.Errorf("polled %d more times after all pages left", got-n)
		}
		end()
		<-ended
	})
}

// TestKept: the history for new pages is bounded, and so is the number of pages.
func TestKept(t *testing.T) {
	l, _ := over(nil)
	for i := range kept + 50 {
		l.tell(l.servers[0], &Sample{At: int64(i)})
	}
	_, first := l.enter()
	if len(first.Samples) != kept || first.Samples[kept-1].At != kept+49 {
		t.Errorf("%d samples", len(first.Samples))
	}
	for range mostLook - 1 {
		l.enter()
	}
	if page, _ := l.enter(); page != nil {
		t.Error("unlimited pages accepted")
	}
}

// post sends a request as a page does.
func post(l *Live, path, kind, body string) (status int, reply string) {
	f := &httpguard.Front{Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) { refuse(w, status, message) }}
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	f.Mux(l.Routes(), func(*http.Request) string { return "nothing" }).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const js = "application/json"

// TestCapture: one window at a time; pages see its progress and its result.
func TestCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan error)
		l, _ := over(func(ctx context.Context, steps int, say *progress.Console, _ *torch.Progress) (string, error) {
			say.Line(fmt.Sprintf("Waiting for %d steps", steps))
			select {
			case err := <-next:
				return "20261125-profile-1", err
			case <-ctx.Done():
				time.Sleep(3 * time.Second) // the servers write their data
				return "", ctx.Err()
			}
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { l.Run(ctx); close(ended) }()
		synctest.Wait()
		page, _ := l.enter()
		states := func() (seen []string) {
			for {
				synctest.Wait()
				select {
				case e := <-page:
					if c, ok := e.data.(*Capture); ok {
						seen = append(seen, strings.TrimSpace(fmt.Sprintf("%d %s %q %s %s", c.N, c.State, c.Lines, c.Run, c.Error)))
					}
				default:
					return slices.Compact(seen)
				}
			}
		}
		if status, _ := post(l, "/api/live/stop", js, "{}"); status != http.StatusConflict {
			t.Errorf("stopped a missing capture: %d", status)
		}
		for _, c := range []struct{ kind, body string }{{js, `{"steps": 0}`}, {js, `{"steps": 100000}`}, {js, `{`}, {"text/plain", `{"steps": 5}`}} {
			if status, reply := post(l, "/api/live/capture", c.kind, c.body); status != http.StatusBadRequest {
				t.Errorf("%s %s: %d %s", c.kind, c.body, status, reply)
			}
		}
		if status, reply := post(l, "/api/live/capture", js, `{"steps": 5}`); status != http.StatusAccepted || !strings.Contains(reply, `"n":1,"steps":5,"state":"recording"`) {
			t.Fatalf("%d %s", status, reply)
		}
		if status, _ := post(l, "/api/live/capture", js, `{"steps": 5}`); status != http.StatusConflict {
			t.Errorf("two at once: %d", status)
		}
		time.Sleep(time.Second)
		next <- nil
		if got, want := fmt.Sprint(states()), `[1 recording [] 1 recording ["Waiting for 5 steps"] 1 done ["Waiting for 5 steps"] 20261125-profile-1]`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		post(l, "/api/live/capture", js, `{"steps": 7}`)
		next <- errors.New("no server answers")
		if got := states(); got[len(got)-1] != `2 failed ["Waiting for 7 steps"] 20261125-profile-1 no server answers` {
			t.Errorf("%q", got)
		}
		post(l, "/api/live/capture", js, `{"steps": 7}`)
		synctest.Wait()
		if status, _ := post(l, "/api/live/stop", js, "{}"); status != http.StatusAccepted {
			t.Errorf("stop: %d", status)
		}
		time.Sleep(4 * time.Second)
		if got := states(); got[len(got)-1] != `3 stopped ["Waiting for 7 steps"]  stopped before it was complete` {
			t.Errorf("%q", got)
		}
		// Shutdown waits until the servers have written their data.
		post(l, "/api/live/capture", js, `{"steps": 7}`)
		synctest.Wait()
		began := time.Now()
		end()
		<-ended
		if took := time.Since(began); took < 3*time.Second {
			t.Errorf("ended after %v, while a window was open", took)
		}
		if status, _ := post(l, "/api/live/capture", js, `{"steps": 7}`); status != http.StatusServiceUnavailable {
			t.Errorf("recorded after the end: %d", status)
		}
	})
}

// TestNoPlace: without a directory for runs nothing is recorded.
func TestNoPlace(t *testing.T) {
	l, _ := over(nil)
	if status, reply := post(l, "/api/live/capture", js, `{"steps": 7}`); status != http.StatusNotFound || !strings.Contains(reply, "--run-dir") {
		t.Errorf("%d %s", status, reply)
	}
}

// TestStream: events are server-sent events, each whole in one line of data, whatever its text.
func TestStream(t *testing.T) {
	l, _ := over(nil)
	l.servers[0].Name = "a\nb"
	mux := http.NewServeMux()
	for _, r := range l.Routes() {
		mux.HandleFunc(r.Methods+" "+r.Paths, r.Handler)
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	next := func() (name, data string) {
		for lines.Scan() {
			if v, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = v
			} else if v, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				data = v
			} else if lines.Text() == "" {
				return name, data
			}
		}
		t.Fatal(lines.Err())
		return "", ""
	}
	if name, data := next(); name != "hello" || !json.Valid([]byte(data)) || !strings.Contains(data, `"name":"a\nb"`) || reply.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s: %s", name, data)
	}
	l.tell(l.servers[0], &Sample{At: 5, Ranks: []Rank{}})
	if name, data := next(); name != "sample" || !strings.Contains(data, `"at_ms":5`) {
		t.Errorf("%s: %s", name, data)
	}
}
