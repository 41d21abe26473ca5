package route

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
)

// side is a prefill or decode worker that records the bodies it receives.
type side struct {
	url    string
	mu     sync.Mutex
	bodies []string
}

func newSide(t *testing.T, f http.HandlerFunc) *side {
	s := &side{}
	s.url = fake(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			s.bodies = append(s.bodies, string(body))
			s.mu.Unlock()
		}
		f(rw, r)
	})
	return s
}

func (s *side) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func pairs(prefill []*side, decode []*side) (out []Backend) {
	for _, s := range prefill {
		out = append(out, Backend{URL: s.url, Role: api.Prefill, BootstrapPort: 8998})
	}
	for _, s := range decode {
		out = append(out, Backend{URL: s.url, Role: api.Decode})
	}
	return out
}

// TestBootstrap checks the fields added to bodies.
func TestBootstrap(t *testing.T) {
	w := &worker{host: "10.0.0.1"}
	w.bootstrapPort.Store(8998)
	unknown := &worker{host: "::1"}
	for _, c := range []struct {
		body string
		w    *worker
		want string // with R for each room
	}{
		{`{"text":"a"}`, w, `{"text":"a","bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":R}`},
		{` {} `, w, ` {"bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":R}`},
		{`{"input_ids":[1,2]}`, unknown, `{"input_ids":[1,2],"bootstrap_host":"::1","bootstrap_port":null,"bootstrap_room":R}`},
		{`{"text":["a","b"]}`, w, `{"text":["a","b"],"bootstrap_host":["10.0.0.1","10.0.0.1"],"bootstrap_port":[8998,8998],"bootstrap_room":[R,R]}`},
		{`{"input_ids":[[1],[2]]}`, w, `{"input_ids":[[1],[2]],"bootstrap_host":["10.0.0.1","10.0.0.1"],"bootstrap_port":[8998,8998],"bootstrap_room":[R,R]}`},
		{`{"prompt":["a"]}`, w, `{"prompt":["a"],"bootstrap_host":["10.0.0.1"],"bootstrap_port":[8998],"bootstrap_room":[R]}`},
		{`{"prompt":[1,2,3]}`, w, `{"prompt":[1,2,3],"bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":R}`},
		{`{"messages":[{"role":"user","text":["}"]}]}`, w, `{"messages":[{"role":"user","text":["}"]}],"bootstrap_host":"10.0.0.1","bootstrap_port":8998,"bootstrap_room":R}`},
	} {
		out, err := bootstrap([]byte(c.body), c.w)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		var fields struct {
			Room json.RawMessage `json:"bootstrap_room"`
		}
		if err := json.Unmarshal(out, &fields); err != nil {
			t.Errorf("%s: %v in %s", c.body, err, out)
			continue
		}
		var rooms []int64
		if json.Unmarshal(fields.Room, &rooms) != nil {
			rooms = make([]int64, 1)
			if err := json.Unmarshal(fields.Room, &rooms[0]); err != nil {
				t.Errorf("%s: %v in room %s", c.body, err, fields.Room)
			}
		}
		text, seen := string(out), map[int64]bool{}
		for _, room := range rooms {
			// Fewer than 40 bits occur once in 2^23.
			if room < 1<<40 || seen[room] {
				t.Errorf("%s: room %d of %v is not random in 63 bits", c.body, room, rooms)
			}
			seen[room] = true
			text = strings.Replace(text, fmt.Sprint(room), "R", 1)
		}
		if text != c.want {
			t.Errorf("%s becomes\n%s\nwant\n%s", c.body, text, c.want)
		}
	}
	for _, body := range []string{``, `[]`, `{"text":"a"`, `{"text":}`, `{"text":"a"}{}`, `{text:1}`, `null`} {
		if out, err := bootstrap([]byte(body), w); err == nil {
			t.Errorf("%q becomes %s", body, out)
		}
	}
}

// TestPair checks that both workers get the same body, and that the client gets the decode worker's reply, whole or as
// a stream.
func TestPair(t *testing.T) {
	p := newSide(t, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, `{"text":"prefill's"}`) })
	d := newSide(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/generate" {
			fmt.Fprint(rw, `{"text":"decode's"}`)
			return
		}
		events(rw, "1", "2", "[DONE]")
	})
	r := newRig(t, Options{Workers: pairs([]*side{p}, []*side{d})})
	if got := r.call("POST /generate", `{"text":"x"}`); got.status != 200 || got.body != `{"text":"decode's"}` {
		t.Errorf("%d %s", got.status, got.body)
	}
	// The client may have the decode worker's reply before the prefill worker has the body.
	eventually(t, "both have the first", func() bool { return len(p.got()) == 1 && len(d.got()) == 1 })
	if got := r.call("POST /v1/chat/completions", `{"messages":[],"stream":true}`); got.body != "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n" {
		t.Errorf("%d %s", got.status, got.body)
	}
	eventually(t, "both have both", func() bool { return len(p.got()) == 2 && len(d.got()) == 2 })
	host, _ := url.Parse(p.url)
	for i, body := range p.got() {
		if body != d.got()[i] || !strings.Contains(body, `"bootstrap_host":"`+host.Hostname()+`","bootstrap_port":8998,"bootstrap_room":`) {
			t.Errorf("prefill got %s\ndecode got %s", body, d.got()[i])
		}
	}
	if got := r.call("POST /generate", `no json`); got.status != 400 || !strings.Contains(got.body, "not a JSON object") {
		t.Errorf("%d %s", got.status, got.body)
	}
	eventually(t, "nothing is counted as running", func() bool { return r.rt.inFlight() == 0 })
}

// TestPairFaults checks the client's reply when a worker of the first pair fails. The second pair is healthy.
func TestPairFaults(t *testing.T) {
	ok := func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "done") }
	well := func(rw http.ResponseWriter, _ *http.Request) { events(rw, "well") }
	die := func(http.ResponseWriter, *http.Request) { cut() }
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	refuse := func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "too long", 400) }
	full := func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }
	late := func(end func()) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(50 * time.Millisecond) // the decode side's first event has been sent
			end()
		}
	}
	first := func(end http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) { events(rw, "one"); end(rw, r) }
	}
	broken := func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "KV transfer failed", 500) }
	wrong := func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "out of memory", 500) }
	tells := func(event string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { events(rw, event, "[DONE]") }
	}
	after := func(f http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) { time.Sleep(50 * time.Millisecond); f(rw, r) }
	}
	failed := func(text string) string {
		return "data: one\n\ndata: {\"error\":{\"message\":\"" + text + "\",\"type\":\"Bad Gateway\",\"code\":502}}\n\ndata: [DONE]\n\n"
	}
	for _, c := range []struct {
		name            string
		prefill, decode http.HandlerFunc
		retry           bool
		status          int
		want            string
	}{
		{"prefill dies", die, hang, true, 200, "data: well\n\n"},
		{"prefill is full", full, hang, true, 200, "data: well\n\n"},
		{"decode dies", ok, die, true, 200, "data: well\n\n"},
		{"decode dies, prefill waits for it", hang, die, true, 200, "data: well\n\n"},
		{"decode is full", hang, full, true, 200, "data: well\n\n"},
		{"decode says nothing", ok, hang, true, 200, "data: well\n\n"},
		{"prefill refuses", refuse, hang, false, 400, "too long\n"},
		{"decode refuses", hang, refuse, false, 400, "too long\n"},
		{"decode dies in the stream", ok, first(die), false, 200, failed("D: the worker closed the connection")},
		// One worker's report about the other is not final.
		{"decode reports that prefill died", late(cut), broken, true, 200, "data: well\n\n"},
		{"decode reports it in a stream", late(cut), tells(`{"error":{"message":"KV transfer failed"}}`), true, 200, "data: well\n\n"},
		{"decode reports that prefill refuses", after(refuse), broken, false, 400, "too long\n"},
		{"prefill reports that decode died", broken, late(cut), true, 200, "data: well\n\n"},
		{"prefill reports that decode is full", broken, after(full), true, 200, "data: well\n\n"},
		{"prefill reports that decode refuses", broken, after(refuse), false, 400, "too long\n"},
		// Another pair may not have the failure of the transfer.
		{"both report a transfer failure", broken, broken, true, 200, "data: well\n\n"},
		{"decode reports it", ok, broken, true, 200, "data: well\n\n"},
		{"decode reports a handshake failure in a stream", hang, tells(`{"error":{"message":"Decode handshake failed"}}`), true, 200, "data: well\n\n"},
		{"prefill reports it", broken, hang, true, 200, "data: well\n\n"},
		{"decode reports another error", ok, wrong, false, 500, "out of memory\n"},
		{"both say nothing", hang, hang, true, 200, "data: well\n\n"},
		{"prefill dies in the stream", late(cut), first(hang), false, 200, failed("P: the worker closed the connection")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, d := newSide(t, c.prefill), newSide(t, c.decode)
			p2, d2 := newSide(t, ok), newSide(t, well)
			r := newRig(t, Options{Workers: pairs([]*side{p, p2}, []*side{d, d2}), RequestTimeout: 400 * time.Millisecond})
			got := r.call("POST /generate", `{"text":"x","stream":true}`)
			text := strings.NewReplacer(p.url, "P", d.url, "D").Replace(got.body)
			if got.status != c.status || text != c.want {
				t.Errorf("%d %q\nwant %d %q", got.status, text, c.status, c.want)
			}
			if n := r.rt.metrics.retries.Load(); (n > 0) != c.retry {
				t.Errorf("%d retries", n)
			}
			eventually(t, "nothing is counted as running", func() bool { return r.rt.inFlight() == 0 })
		})
	}
}

// TestPairAlone checks that without another pair, the workers' error goes to the client.
func TestPairAlone(t *testing.T) {
	broken := func() []*side {
		return []*side{newSide(t, func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "KV transfer failed", 500) })}
	}
	r := newRig(t, Options{Workers: pairs(broken(), broken())})
	if got := r.call("POST /generate", `{"text":"x"}`); got.status != 500 || got.body != "KV transfer failed\n" {
		t.Errorf("%d %q", got.status, got.body)
	}
}

// TestOneSide checks that without a worker of one role no request can be served.
func TestOneSide(t *testing.T) {
	p := newSide(t, func(http.ResponseWriter, *http.Request) {})
	gone := Backend{URL: "http://127.0.0.1:1", Role: api.Decode}
	r := newRig(t, Options{Workers: append(pairs([]*side{p}, nil), gone)}, p.url)
	if got := r.call("POST /generate", "{}"); got.status != 503 || !strings.Contains(got.body, "no decode worker is up") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := r.call("GET /health", ""); got.status != 503 {
		t.Errorf("/health: %d", got.status)
	}
}

// TestPairInfo checks that /server_info has both sides, as SGLang's balancer's has; a prefill worker that reports its
// bootstrap port need not be asked for it.
func TestPairInfo(t *testing.T) {
	says := func(text string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/server_info" {
				fmt.Fprint(rw, text)
				return
			}
			fmt.Fprintf(rw, "%s by %s", r.URL.Path, text)
		}
	}
	p := newSide(t, says(`{"disaggregation_bootstrap_port":9001,"internal_states":[{"p":1}]}`))
	d := newSide(t, says(`{"internal_states":[{"d":1},{"d":2}]}`))
	workers := pairs([]*side{p}, []*side{d})
	workers[0].BootstrapPort = 0
	r := newRig(t, Options{Workers: workers})
	var info struct {
		Prefill []map[string]any `json:"prefill"`
		Decode  []map[string]any `json:"decode"`
		States  json.RawMessage  `json:"internal_states"`
		Workers []WorkerInfo     `json:"workers"`
	}
	if err := json.Unmarshal([]byte(r.call("GET /server_info", "").body), &info); err != nil {
		t.Fatal(err)
	}
	if len(info.Prefill) != 1 || len(info.Decode) != 1 || string(info.States) != `[{"d":1},{"d":2}]` || info.Workers[0].BootstrapPort != 9001 {
		t.Errorf("%+v", info)
	}
	if got := r.call("GET /model_info", ""); !strings.HasPrefix(got.body, "/model_info by") || !strings.Contains(got.body, "9001") {
		t.Errorf("/model_info comes from %s, want the prefill worker", got.body)
	}
}
