package torch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a server that imitates the profile routes of another program.
type fake struct {
	t    *testing.T
	url  string
	mu   sync.Mutex
	open bool
	body map[string]any // of the last start
	// calls lists the profile routes in the order of their calls.
	calls []string

	routes map[string]http.HandlerFunc // "METHOD /path"; others are 404
	// begin is called with the directory when a window starts, end when an open window is stopped.
	begin, end func(dir string)
}

// newFake has the routes of a server with this /server_info; old servers have only its older name.
func newFake(t *testing.T, old bool, info string) *fake {
	f := &fake{t: t, routes: map[string]http.HandlerFunc{}, begin: func(string) {}, end: func(string) {}}
	route := "GET /server_info"
	if old {
		route = "GET /get_server_info"
	}
	if info != "" {
		f.answer(route, 200, info)
	}
	f.routes["POST /start_profile"] = f.start
	f.routes["POST /stop_profile"] = f.stop
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := f.routes[r.Method+" "+r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		if f.routes["POST "+r.URL.Path] != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(hs.Close)
	f.url = hs.URL
	return f
}

func (f *fake) answer(route string, status int, body string) {
	f.routes[route] = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func (f *fake) start(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "start")
	if f.open {
		http.Error(w, "Internal Server Error", 500)
		return
	}
	f.body = map[string]any{}
	json.NewDecoder(r.Body).Decode(&f.body)
	dir, _ := f.body["output_dir"].(string)
	f.open = true
	fmt.Fprint(w, "Start profiling.\n")
	f.begin(dir)
}

func (f *fake) stop(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "stop")
	if !f.open {
		http.Error(w, "Internal Server Error", 500)
		return
	}
	f.open = false
	dir, _ := f.body["output_dir"].(string)
	f.end(dir)
	fmt.Fprint(w, "Stop profiling. This will take some time.\n")
}

func (f *fake) isOpen() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

func (f *fake) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.calls, " ")
}

// traceOf returns a small trace of a rank, traceWith one with a step of this mode.
func traceOf(rank, world int) []byte { return traceWith("DECODE", rank, world) }

func traceWith(mode string, rank, world int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintf(z, `{"schemaVersion":1,"distributedInfo":{"rank":%d,"world_size":%d},"baseTimeNanoseconds":1700000000000000000,"traceEvents":[`, rank, world)
	fmt.Fprintf(z, `{"ph":"X","cat":"user_annotation","name":"step[%s bs=1]","pid":%d,"tid":1,"ts":1.0,"dur":5.0},`, mode, rank+100)
	fmt.Fprint(z, `{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":2.0,"dur":1.0,"args":{"device":0,"stream":7}}]}`)
	z.Close()
	return b.Bytes()
}

// write writes files into a directory: text if the name does not end in .gz, otherwise the trace of the rank with that
// index.
func (f *fake) write(dir string, names ...string) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Error(err)
	}
	for i, name := range names {
		data := traceOf(i, len(names))
		if strings.Contains(name, "EXTEND") || strings.Contains(name, "prefill") {
			data = traceWith("EXTEND", i, len(names))
		}
		if !strings.HasSuffix(name, ".gz") {
			data = []byte("text")
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			f.t.Error(err)
		}
	}
}

// quick returns options for servers with missing features, so that no test waits a minute for them.
func quick(o Options) Options {
	o.Stall, o.Idle, o.firstWait = 300*time.Millisecond, 20*time.Millisecond, 5*time.Millisecond
	if o.Timeout == 0 {
		o.Timeout = 500 * time.Millisecond
	}
	return o
}

// patient returns options for servers that behave correctly.
func patient(o Options) Options {
	o.Stall, o.Idle, o.firstWait, o.Timeout = time.Minute, 20*time.Millisecond, 5*time.Millisecond, time.Minute
	return o
}

// log collects progress lines and signals each.
type log struct {
	mu    sync.Mutex
	lines []string
	tell  func(line string)
}

func (l *log) add(line string) {
	l.mu.Lock()
	l.lines = append(l.lines, line)
	l.mu.Unlock()
	if l.tell != nil {
		l.tell(line)
	}
}

func (l *log) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(s string) bool { return strings.Contains(s, part) })
}

// bases returns the base names of paths.
func bases(paths []string) string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Base(p)
	}
	return strings.Join(out, " ")
}

// fixed is the start time of all windows.
func fixed() time.Time { return time.Unix(1769071195, 500e6) }

const fixedID = "1769071195.5"
