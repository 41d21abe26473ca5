package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/engine"
	"github.com/stepscope/stepscope/internal/engine/model"
	"github.com/stepscope/stepscope/internal/engine/sched"
	"github.com/stepscope/stepscope/internal/server"
	"github.com/stepscope/stepscope/internal/server/fakeengine"
	"github.com/stepscope/stepscope/internal/tensor"
)

// serveHTTP is a server in front of real ranks.
func serveHTTP(t *testing.T, z engine.Sizes, maxQueued int) (*engine.Engine, string) {
	t.Helper()
	cfg, err := model.BuiltinConfig("llama-tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	var groups []engine.Group
	for dp := range max(z.DP, 1) {
		g, err := engine.NewRanks(engine.RanksOptions{
			Config: cfg, Source: model.NewDummy(cfg, 1), Sizes: z, DP: dp,
			Model: model.Options{Format: tensor.F32, NumBlocks: 32, MaxSeqs: 8, MaxTokens: 256, GraphSizes: []int{8}},
		})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	e := engine.New(groups, engine.Options{
		Sched:      sched.Options{Blocks: 32, Vocab: cfg.Vocab, MaxRunning: 8, ChunkedPrefill: 256, MaxQueued: maxQueued, Graphs: true},
		ContextLen: cfg.ContextLen(), EOS: cfg.EOS, Sizes: z,
	})
	hs := httptest.NewServer(server.New(&adapter{e: e, tok: fakeengine.Tokenizer{}, info: server.Info{
		ModelPath: "builtin:llama-tiny", ContextLen: cfg.ContextLen(), VocabSize: cfg.Vocab, DP: z.DP, TP: z.TP,
		MaxRunningRequests: 8, TokenCapacity: e.Capacity(),
	}}, server.Options{}).Handler())
	t.Cleanup(func() {
		hs.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, hs.URL
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestOverHTTP(t *testing.T) {
	e, url := serveHTTP(t, engine.Sizes{TP: 2, DP: 2}, 0)
	dir := t.TempDir()
	for _, tt := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"/generate", `{"text":"hello","sampling_params":{"max_new_tokens":5,"temperature":0,"ignore_eos":true},"return_logprob":true,"top_logprobs_num":2,"logprob_start_len":0}`, 200, `"completion_tokens":5`},
		{"/generate", `{"text":"hello","stream":true,"sampling_params":{"max_new_tokens":5,"ignore_eos":true}}`, 200, "data: [DONE]"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],"max_tokens":4}`, 200, `"finish_reason":"`},
		{"/stop_profile", "", 409, "Profiling is not in progress. Call /start_profile first."},
		{"/start_profile", `{"profile_by_stage":true}`, 400, "needs num_steps"},
		{"/start_profile", fmt.Sprintf(`{"output_dir":%q,"num_steps":"3","merge_profiles":true,"profile_id":"7"}`, dir), 200, "Start profiling.\n"},
		{"/start_profile", "", 409, "Profiling is already in progress. Call /stop_profile first."},
		{"/flush_cache", "", 200, "Cache flushed."},
	} {
		status, text := post(t, url+tt.path, tt.body)
		if status != tt.status || !strings.Contains(text, tt.text) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, status, text)
		}
	}
	for range 2 { // one for each data-parallel rank
		post(t, url+"/generate", `{"text":"and now","sampling_params":{"max_new_tokens":5,"ignore_eos":true}}`)
	}
	if e.Profiling() {
		t.Error("the window is open")
	}
	if err := e.Close(); err != nil { // waits for the files
		t.Error(err)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*.trace.json.gz")); len(list) != 5 {
		t.Errorf("files %v", list)
	}
	if status, _ := post(t, url+"/generate", `{"text":"x"}`); status != 503 {
		t.Errorf("status %d after close", status)
	}
}

// Many clients, some of which leave: afterwards no block of the cache is held.
func TestManyClients(t *testing.T) {
	e, url := serveHTTP(t, engine.Sizes{DP: 2}, 20)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			body := fmt.Sprintf(`{"text":%q,"stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`,
				strings.Repeat("word ", i*3), 1+i*2)
			resp, err := http.Post(url+"/generate", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusServiceUnavailable:
			case resp.StatusCode != 200:
				t.Errorf("status %d", resp.StatusCode)
			case i%3 == 0: // leave
				resp.Body.Read(make([]byte, 10))
			default:
				if text, _ := io.ReadAll(resp.Body); !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
					t.Errorf("client %d: %s", i, text)
				}
			}
		})
	}
	wg.Wait()
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for dp, s := range e.Stats() {
		if s.UsedTokens != 0 || s.Running+s.Waiting != 0 {
			t.Errorf("rank %d: %+v", dp, s)
		}
	}
}
