package launch_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How a request ended.
const (
	kindWhole     = "answered completely"
	kindRefused   = "refused: 503"
	kindLeft      = "abandoned by its client"
	kindAborted   = "ended by /abort_request"
	kindMalformed = "malformed JSON: 400"
	kindTooLong   = "does not fit the context: 400"
	kindTooLarge  = "body too large: 413"
	kindHalf      = "half a body"
	kindScrape    = "scrapes"
	kindProfile   = "profiles"
)

// prompt holds everything that determines the answer.
type prompt struct {
	text string
	chat bool
	seed int64 // 0: greedy
}

// longest is the most tokens that clients who stay ask for.
const longest = 48

// tooMany is the number that others ask for: if it were computed after they leave, the test would wait for it in vain.
func (s *site) tooMany() int { return s.engine.Capacity() / 8 }

// texts of prompts: many share a prefix, some of several cache blocks, and the longest are split into chunks.
var texts = func() (out []string) {
	tale := strings.Repeat("The step before was long, the step behind it longer. ", 6)
	for i := range 12 {
		out = append(out, fmt.Sprintf("%sPart %d:", tale[:i*25], i))
	}
	return out
}()

// learn requests the longest answer to each prompt, one at a time.
func (s *site) learn() {
	s.t.Helper()
	for _, text := range texts {
		for _, chat := range []bool{false, true} {
			var tokens struct{ Tokens []int32 }
			req := map[string]any{"prompt": text}
			if chat {
				req = map[string]any{"messages": messages(text)}
			}
			s.call("/tokenize", req, &tokens)
			for _, seed := range []int64{0, 7} {
				var a generated
				s.call("/generate", map[string]any{"input_ids": tokens.Tokens, "sampling_params": sampling(seed, "max_new_tokens", longest)}, &a)
				s.want[prompt{text, chat, seed}] = a.OutputIDs
			}
		}
	}
}

func messages(text string) []map[string]string {
	return []map[string]string{{"role": "user", "content": text}}
}

func sampling(seed int64, limit string, n int) map[string]any {
	p := map[string]any{limit: n, "ignore_eos": true, "temperature": 0}
	if seed != 0 {
		p["temperature"], p["seed"], p["sampling_seed"] = 1, seed, seed
	}
	return p
}

// call makes a request that must succeed.
func (s *site) call(path string, req, reply any) {
	s.t.Helper()
	body, err := json.Marshal(req)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.client.Post("http://"+s.addr+path, "application/json", strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		s.t.Fatalf("%s: %d %s, %v", path, res.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, reply); err != nil {
		s.t.Fatal(err)
	}
}

// visit makes one request of a random kind and returns how it ended.
func (s *site) visit(rnd *rand.Rand) (string, error) {
	a := s.newAsk(rnd)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	switch n := rnd.IntN(40); {
	case n < 2:
		return kindMalformed, s.expect(ctx, a.path, a.body()[:rnd.IntN(len(a.body()))], 400)
	case n < 4:
		a.n, a.prompts = 9000, a.prompts[:1]
		return kindTooLong, s.expect(ctx, a.path, a.body(), 400)
	case n < 5:
		return kindTooLarge, s.tooLarge(a, rnd)
	case n < 6:
		return kindHalf, s.half(a, rnd)
	case n < 10: // leaves, perhaps before the reply
		a.n = s.tooMany()
		time.AfterFunc(time.Duration(rnd.IntN(300))*time.Millisecond, cancel)
		return s.ask(ctx, a, nil)
	case n < 11:
		a.logprobs = true
		return s.ask(ctx, a, nil)
	case n < 14: // leaves in the middle
		a.n, a.stream = s.tooMany(), true
		return s.ask(ctx, a, &reader{pause: pauses(rnd, 2), left: rnd.IntN(4000), leave: cancel})
	case n < 17: // reads for a while, then waits and leaves
		a.n, a.stream = s.tooMany(), true
		return s.ask(ctx, a, &reader{left: rnd.IntN(1000), leave: func() {
			time.Sleep(pauses(rnd, 500)())
			cancel()
		}})
	case n < 22: // slow
		return s.ask(ctx, a, &reader{pause: pauses(rnd, 3), left: 1 << 30})
	case n < 26:
		aborted := make(chan error)
		time.AfterFunc(time.Duration(rnd.IntN(300))*time.Millisecond, func() {
			aborted <- s.expect(context.Background(), "/abort_request", fmt.Sprintf(`{"rid":%q}`, a.rid), 200)
		})
		kind, err := s.ask(ctx, a, nil)
		return kind, errors.Join(err, <-aborted)
	default:
		return s.ask(ctx, a, nil)
	}
}

// pauses returns a random pause of up to the given ms at each call.
func pauses(rnd *rand.Rand, most int) func() time.Duration {
	return func() time.Duration { return time.Duration(rnd.IntN(most*1000)) * time.Microsecond }
}

// reader reads a little at a time with pauses, and leaves when it has read enough.
type reader struct {
	r     io.Reader
	pause func() time.Duration
	left  int
	leave func()
}

func (l *reader) Read(p []byte) (int, error) {
	if l.pause != nil {
		time.Sleep(l.pause())
	}
	if l.left <= 0 {
		l.leave()
	}
	n, err := l.r.Read(p[:min(len(p), 512)])
	l.left -= n
	return n, err
}

// ask makes a request and reads the answer, through r if it is not nil.
func (s *site) ask(ctx context.Context, a *ask, r *reader) (string, error) {
	res, err := s.post(ctx, a.path, a.body())
	if err != nil {
		return gone(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable {
		if res.Header.Get("Retry-After") == "" {
			return kindRefused, errors.New("503 without Retry-After")
		}
		time.Sleep(20 * time.Millisecond)
		return kindRefused, nil
	}
	var body io.Reader = res.Body
	if r != nil {
		r.r = res.Body
		body = r
	}
	if res.StatusCode != 200 {
		text, _ := io.ReadAll(body)
		return "", fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	got, err := a.read(bufio.NewReader(body))
	if err != nil {
		return gone(ctx, err)
	}
	return got.judge(s, a)
}

// gone is a request whose client left; otherwise err is returned unchanged.
func gone(ctx context.Context, err error) (string, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return kindLeft, nil
	}
	return "", err
}

func (s *site) post(ctx context.Context, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return s.client.Do(req)
}

// expect makes a request whose reply must have the status.
func (s *site) expect(ctx context.Context, path, body string, status int) error {
	res, err := s.post(ctx, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != status {
		err = fmt.Errorf("status %d, want %d: %s", res.StatusCode, status, text)
	}
	return err
}

// tooLarge sends more than the server accepts, with and without announcing the length.
func (s *site) tooLarge(a *ask, rnd *rand.Rand) error {
	body := strings.Repeat(" ", maxBody+1+rnd.IntN(maxBody))
	head := fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	if rnd.IntN(2) == 0 {
		head = "Transfer-Encoding: chunked\r\n\r\n"
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	return s.raw(a.path, head+body, 0, 413)
}

// half sends part of a body and leaves, or waits until the server gives up.
func (s *site) half(a *ask, rnd *rand.Rand) error {
	body := a.body()
	text := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body[:rnd.IntN(len(body))])
	if rnd.IntN(2) == 0 {
		return s.raw(a.path, text, pauses(rnd, 100)(), 0)
	}
	return s.raw(a.path, text, 0, 400)
}

// raw sends a request on a connection of its own. It waits for the given time and leaves, or reads the reply, which
// must have the status.
func (s *site) raw(path, rest string, stay time.Duration, status int) error {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	// The server may answer before it has read everything.
	io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+rest)
	if status == 0 {
		time.Sleep(stay)
		return nil
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if res.StatusCode != status || !res.Close {
		err = fmt.Errorf("status %d, want %d, and the connection to be closed: %s", res.StatusCode, status, text)
	}
	return err
}

// scrape reads every route that can be scraped.
func (s *site) scrape() {
	for path, has := range map[string]string{
		"/metrics": "sglang:num_running_reqs{", "/v1/loads": `"num_used_tokens":`, "/server_info": `"last_gen_throughput":`, "/health": "",
	} {
		res, err := s.client.Get("http://" + s.addr + path)
		if err != nil {
			s.t.Error(err)
			return
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(text), has) {
			s.t.Errorf("%s: %d, %v: %s", path, res.StatusCode, err, text)
		}
	}
	s.count(kindScrape)
	time.Sleep(10 * time.Millisecond)
}

// profile opens a window and closes it; every other window ends by itself, before or after.
func (s *site) profile(i int) {
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		s.t.Error(err)
		return
	}
	req := map[string]any{"output_dir": dir, "merge_profiles": i%4 == 0}
	if i%2 == 1 {
		req["num_steps"] = 5
	}
	body, _ := json.Marshal(req)
	ctx := context.Background()
	if err := s.expect(ctx, "/start_profile", string(body), 200); err != nil {
		s.t.Error("start_profile: ", err)
	}
	time.Sleep(100 * time.Millisecond)
	res, err := s.post(ctx, "/stop_profile", "")
	if err != nil {
		s.t.Error(err)
		return
	}
	res.Body.Close()
	if res.StatusCode != 200 && (i%2 == 0 || res.StatusCode != http.StatusConflict) {
		s.t.Errorf("stop_profile: %d", res.StatusCode)
	}
	if res.StatusCode == 200 { // the files exist
		list, _ := filepath.Glob(filepath.Join(dir, "*-TP-*.trace.json.gz"))
		info := s.engine.Info()
		if ranks := info.TP * info.DP; len(list) != ranks {
			s.t.Errorf("window %d left %q, want the traces of %d ranks", i, list, ranks)
		}
		os.RemoveAll(dir)
	}
	s.count(kindProfile)
}
