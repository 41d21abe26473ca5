// Package enginetest checks that an engine satisfies the requirements of [server.Engine], on which the server relies.
// Every engine, and every adapter to an engine, runs these tests.
package enginetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// patience is the time limit of every wait. It is generous, because these tests do not test the engine's speed.
const patience = 30 * time.Second

// Run tests the engines that open returns. Each call of open must return an idle engine with a context length of at
// least 64 tokens.
func Run(t *testing.T, open func(t *testing.T) server.Engine) {
	t.Run("length", func(t *testing.T) { length(t, open(t)) })
	t.Run("no tokens", func(t *testing.T) { noTokens(t, open(t)) })
	t.Run("logprobs", func(t *testing.T) { logprobs(t, open(t)) })
	t.Run("cancel", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("many", func(t *testing.T) { many(t, open(t)) })
	t.Run("unread", func(t *testing.T) { unread(t, open(t)) })
	t.Run("flush", func(t *testing.T) { flush(t, open(t)) })
	t.Run("profile", func(t *testing.T) { profile(t, open(t)) })
	t.Run("text", func(t *testing.T) { text(t, open(t)) })
}

func request(n int) *api.Request {
	return &api.Request{
		ID: "r", Input: []int32{1, 2, 3}, LogprobStart: -1, DPRank: -1,
		Params: api.Sampling{MaxNewTokens: n, TopP: 1, RepetitionPenalty: 1, IgnoreEOS: true},
	}
}

// read takes all events until the channel is closed.
func read(t *testing.T, ch <-chan api.Event) (out []api.Event) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case ev, ok := <-ch:
			if !ok {
				return out
			}
			out = append(out, ev)
		case <-limit:
			t.Fatalf("the channel is still open after %d events", len(out))
		}
	}
}

func submit(t *testing.T, e server.Engine, ctx context.Context, r *api.Request) <-chan api.Event {
	t.Helper()
	ch, err := e.Submit(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// length verifies that a request yields exactly n tokens, that the last token carries the finish reason, and that the
// channel is then closed.
func length(t *testing.T, e server.Engine) {
	list := read(t, submit(t, e, t.Context(), request(5)))
	if len(list) != 5 {
		t.Fatalf("%d events for 5 tokens", len(list))
	}
	for i, ev := range list {
		last := i == 4
		if ev.Token < 0 || int(ev.Token) >= e.Info().VocabSize {
			t.Errorf("event %d: token %d", i, ev.Token)
		}
		if (ev.Finish != nil) != last {
			t.Errorf("event %d: finish %+v", i, ev.Finish)
		}
	}
	if f := list[4].Finish; f.Type != api.FinishLength {
		t.Errorf("finish %+v", f)
	}
}

func noTokens(t *testing.T, e server.Engine) {
	list := read(t, submit(t, e, t.Context(), request(0)))
	if len(list) != 1 || list[0].Token != api.NoToken || list[0].Finish == nil || list[0].Finish.Type != api.FinishLength {
		t.Errorf("got %+v", list)
	}
}

func logprobs(t *testing.T, e server.Engine) {
	r := request(3)
	r.ReturnLogprob, r.TopLogprobs, r.LogprobStart = true, 2, 0
	list := read(t, submit(t, e, t.Context(), r))
	for i, ev := range list {
		if ev.Logprob > 0 || len(ev.Top) != 2 || ev.Top[0].Logprob < ev.Top[1].Logprob {
			t.Errorf("event %d: %+v", i, ev)
		}
		want := 0
		if i == 0 {
			want = len(r.Input)
		}
		if len(ev.Prompt) != want || len(ev.PromptTop) != want {
			t.Errorf("event %d: %d prompt logprobs, %d top lists, want %d", i, len(ev.Prompt), len(ev.PromptTop), want)
		}
	}
	for i, p := range list[0].Prompt {
		if p.ID != r.Input[i] || (i == 0) != (p.Logprob != p.Logprob) {
			t.Errorf("prompt logprob %d: %+v; only the first has none", i, p)
		}
	}
}

// cancelled checks that a cancelled request ends by itself and that the engine is then idle again.
func cancelled(t *testing.T, e server.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	ch := submit(t, e, ctx, request(60))
	<-ch
	cancel()
	read(t, ch)
	idle(t, e)
}

// idle waits until a flush reports an idle engine.
func idle(t *testing.T, e server.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.FlushCache(ctx); err != nil {
		t.Fatalf("the engine does not become idle: %v", err)
	}
}

// many checks that each of many concurrent requests receives all of its own events and no events of other requests.
// Some of the requests are cancelled.
func many(t *testing.T, e server.Engine) {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := request(1 + i)
			ch, err := e.Submit(ctx, r)
			if errors.Is(err, api.ErrQueueFull) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if i%4 == 3 {
				cancel()
			}
			n := 0
			for range ch {
				n++
			}
			if n != 1+i && i%4 != 3 {
				t.Errorf("request %d: %d events", i, n)
			}
		})
	}
	wg.Wait()
	idle(t, e)
}

// unread checks that a request whose channel nobody reads does not stop the other requests.
func unread(t *testing.T, e server.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	first := submit(t, e, ctx, request(60))
	if list := read(t, submit(t, e, t.Context(), request(60))); len(list) != 60 {
		t.Errorf("%d events", len(list))
	}
	cancel()
	read(t, first)
}

func flush(t *testing.T, e server.Engine) {
	idle(t, e)
	prompt := make([]int32, 60)
	for i := range prompt {
		prompt[i] = int32(i % 5)
	}
	r := request(1)
	r.Input = prompt
	read(t, submit(t, e, t.Context(), r))
	idle(t, e)
	again := *r
	if list := read(t, submit(t, e, t.Context(), &again)); list[0].Cached != 0 {
		t.Errorf("%d tokens cached after the flush", list[0].Cached)
	}
}

// profile checks that the engine returns the two errors that clients know, and that a window produces files.
func profile(t *testing.T, e server.Engine) {
	ctx := t.Context()
	if _, err := e.StopProfile(ctx); !errors.Is(err, api.ErrProfileIdle) {
		t.Errorf("stop while idle: %v", err)
	}
	p := api.ProfileRequest{ID: "1.5", OutputDir: filepath.Join(t.TempDir(), "new"), Activities: api.ActivityCPU | api.ActivityGPU}
	if err := e.StartProfile(ctx, p); err != nil {
		t.Fatal(err)
	}
	if err := e.StartProfile(ctx, p); !errors.Is(err, api.ErrProfileRunning) {
		t.Errorf("second start: %v", err)
	}
	read(t, submit(t, e, ctx, request(3)))
	res, err := e.StopProfile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if res.Dir != p.OutputDir || res.ID != p.ID || len(res.Files) == 0 {
		t.Errorf("got %+v", res)
	}
	for _, f := range res.Files {
		if _, err := os.Stat(filepath.Join(res.Dir, f)); err != nil {
			t.Error(err)
		}
	}
	if err := e.StartProfile(ctx, p); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a second window with the same name and directory: %v", err)
	}
	// An armed window can be stopped before it has opened.
	p.ID, p.StartStep = "1.6", 1<<40
	if err := e.StartProfile(ctx, p); err != nil {
		t.Fatal(err)
	}
	if _, err := e.StopProfile(ctx); err != nil {
		t.Errorf("stop while armed: %v", err)
	}
}

// text checks that decoding token by token gives the same text as decoding all tokens at once.
func text(t *testing.T, e server.Engine) {
	tok := e.Tokenizer()
	for _, s := range []string{"plain", "é日本 🙂", "a\n\n b", ""} {
		ids, err := tok.Encode(s, false)
		if err != nil {
			t.Fatal(err)
		}
		st, streamed := tok.Stream(true), ""
		for _, id := range ids {
			streamed += st.Push(id)
		}
		streamed += st.Flush()
		if whole := tok.Decode(ids, true); whole != s || streamed != s {
			t.Errorf("%q decodes to %q, in a stream to %q", s, whole, streamed)
		}
		var bytes []byte
		for _, id := range ids {
			bytes = append(bytes, tok.Bytes(id)...)
		}
		if string(bytes) != s {
			t.Errorf("%q: the tokens' bytes are %q", s, bytes)
		}
	}
}
