package launch_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/enginetest"
)

// args are small ones for tests, altered by change.
func args(change func(*launch.ModelArgs)) launch.ModelArgs {
	a := launch.ModelArgs{
		ModelPath: "builtin:llama-tiny", LoadFormat: "auto", Overrides: "{}", DType: "auto", TP: 1, DP: 1, PP: 1, EP: 1,
		MaxRunningRequests: 8, MaxQueuedRequests: 1024, MaxTotalTokens: 2048, ChunkedPrefill: 256, MaxPrefillTokens: 16384,
		Conservativeness: 1, LoadBalance: "round_robin", GraphBS: []int{8},
	}
	if change != nil {
		change(&a)
	}
	return a
}

func load(t *testing.T, change func(*launch.ModelArgs)) *launch.Engine {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	e, err := launch.Load(t.Context(), args(change), launch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestEngine checks the real engine for the properties that the server relies on.
func TestEngine(t *testing.T) {
	for name, change := range map[string]func(*launch.ModelArgs){
		"llama": nil,
		"moe TP2 DP2 EP2 op by op": func(a *launch.ModelArgs) {
			a.ModelPath, a.TP, a.DP, a.EP, a.DisableGraph, a.GraphBS = "builtin:qwen3-moe-tiny", 2, 2, 2, true, nil
		},
		"PP2": func(a *launch.ModelArgs) { a.PP = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) server.Engine { return load(t, change) })
		})
	}
}

// TestPriority checks that without priority scheduling, a priority is ignored, or refused in SGLang's words if the
// server is set to refuse it.
func TestPriority(t *testing.T) {
	for refuse, want := range map[bool]string{
		false: `200 "completion_tokens":1`,
		true:  `503 {"object":"error","message":"Using priority is disabled for this server. Please send a new request without a priority.","type":"ServiceUnavailableError","param":null,"code":503}`,
	} {
		_, url := serveHTTP(t, func(a *launch.ModelArgs) { a.AbortOnPriority = refuse })
		status, text := post(t, url+"/v1/completions", `{"prompt":"a","max_tokens":1,"priority":0}`)
		if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, want[:4]) || !strings.Contains(got, want[4:]) {
			t.Errorf("refuse %v: %s, want %s", refuse, got, want)
		}
	}
}

// serveHTTP is a server in front of real ranks.
func serveHTTP(t *testing.T, change func(*launch.ModelArgs)) (*launch.Engine, string) {
	t.Helper()
	e := load(t, change)
	hs := httptest.NewServer(server.New(e, server.Options{}).Handler())
	t.Cleanup(hs.Close)
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
	e, url := serveHTTP(t, func(a *launch.ModelArgs) { a.TP, a.DP = 2, 2 })
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
	e, url := serveHTTP(t, func(a *launch.ModelArgs) { a.DP, a.MaxQueuedRequests = 2, 20 })
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
