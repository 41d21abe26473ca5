package route

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// started is the recording that a worker was asked for.
type started struct {
	Dir    string `json:"output_dir"`
	Prefix string `json:"profile_prefix"`
	Steps  any    `json:"num_steps"`
}

// TestProfile checks which workers a profile request reaches, and with which body.
func TestProfile(t *testing.T) {
	p1, p2 := newSide(t, profiled("p1")), newSide(t, profiled("p2"))
	d := newSide(t, profiled("d"))
	r := newRig(t, Options{Workers: pairs([]*side{p1, p2}, []*side{d})})
	none := "-"
	for _, c := range []struct {
		query, body string
		want        [3]string // output_dir and profile_prefix of p1, p2, d; "-" means not asked
	}{
		{"", `{"output_dir":"/out","num_steps":"5"}`, [3]string{"/out/prefill-0 ", "/out/prefill-1 ", "/out/decode-0 "}},
		{"?role=prefill", `{"output_dir":"/out"}`, [3]string{"/out/prefill-0 ", "/out/prefill-1 ", none}},
		{"?role=decode", `{"output_dir":"/out"}`, [3]string{none, none, "/out "}},
		{"?worker=prefill-1", `{"output_dir":"/out"}`, [3]string{none, "/out ", none}},
		{"?worker=prefill-1&worker=decode-0", `{"output_dir":"/out","profile_prefix":"x"}`, [3]string{none, "/out/prefill-1 x", "/out/decode-0 x"}},
		{"?worker=" + d.url, ``, [3]string{none, none, " "}},
		{"", ``, [3]string{" prefill-0", " prefill-1", " decode-0"}},
		{"", `{"profile_prefix":"x"}`, [3]string{" x-prefill-0", " x-prefill-1", " x-decode-0"}},
	} {
		before := [3]int{len(p1.got()), len(p2.got()), len(d.got())}
		got := r.call("POST /start_profile"+c.query, c.body, "Content-Type", "application/x-www-form-urlencoded")
		var reply outcomes
		if err := json.Unmarshal([]byte(got.body), &reply); err != nil || got.status != 200 || !reply.Success {
			t.Errorf("%s: %d %s", c.query, got.status, got.body)
			continue
		}
		asked := 0
		for i, s := range []*side{p1, p2, d} {
			saw := none
			if bodies := s.got(); len(bodies) > before[i] {
				var b started
				if text := bodies[len(bodies)-1]; text != "" {
					if err := json.Unmarshal([]byte(text), &b); err != nil {
						t.Error(err)
					}
				}
				saw, asked = b.Dir+" "+b.Prefix, asked+1
			}
			if saw != c.want[i] {
				t.Errorf("%s %s: worker %d got %q, want %q", c.query, c.body, i, saw, c.want[i])
			}
		}
		if len(reply.Workers) != asked {
			t.Errorf("%s: the reply names %d workers, %d were asked", c.query, len(reply.Workers), asked)
		}
	}
	if got := r.call("POST /start_profile", `{"output_dir"`); got.status != 400 {
		t.Errorf("a broken body: %d %s", got.status, got.body)
	}
}

func profiled(name string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) { fmt.Fprintf(rw, "%s %s", name, r.URL.Path) }
}

// TestProfileFailures checks the status of one reply for two workers, and its text about each.
func TestProfileFailures(t *testing.T) {
	say := func(status int, text string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status); fmt.Fprint(rw, text) }
	}
	ok, busy, idle := say(200, wire.ProfileStarted), say(409, api.ErrProfileRunning.Error()), say(500, api.ErrProfileIdle.Error())
	dead := func(http.ResponseWriter, *http.Request) { cut() }
	for _, c := range []struct {
		name, route string
		a, b        http.HandlerFunc
		status      int
		want        string // message; status and message of a; of b
	}{
		{"both", "start", ok, ok, 200, "2 of 2 workers started profiling; 200 Start profiling.; 200 Start profiling."},
		{"one is busy", "start", ok, busy, 502, "1 of 2 workers started profiling; 200 Start profiling.; 409 " + api.ErrProfileRunning.Error()},
		{"both are busy", "start", busy, busy, 409, "0 of 2 workers started profiling; 409 " + api.ErrProfileRunning.Error() + "; 409 " + api.ErrProfileRunning.Error()},
		{"one is dead", "start", dead, ok, 502, "1 of 2 workers started profiling; 0 EOF; 200 Start profiling."},
		{"one had ended", "stop", ok, idle, 200, "1 of 2 workers stopped profiling, 1 had nothing to stop; 200 Start profiling.; 500 " + api.ErrProfileIdle.Error()},
		{"both had ended", "stop", idle, idle, 500, "0 of 2 workers stopped profiling, 2 had nothing to stop; 500 " + api.ErrProfileIdle.Error() + "; 500 " + api.ErrProfileIdle.Error()},
		{"one is dead", "stop", dead, ok, 502, "1 of 2 workers stopped profiling; 0 EOF; 200 Start profiling."},
		{"its older name", "end", ok, ok, 200, "2 of 2 workers stopped profiling; 200 Start profiling.; 200 Start profiling."},
	} {
		r := newRig(t, Options{Workers: plain(fake(t, c.a), fake(t, c.b))})
		got := r.call("POST /"+c.route+"_profile", "")
		var reply outcomes
		if err := json.Unmarshal([]byte(got.body), &reply); err != nil {
			t.Fatalf("%s: %v in %s", c.name, err, got.body)
		}
		text := reply.Message
		for _, w := range reply.Workers {
			text += fmt.Sprintf("; %d %s", w.Status, w.Message)
		}
		if got.status != c.status || text != c.want || reply.Success != (c.status == 200) {
			t.Errorf("%s %s: %d %s\nwant %d %s", c.name, c.route, got.status, text, c.status, c.want)
		}
	}
}

// TestProfileFiles checks windows of real servers, whose files come through the router.
func TestProfileFiles(t *testing.T) {
	a, _, _ := newWorkerOf(t, fakeengine.Options{}, server.Options{})
	b, _, _ := newWorkerOf(t, fakeengine.Options{}, server.Options{})
	r := newRig(t, Options{Workers: plain(a, b)})
	dir := t.TempDir()
	if got := r.call("POST /start_profile", fmt.Sprintf(`{"output_dir":%q}`, dir)); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for range 4 {
		r.call("POST /generate", `{"text":"x","sampling_params":{"max_new_tokens":2}}`)
	}
	if got := r.call("POST /stop_profile", ""); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	var list struct {
		Workers []struct {
			Worker  string
			Windows []wire.ProfileWindow
		}
	}
	if err := json.Unmarshal([]byte(r.call("GET /profile_files", "").body), &list); err != nil || len(list.Workers) != 2 {
		t.Fatalf("%v, %+v", err, list)
	}
	for _, w := range list.Workers {
		if len(w.Windows) != 1 || len(w.Windows[0].Files) != 1 || w.Windows[0].Dir != filepath.Join(dir, w.Worker) {
			t.Errorf("%+v", w)
			continue
		}
		f := w.Windows[0].Files[0]
		path := "/profile_files/" + w.Windows[0].ID + "/" + f.Name
		for _, by := range []string{path, path + "?worker=" + w.Worker, "/workers/" + w.Worker + path} {
			if got := r.call("GET "+by, ""); got.status != 200 || int64(len(got.body)) != f.Size {
				t.Errorf("GET %s: %d, %d bytes, want %d", by, got.status, len(got.body), f.Size)
			}
		}
		if got := r.call("GET "+path, "", "Range", "bytes=2-3"); got.status != 206 || len(got.body) != 2 {
			t.Errorf("a part: %d, %d bytes", got.status, len(got.body))
		}
	}
	if got := r.call("GET /profile_files?worker=worker-1", ""); !strings.HasPrefix(got.body, `{"windows":[{"id"`) {
		t.Errorf("of one worker: %d %s", got.status, got.body)
	}
}

// TestFlushAndAbort checks that both reach all workers.
func TestFlushAndAbort(t *testing.T) {
	a, ea, _ := newWorkerOf(t, fakeengine.Options{Pace: time.Millisecond}, server.Options{})
	b, eb, _ := newWorkerOf(t, fakeengine.Options{Pace: time.Millisecond}, server.Options{})
	r := newRig(t, Options{Workers: plain(a, b)})
	done := make(chan got, 2)
	for range 2 {
		go func() {
			done <- r.call("POST /generate", `{"text":"x","sampling_params":{"max_new_tokens":4000,"ignore_eos":true}}`)
		}()
	}
	eventually(t, "each engine has a request", func() bool { return ea.Busy() == 1 && eb.Busy() == 1 })
	if got := r.call("POST /flush_cache", ""); got.status != 400 || !strings.Contains(got.body, "0 of 2 workers flushed") {
		t.Errorf("flush of busy workers: %d %s", got.status, got.body)
	}
	if got := r.call("POST /abort_request", `{"abort_all":true}`); got.status != 200 {
		t.Errorf("abort: %d %s", got.status, got.body)
	}
	for range 2 {
		if got := <-done; !strings.Contains(got.body, "abort") {
			t.Errorf("%d %.200s", got.status, got.body)
		}
	}
	if got := r.call("GET /flush_cache?timeout=5", ""); got.status != 200 || !strings.HasPrefix(got.body, "Cache flushed.") {
		t.Errorf("flush: %d %s", got.status, got.body)
	}
}

// TestFlushInPart checks that the prefixes of a flushed worker are forgotten even if another worker has not flushed.
func TestFlushInPart(t *testing.T) {
	worker := func(flush int) string {
		return fake(t, func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/flush_cache" {
				rw.WriteHeader(flush)
			}
		})
	}
	r := newRig(t, Options{Workers: plain(worker(200), worker(400)), Policy: "cache_aware"})
	p := r.rt.plain.policy.(*cacheAware)
	chain := appendChain(nil, []byte(strings.Repeat("x", 10*blockBytes)), 10)
	for _, w := range r.rt.workers {
		p.of(w).add(chain)
	}
	if got := r.call("POST /flush_cache", ""); got.status != 502 || !strings.Contains(got.body, "1 of 2 workers flushed") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for i, want := range []int{0, 10} {
		if n := p.of(r.rt.workers[i]).match(chain); n != want {
			t.Errorf("worker %d: %d blocks are known, want %d", i, n, want)
		}
	}
}
