package launch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/kvtransfer"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// pd is a prefill and a decode server, and the router's role in front of them.
type pd struct {
	t               *testing.T
	prefill, decode *launch.Engine
	urls            [2]string
	port            int
	rooms           atomic.Int64
}

func newPD(t *testing.T, opt kvtransfer.Options, prefill, decode func(*launch.ModelArgs)) *pd {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pd{t: t, port: ln.Addr().(*net.TCPAddr).Port}
	opt.Log = func(line string) { t.Log(line) }
	p.prefill, p.urls[0] = p.serve(prefill, engine.Disagg{Role: api.Prefill, Listener: ln, Transfer: opt})
	p.decode, p.urls[1] = p.serve(decode, engine.Disagg{Role: api.Decode, Transfer: opt})
	return p
}

func (p *pd) serve(change func(*launch.ModelArgs), d engine.Disagg) (*launch.Engine, string) {
	p.t.Helper()
	e, err := launch.Load(p.t.Context(), args(change), launch.Options{Disagg: d})
	if err != nil {
		p.t.Fatal(err)
	}
	hs := httptest.NewServer(server.New(e, server.Options{EnableMetrics: true}).Handler())
	p.t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
		if err := e.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return e, hs.URL
}

// reply is the answer of one server.
type reply struct {
	status int
	text   string
	err    error
}

// send posts a body to both servers, as a router does, and returns both replies.
func (p *pd) send(ctx context.Context, body map[string]any) (out [2]reply) {
	sent := map[string]any{"bootstrap_host": "127.0.0.1", "bootstrap_port": p.port, "bootstrap_room": p.rooms.Add(1)}
	if list, ok := body["input_ids"].([][]int32); ok {
		var hosts []string
		var ports []any
		var rooms []int64
		for range list {
			hosts, ports, rooms = append(hosts, "127.0.0.1"), append(ports, p.port), append(rooms, rand.Int64())
		}
		sent = map[string]any{"bootstrap_host": hosts, "bootstrap_port": ports, "bootstrap_room": rooms}
	}
	for k, v := range body {
		sent[k] = v
	}
	text, _ := json.Marshal(sent)
	var wg sync.WaitGroup
	for i, url := range p.urls {
		wg.Go(func() { out[i] = fetch(ctx, url+"/generate", text) })
	}
	wg.Wait()
	return out
}

func fetch(ctx context.Context, url string, body []byte) reply {
	req, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(text), err}
}

// free waits until no server holds any resources of a request.
func (p *pd) free() {
	p.t.Helper()
	for i, e := range []*launch.Engine{p.prefill, p.decode} {
		eventually(p.t, fmt.Sprintf("server %d holds nothing", i), func() bool {
			for _, st := range e.Stats() {
				if st.UsedTokens+st.Running+st.Waiting+st.Bootstrap+st.Inflight+st.Prealloc+st.Transfer != 0 {
					return false
				}
			}
			return true
		})
	}
}

// pdReply is the compared part of a reply.
type pdReply struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"output_ids"`
	Meta struct {
		Finish    any `json:"finish_reason"`
		Prompt    any `json:"input_token_logprobs"`
		PromptTop any `json:"input_top_logprobs"`
		Output    any `json:"output_token_logprobs"`
		Top       any `json:"output_top_logprobs"`
		Tokens    int `json:"completion_tokens"`
	} `json:"meta_info"`
}

func parsed(t *testing.T, text string) (out []pdReply) {
	t.Helper()
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func ids(seed, n int) []int32 {
	rng := rand.New(rand.NewPCG(uint64(seed), 4))
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(rng.IntN(256))
	}
	return out
}

// TestDisaggTokens checks that two servers return exactly the tokens and log probabilities of one.
func TestDisaggTokens(t *testing.T) {
	same := func(change func(*launch.ModelArgs)) [3]func(*launch.ModelArgs) {
		return [3]func(*launch.ModelArgs){change, change, change}
	}
	room := func(a *launch.ModelArgs) { a.MaxTotalTokens = 8192 }
	for name, c := range map[string][3]func(*launch.ModelArgs){ // one server, prefill, decode
		"one rank":        same(room),
		"TP2":             same(func(a *launch.ModelArgs) { room(a); a.TP = 2 }),
		"moe TP2 EP2":     same(func(a *launch.ModelArgs) { room(a); a.ModelPath, a.TP, a.EP = "builtin:qwen3-moe-tiny", 2, 2 }),
		"PP2 to one rank": {room, func(a *launch.ModelArgs) { room(a); a.PP = 2 }, room},
		"DP2 each":        {room, func(a *launch.ModelArgs) { room(a); a.DP = 2 }, func(a *launch.ModelArgs) { room(a); a.DP = 2 }},
		"no radix cache, op by op": same(func(a *launch.ModelArgs) {
			room(a)
			a.DisableRadix, a.DisableGraph, a.GraphBS = true, true, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			_, alone := serveHTTP(t, c[0])
			p := newPD(t, kvtransfer.Options{}, c[1], c[2])
			batch := make([][]int32, 8)
			for i := range batch {
				batch[i] = append(ids(1, 130), ids(i, 1+i*40)...) // a common prefix, longer than a chunk
			}
			for _, body := range []map[string]any{
				{"input_ids": ids(3, 5), "sampling_params": map[string]any{"temperature": 0, "max_new_tokens": 64, "ignore_eos": true}},
				{"input_ids": batch, "sampling_params": map[string]any{"temperature": 0, "max_new_tokens": 64, "ignore_eos": true}},
				{"input_ids": batch[5], "return_logprob": true, "logprob_start_len": 0, "top_logprobs_num": 2,
					"sampling_params": map[string]any{"temperature": 0, "max_new_tokens": 9}},
				{"input_ids": batch[2], "sampling_params": map[string]any{"temperature": 0.9, "sampling_seed": 7, "max_new_tokens": 20, "ignore_eos": true}},
				{"input_ids": batch[2], "sampling_params": map[string]any{"temperature": 0, "max_new_tokens": 1}},
				{"input_ids": batch[2], "sampling_params": map[string]any{"max_new_tokens": 0}},
				{"text": "a b", "sampling_params": map[string]any{"temperature": 1, "sampling_seed": 3, "max_new_tokens": 6, "n": 3}},
			} {
				text, _ := json.Marshal(body)
				want := fetch(t.Context(), alone+"/generate", text)
				got := p.send(t.Context(), body)
				for _, r := range []reply{want, got[0], got[1]} {
					if r.status != 200 || r.err != nil {
						t.Fatalf("%d %v %s", r.status, r.err, r.text)
					}
				}
				a, b, first := parsed(t, want.text), parsed(t, got[1].text), parsed(t, got[0].text)
				for i := range b { // as SGLang's routers join them
					if told, ok := b[i].Meta.Prompt.([]any); ok {
						b[i].Meta.Prompt = append(first[i].Meta.Prompt.([]any), told...)
					}
					if told, ok := b[i].Meta.PromptTop.([]any); ok {
						b[i].Meta.PromptTop = append(first[i].Meta.PromptTop.([]any), told...)
					}
				}
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%.300s:\none server  %+v\ntwo servers %+v", text, a, b)
				}
				for i, first := range first {
					if n := min(1, len(a[i].IDs)); !reflect.DeepEqual(first.IDs, a[i].IDs[:n]) {
						t.Errorf("the prefill server says %v, want %v", first.IDs, a[i].IDs[:n])
					}
				}
			}
			p.free()
			for _, e := range []struct {
				what            string
				e               *launch.Engine
				prompts, decode bool
			}{{"prefill", p.prefill, true, false}, {"decode", p.decode, false, true}} {
				for _, st := range e.e.Stats() {
					if (st.ComputedTokens > 0) != e.prompts || (st.DecodeBusy > 0) != e.decode || st.PrefillBusy > 0 && !e.prompts {
						t.Errorf("%s: %d prompt tokens computed, decoded for %v", e.what, st.ComputedTokens, st.DecodeBusy)
					}
				}
			}
		})
	}
}

// TestDisaggResharded checks ranks with different layouts. Sums over two ranks round differently, so only the lengths
// are compared.
func TestDisaggResharded(t *testing.T) {
	two := func(a *launch.ModelArgs) { a.TP = 2 }
	for name, c := range map[string][2]func(*launch.ModelArgs){"TP2 to TP1": {two, nil}, "TP1 to TP2": {nil, two}} {
		t.Run(name, func(t *testing.T) {
			p := newPD(t, kvtransfer.Options{}, c[0], c[1])
			got := p.send(t.Context(), map[string]any{"input_ids": ids(1, 300), "sampling_params": map[string]any{"max_new_tokens": 64, "ignore_eos": true}})
			if got[1].status != 200 || parsed(t, got[1].text)[0].Meta.Tokens != 64 {
				t.Errorf("%+v", got)
			}
			p.free()
		})
	}
}

// TestDisaggCrowd runs more clients than the queues and the caches hold, some of which leave. All requests must end and
// leave nothing behind.
func TestDisaggCrowd(t *testing.T) {
	limits := kvtransfer.Options{Bootstrap: 3 * time.Second, Waiting: 10 * time.Second, Silence: 5 * time.Second}
	p := newPD(t, limits, func(a *launch.ModelArgs) { a.TP, a.MaxQueuedRequests = 2, 10 },
		func(a *launch.ModelArgs) { a.TP, a.MaxTotalTokens, a.MaxQueuedRequests = 2, 1024, 20 })
	var wg sync.WaitGroup
	var ok, refused, gone atomic.Int64
	for i := range 120 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			if i%4 == 0 {
				time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, cancel)
			}
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
			got := p.send(ctx, map[string]any{"input_ids": ids(i%5, 20+i*2), "sampling_params": map[string]any{"max_new_tokens": 30, "ignore_eos": true}})
			switch d := got[1]; {
			case d.status == 200 && strings.Contains(d.text, `"completion_tokens":30`):
				ok.Add(1)
			case i%4 == 0:
				gone.Add(1)
			case d.status == 503 || d.status == 500:
				refused.Add(1)
			default:
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
	t.Logf("%d served, %d refused, %d left", ok.Load(), refused.Load(), gone.Load())
	if ok.Load() == 0 || refused.Load() == 0 {
		t.Error("not all cases occurred")
	}
	p.free()
	got := p.send(t.Context(), map[string]any{"text": "still there?", "sampling_params": map[string]any{"max_new_tokens": 4, "ignore_eos": true}})
	if got[1].status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestDisaggRefusals checks the errors that one server receives from the other, and the HTTP replies.
func TestDisaggRefusals(t *testing.T) {
	p := newPD(t, kvtransfer.Options{Bootstrap: 500 * time.Millisecond, Waiting: time.Second, Handshake: 500 * time.Millisecond}, nil, nil)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		name, path, body string
		server           int
		status           int
		text             string
	}{
		{"no room", "/generate", `{"text":"x"}`, 0, 400, "without bootstrap room id"},
		{"no room", "/v1/completions", `{"prompt":"x"}`, 1, 400, "without bootstrap room id"},
		{"no host", "/generate", `{"text":"x","bootstrap_room":1}`, 1, 400, "bootstrap_host"},
		{"half a batch", "/generate", `{"text":["x","y","z"],"bootstrap_room":[1,2]}`, 0, 400, "2 entries for a batch of 3"},
		{"an odd port", "/generate", `{"text":"x","bootstrap_room":1,"bootstrap_host":"localhost","bootstrap_port":70000}`, 1, 400, "want a port"},
		{"nobody decodes", "/generate", `{"text":"x","bootstrap_room":1}`, 0, 500, "not announced by both sides"},
		{"nobody prefills", "/generate", fmt.Sprintf(`{"text":"x","bootstrap_room":2,"bootstrap_host":"127.0.0.1","bootstrap_port":%d}`, p.port), 1, 500, "not announced by both sides"},
		{"nobody listens", "/generate", `{"text":"x","bootstrap_room":3,"bootstrap_host":"127.0.0.1","bootstrap_port":1}`, 1, 500, "cannot be reached"},
		{"a peer that accepts and says nothing", "/generate",
			fmt.Sprintf(`{"text":"x","bootstrap_room":3,"bootstrap_host":"127.0.0.1","bootstrap_port":%d}`, silent.Addr().(*net.TCPAddr).Port), 1, 500, "it sent nothing for 500ms"},
		{"a prefill server that is made up", "/generate", `{"text":"x","bootstrap_room":0,"bootstrap_host":"2.2.2.2","sampling_params":{"max_new_tokens":3,"ignore_eos":true}}`, 1, 200, `"completion_tokens":3`},
		{"the same of a decode server", "/generate", `{"text":"x","bootstrap_room":0,"bootstrap_host":"2.2.2.2"}`, 0, 200, `"completion_tokens":1`},
	} {
		status, text := post(t, p.urls[c.server]+c.path, c.body)
		if status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, status, text, c.status, c.text)
		}
	}
	p.free()
	for i, want := range []string{`sglang:num_bootstrap_failed_reqs_total{model_name="builtin:llama-tiny",engine_type="prefill",tp_rank="0",pp_rank="0",moe_ep_rank="0"} 1.0`,
		`sglang:num_bootstrap_failed_reqs_total{model_name="builtin:llama-tiny",engine_type="decode",tp_rank="0",pp_rank="0",moe_ep_rank="0"} 2.0`} {
		resp, err := http.Get(p.urls[i] + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(text), want) {
			t.Errorf("metrics lack %s", want)
		}
		if resp, err := http.Get(p.urls[i] + "/health_generate"); err != nil || resp.StatusCode != 200 {
			t.Errorf("health %v %v", resp, err)
		}
	}
}
