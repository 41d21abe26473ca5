package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/server"
	"github.com/stepscope/stepscope/internal/server/fakeengine"
	"github.com/stepscope/stepscope/internal/wire"
)

// TestLoad keeps 512 clients busy for some seconds: most read their stream, some
// leave in the middle, some read slowly, some send nonsense. Each well-formed
// request must end with all its tokens, with a refusal, or by its own client; and
// afterwards nothing is left in the engine and no goroutine.
func TestLoad(t *testing.T) {
	const clients = 512
	lasts := 3 * time.Second
	if testing.Short() {
		lasts = 500 * time.Millisecond
	}
	before := runtime.NumGoroutine()
	e := fakeengine.New(fakeengine.Options{Pace: time.Millisecond, MaxRunning: 256, MaxQueue: 200})
	url, stop, served := serve(t, e, server.Options{NewID: newTestID(), StreamBuffer: 512})
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport}

	var whole, refused, left, bad atomic.Int64
	over := time.Now().Add(lasts)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for time.Now().Before(over) {
				n := 1 + rnd.IntN(60)
				path, body := "/generate", fmt.Sprintf(`{"text":"client %d","stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`, i, n)
				switch rnd.IntN(4) {
				case 0:
					path, body = "/v1/completions", fmt.Sprintf(`{"prompt":"client %d","stream":true,"max_tokens":%d,"ignore_eos":true}`, i, n)
				case 1:
					path = "/v1/chat/completions"
					body = fmt.Sprintf(`{"messages":[{"role":"user","content":"client %d"}],"stream":true,"max_tokens":%d,"ignore_eos":true}`, i, n)
				}
				kind := rnd.IntN(10)
				if kind == 0 {
					body = body[:rnd.IntN(len(body))]
				}
				ctx, cancel := context.WithCancel(context.Background())
				if kind == 1 { // leaves, perhaps before the reply
					time.AfterFunc(time.Duration(rnd.IntN(40))*time.Millisecond, cancel)
				}
				req, err := http.NewRequestWithContext(ctx, "POST", url+path, strings.NewReader(body))
				if err != nil {
					t.Error(err)
				}
				res, err := client.Do(req)
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("client %d: %v", i, err)
					}
					left.Add(1)
					cancel()
					continue
				}
				switch {
				case kind == 0:
					bad.Add(1)
					if res.StatusCode != 400 {
						t.Errorf("%s %s: status %d", path, body, res.StatusCode)
					}
				case res.StatusCode == 503:
					refused.Add(1)
					time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
				case res.StatusCode != 200:
					t.Errorf("%s %s: status %d", path, body, res.StatusCode)
				default:
					var r io.Reader = res.Body
					if kind == 2 {
						r = &lazy{r: res.Body, rnd: rnd}
					}
					err := readAll(r, path, n)
					switch {
					case err == nil:
						whole.Add(1)
					case ctx.Err() != nil:
						left.Add(1)
					default:
						t.Errorf("client %d, %s of %d tokens: %v", i, path, n, err)
					}
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
				cancel()
			}
		})
	}
	wg.Wait()
	t.Logf("%d whole, %d refused, %d left, %d malformed", whole.Load(), refused.Load(), left.Load(), bad.Load())
	if whole.Load() < clients/2 || left.Load() == 0 || bad.Load() == 0 {
		t.Error("too few of a kind to say anything")
	}
	eventually(t, "the engine is empty", func() bool { return e.Busy() == 0 })
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	e.Close()
	transport.CloseIdleConnections()
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// lazy reads in small pieces with pauses.
type lazy struct {
	r   io.Reader
	rnd *rand.Rand
}

func (l *lazy) Read(p []byte) (int, error) {
	time.Sleep(time.Duration(l.rnd.IntN(3)) * time.Millisecond)
	return l.r.Read(p[:min(len(p), 512)])
}

// readAll reads a stream to its end and checks that all n tokens came.
func readAll(r io.Reader, path string, n int) error {
	er := wire.NewEventReader(bufio.NewReader(r), 1<<20)
	var last string
	for {
		data, err := er.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		last = string(data)
	}
	want := `"finish_reason":"length"`
	if path == "/generate" {
		want = fmt.Sprintf(`"finish_reason":{"type":"length","length":%d}`, n)
	}
	if !strings.Contains(last, want) {
		return fmt.Errorf("ends with %s", last)
	}
	return nil
}
