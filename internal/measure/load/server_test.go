package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// fake is this project's server over an engine without a model, whose tokens are the bytes of its reply.
func fake(t *testing.T, o fakeengine.Options) string {
	t.Helper()
	if o.Reply == nil {
		o.Reply = func(string) string { return "abcdefghij" }
	}
	e := fakeengine.New(o)
	s := server.New(e, server.Options{Version: "test", Getenv: func(string) string { return "" }})
	hs := httptest.NewServer(s.Handler())
	t.Cleanup(func() { hs.Close(); e.Close() })
	return hs.URL
}

// TestServer sends requests to the project's own server with each kind of API.
func TestServer(t *testing.T) {
	url := fake(t, fakeengine.Options{})
	for _, c := range []struct {
		backend string
		opt     Options
		tokens  []int // of each chunk
		from    bench.OutputFrom
	}{
		{"sglang", Options{Stream: true, CacheReport: true}, []int{1, 1, 1, 1}, bench.FromServer},
		{"sglang-oai", Options{Stream: true}, []int{-1, -1, -1, -1}, bench.FromChunks},
		{"sglang-oai", Options{Stream: true, IncludeUsage: true}, []int{-1, -1, -1, -1}, bench.FromServer},
		{"vllm", Options{Stream: true, ContinuousUsage: true}, []int{1, 1, 1, 1}, bench.FromServer},
		{"sglang-oai-chat", Options{Stream: true}, []int{-1, -1, -1, -1}, bench.FromChunks},
		{"sglang-oai-chat", Options{Stream: true, UserStamps: true, ContinuousUsage: true}, []int{1, 1, 1, 1}, bench.FromServer},
		{"sglang", Options{}, []int{4}, bench.FromServer},
		{"sglang-oai-chat", Options{}, []int{4}, bench.FromServer},
		{"vllm", Options{}, []int{4}, bench.FromServer},
	} {
		t.Run(fmt.Sprintf("%s stream=%v usage=%v,%v", c.backend, c.opt.Stream, c.opt.IncludeUsage, c.opt.ContinuousUsage), func(t *testing.T) {
			opt := c.opt
			opt.Backend, opt.BaseURL, opt.Model, opt.IgnoreEOS, opt.KeepText = c.backend, url, "fake", true, true
			opt.RequestID = func(i, turn int) string { return fmt.Sprintf("%s-%d", c.backend, i) }
			opt.Schedule = []time.Duration{0, 5 * time.Millisecond}
			res, err := Run(t.Context(), []workload.Request{{Prompt: "one", OutputLen: 4}, {Prompt: "two", OutputLen: 4}}, opt)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range res.Records {
				var tokens []int
				for _, ch := range r.Chunks {
					tokens = append(tokens, ch.Tokens)
				}
				if !r.OK() || r.Text != "abcd" || r.OutputLen != 4 || r.OutputFrom != c.from || r.Finish != "length" || r.Status != 200 || !slices.Equal(tokens, c.tokens) {
					t.Errorf("record %d: %s %s, text %q, %d tokens by %s in chunks %v", i, r.Failure, r.Error, r.Text, r.OutputLen, r.OutputFrom, tokens)
				}
				moments := []int64{0, r.Scheduled, r.Released, r.Connected, r.Sent, r.Headers, r.FirstAny, r.First, r.Visible, r.Last, r.Done, res.Duration + r.Sent}
				if r.Index != i || r.Scheduled != int64(opt.Schedule[i]) || !slices.IsSorted(moments) {
					t.Errorf("record %d: moments %v", i, moments)
				}
			}
		})
	}
}

// TestConversation checks that each round includes the earlier messages, including the server's, and requests its token
// counts.
func TestConversation(t *testing.T) {
	round := 0
	url, seen := scripted(t, func(_ int, c net.Conn) {
		round++
		io.WriteString(c, stream(chatEvent(fmt.Sprintf("re\\u0022%d", round), "stop"), `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, "[DONE]"))
	})
	req := workload.Request{Prompt: "one", OutputLen: 4, Rounds: []workload.Round{
		{Prompt: "one", PromptLen: 1, OutputLen: 4},
		{Messages: json.RawMessage(`[{"role":"tool","content":"two"},{"role":"user","content":"2"}]`), PromptLen: 2, OutputLen: 5, Delay: 20 * time.Millisecond},
		{Prompt: "three", PromptLen: 3, OutputLen: 6},
	}}
	res, err := Run(t.Context(), []workload.Request{req}, Options{Backend: "vllm-chat", BaseURL: url, Model: "m", Stream: true, KeepText: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, body := range seen() {
		var b struct {
			Messages json.RawMessage `json:"messages"`
			Max      int             `json:"max_completion_tokens"`
			Options  json.RawMessage `json:"stream_options"`
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s %s", b.Max, b.Options, b.Messages))
	}
	const usage = ` {"include_usage":true} [`
	first := `{"role":"user","content":"one"}`
	second := first + `,{"role":"assistant","content":"re\u00221"},{"role":"tool","content":"two"},{"role":"user","content":"2"}`
	third := second + `,{"role":"assistant","content":"re\u00222"},{"role":"user","content":"three"}`
	want := []string{"4" + usage + first + "]", "5" + usage + second + "]", "6" + usage + third + "]"}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	for i, r := range res.Records {
		if !r.OK() || r.Turn != i || r.Text != fmt.Sprintf(`re"%d`, i+1) || r.OutputLen != 2 || r.PromptLen != 9 || r.AskedLen != 4+i {
			t.Errorf("round %d: %+v", i, r)
		}
		if i > 0 && r.Scheduled != res.Records[i-1].Done+int64(req.Rounds[i].Delay) || r.Sent < r.Scheduled {
			t.Errorf("round %d is scheduled at %d and sent at %d, the reply before was done at %d", i, r.Scheduled, r.Sent, res.Records[i-1].Done)
		}
	}
}

// TestConversationBreaks checks that rounds after a failed one are not sent.
func TestConversationBreaks(t *testing.T) {
	url, seen := scripted(t, says("HTTP/1.1 500 No\r\n\r\n"))
	res, err := Run(t.Context(), []workload.Request{{Rounds: make([]workload.Round, 2)}}, Options{Backend: "vllm-chat", BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	if r := res.Records[1]; r.Failure != "http_500" || r.Sent != bench.Never || len(seen()) != 1 {
		t.Errorf("got %+v after %d requests", r, len(seen()))
	}
}

// TestConcurrency checks that no more requests run than allowed, in order, and that each records how long it was held
// back.
func TestConcurrency(t *testing.T) {
	url := fake(t, fakeengine.Options{Pace: time.Millisecond})
	reqs := make([]workload.Request, 6)
	for i := range reqs {
		reqs[i] = workload.Request{Prompt: "p", OutputLen: 5}
	}
	res, err := Run(t.Context(), reqs, Options{Backend: "sglang", BaseURL: url, Stream: true, IgnoreEOS: true, MaxConcurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	var done []int64
	for i, r := range res.Records {
		if !r.OK() || r.Scheduled != 0 {
			t.Fatalf("%+v", r)
		}
		if i < 2 && r.Released != 0 {
			t.Errorf("request %d waited until %d", i, r.Released)
		}
		if i >= 2 && r.Released < done[i-2] {
			t.Errorf("request %d was sent at %d, while two others were in flight until %d", i, r.Released, done[i-2])
		}
		done = append(done, r.Done)
		slices.Sort(done)
	}
}

// TestTimeLimit checks that a load with a time limit sends nothing later, and that requests in flight end with the grace
// period, if there is one. Requests that were not sent are not part of the result.
func TestTimeLimit(t *testing.T) {
	grace, none := 300*time.Millisecond, 0*time.Millisecond
	for _, c := range []struct {
		name    string
		opt     Options
		ok, cut int // requests that succeeded; requests that were cut off
	}{
		{"by the schedule", Options{Schedule: []time.Duration{0, 50 * time.Millisecond, time.Hour}}, 2, 0},
		{"by the concurrency", Options{MaxConcurrency: 1}, 1, 0},
		{"the grace period is long enough", Options{MaxConcurrency: 1, Grace: new(10 * time.Second)}, 1, 0},
		{"no grace", Options{Schedule: []time.Duration{0, 50 * time.Millisecond, time.Hour}, Grace: &none}, 0, 2},
		{"the grace period is too short", Options{Schedule: []time.Duration{0, time.Hour, time.Hour}, Grace: &grace}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := fake(t, fakeengine.Options{Pace: 500 * time.Millisecond}) // a request takes 2.5 s
			reqs := slices.Repeat([]workload.Request{{Prompt: "p", OutputLen: 5}}, 3)
			opt := c.opt
			opt.Backend, opt.BaseURL, opt.Stream, opt.IgnoreEOS, opt.For = "sglang", url, true, true, time.Second
			res, err := Run(t.Context(), reqs, opt)
			if err != nil {
				t.Fatal(err)
			}
			ok, cut := 0, 0
			for _, r := range res.Records {
				switch {
				case r.OK():
					ok++
				case r.Failure == bench.Interrupted && strings.Contains(r.Error, "grace period"):
					cut++
				default:
					t.Errorf("%s: %s", r.Failure, r.Error)
				}
			}
			if ok != c.ok || cut != c.cut {
				t.Errorf("%d succeeded, %d were cut off", ok, cut)
			}
		})
	}
}

// TestOpenLoop checks that requests are sent at their times even if the server answers none.
func TestOpenLoop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url, seen := scripted(t, func(n int, c net.Conn) {
		if n == 9 {
			cancel()
		}
		io.Copy(io.Discard, c)
	})
	schedule := make([]time.Duration, 10)
	for i := range schedule {
		schedule[i] = time.Duration(i) * 5 * time.Millisecond
	}
	res, err := Run(ctx, make([]workload.Request, 10), Options{Backend: "vllm", BaseURL: url, Schedule: schedule})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res.Records {
		if r.Failure != bench.Interrupted || r.Sent < int64(schedule[i]) || r.Released != int64(schedule[i]) {
			t.Errorf("request %d: %s, sent %d", i, r.Failure, r.Sent)
		}
	}
	if len(seen()) != 10 {
		t.Errorf("%d requests received, want 10", len(seen()))
	}
}

// TestRetokenize counts texts.
func TestRetokenize(t *testing.T) {
	url := fake(t, fakeengine.Options{})
	count := func(_ context.Context, texts []string) ([]int, error) {
		out := make([]int, len(texts))
		for i, s := range texts {
			out[i] = 2 * len(s)
		}
		return out, nil
	}
	res, err := Run(t.Context(), []workload.Request{{Prompt: "p", OutputLen: 3}}, Options{Backend: "vllm", BaseURL: url, Stream: true, IgnoreEOS: true, Retokenize: count})
	if err != nil {
		t.Fatal(err)
	}
	r := res.Records[0]
	if r.Retokenized != 6 || r.OutputLen != 6 || r.OutputFrom != bench.FromTokenizer || r.Text != "" || len(r.Chunks) != 3 {
		t.Errorf("%+v", r)
	}
}
