package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// pdSystem is a router before prefill and decode workers, each a process of its own.
type pdSystem struct {
	t               *testing.T
	prefill, decode []*worker
	router          *worker
}

// startSystem starts n workers of each role and a router before them. ports are the
// bootstrap ports that the router is told, where they are not the workers' own.
func startSystem(t *testing.T, n int, ports map[int]string, flags ...string) *pdSystem {
	t.Helper()
	s := &pdSystem{t: t}
	for range n {
		s.prefill = append(s.prefill, startWorker(t, "--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "0"))
		s.decode = append(s.decode, startWorker(t, "--disaggregation-mode", "decode"))
	}
	s.route(ports, flags...)
	return s
}

// route starts a router before the workers.
func (s *pdSystem) route(ports map[int]string, flags ...string) {
	s.t.Helper()
	args := append([]string{"route", "--port", "0", "--pd-disaggregation"}, flags...)
	for i, w := range s.prefill {
		args = append(args, "--prefill", w.url)
		if ports[i] != "" {
			args = append(args, ports[i])
		}
	}
	for _, w := range s.decode {
		args = append(args, "--decode", w.url)
	}
	s.router = &worker{t: s.t, args: args}
	s.router.start()
	s.t.Cleanup(func() {
		s.router.kill()
		if s.t.Failed() {
			s.t.Logf("the router wrote:\n%s", &s.router.log)
		}
	})
	s.allUp()
}

// allUp waits until the router knows all workers.
func (s *pdSystem) allUp() {
	s.t.Helper()
	soon(s.t, "the router has all workers", func() bool {
		_, text := call(s.t, "GET", s.router.url+"/workers", "")
		return strings.Count(text, `"is_healthy":true`) == len(s.prefill)+len(s.decode)
	})
}

// free checks that no worker but those left out holds anything of any request.
func (s *pdSystem) free(but ...*worker) {
	s.t.Helper()
	for _, w := range slices.Concat(s.prefill, s.decode) {
		if !slices.Contains(but, w) {
			w.free()
		}
	}
}

// limit is what no request of these tests may reach.
const limit = 60 * time.Second

// ask is generate of the router, within the limit.
func (s *pdSystem) ask(body string, begun func()) (status int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return generate(ctx, s.router.url, body, begun)
}

// prompts are n of different lengths, as one or as a batch.
func prompts(n int) string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("%q", strings.Repeat("word ", 20+30*i)+"end"))
	}
	if n == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// TestPDSystem is a router before two prefill and two decode workers from a user's
// side: tokens, a load that profiles one side, and one window of all.
func TestPDSystem(t *testing.T) {
	t.Parallel()
	s := startSystem(t, 2, nil, "--policy", "round_robin")

	t.Run("tokens of one server", func(t *testing.T) {
		one := startWorker(t)
		for _, n := range []int{1, 8} {
			body := fmt.Sprintf(`{"text":%s,"sampling_params":{"temperature":0,"max_new_tokens":64,"ignore_eos":true}`, prompts(n))
			_, alone := call(t, "POST", one.url+"/generate", body+"}")
			want := outputIDs.FindAllString(alone, -1)
			for _, stream := range []bool{false, true} {
				status, got := s.ask(fmt.Sprintf(`%s,"stream":%v}`, body, stream), nil)
				have := outputIDs.FindAllString(got, -1)
				if stream { // each event has all tokens so far: the last of each prompt counts
					have = lastOfEach(got)
				}
				if status != 200 || len(want) != n || !slices.Equal(have, want) {
					t.Errorf("batch %d, stream %v: %d\none server %s\nrouter     %s", n, stream, status, want, have)
				}
			}
		}
	})

	for i, side := range [][]*worker{s.prefill, s.decode} {
		role, mode := []string{"prefill", "decode"}[i], []string{"EXTEND", "DECODE"}[i]
		t.Run("a load that profiles "+role, func(t *testing.T) {
			home := t.TempDir()
			args := []string{"bench", "serving", "--url", s.router.url, "--dataset-name", "random", "--random-input", "40", "--random-output", "16", "--random-range-ratio", "1",
				"--num-prompts", "240", "--max-concurrency", "4", "--disable-tqdm", "--output-file", filepath.Join(t.TempDir(), "out.jsonl"), "--run-dir", home, "--profile", "--pd-separated", "--profile-num-steps", "3", "--profile-output-dir", t.TempDir()}
			for _, w := range side {
				args = append(args, "--profile-"+role+"-url", w.url)
			}
			status, out, errs := run(t, t.Context(), args...)
			if status != exitOK || !strings.Contains(out, "Successful requests:                     240") {
				t.Fatalf("status %d:\n%s%s", status, errs, out)
			}
			status, out, errs = run(t, t.Context(), "analyze", "last", "--run-dir", home, "--json")
			var got struct {
				Servers []struct {
					Role, URL string
					Report    result.Report
				}
				PD *result.PD
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != exitOK || len(got.Servers) != 2 || got.PD != nil {
				t.Fatalf("status %d, %v, %d servers:\n%s", status, err, len(got.Servers), errs)
			}
			for i, server := range got.Servers {
				modes := map[string]int{}
				for _, step := range server.Report.Steps {
					modes[step.Mode]++
				}
				if server.Role != role || server.URL != side[i].url || !maps.Equal(modes, map[string]int{mode: 3}) {
					t.Errorf("%s %s has the steps %v, want %s %s with 3 %s", server.Role, server.URL, modes, role, side[i].url, mode)
				}
			}
		})
	}

	t.Run("one window of all", func(t *testing.T) {
		home, dir := t.TempDir(), t.TempDir()
		page := filepath.Join(dir, "all.html")
		var traces string
		var got profiled
		stop := s.load(8, 12)
		longer(t, func(d string) bool {
			traces = t.TempDir()
			status, out, errs := run(t, t.Context(), "profile", "--url", s.router.url, "--duration", d, "--output-dir", traces, "--run-dir", home, "--html", page, "--json")
			got = profiled{}
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != exitOK || len(got.Servers) != 4 || len(got.Reports) != 4 {
				t.Fatalf("status %d, %v:\n%s", status, err, errs)
			}
			return got.PD != nil && got.seen(got.PD.Prefill) && got.seen(got.PD.Decode) && got.PD.Transfer.Took.N > 0 && got.PD.Transfer.Joined.N > 0 && got.PD.Transfer.Exposed.N > 0
		})
		stop()
		for i, r := range got.Servers {
			if want := []string{"prefill", "prefill", "decode", "decode"}[i]; r.Role != want || len(r.Traces) != 1 || got.Reports[i] == nil {
				t.Errorf("server %d: %+v, want the trace of a %s server", i, r, want)
			}
		}
		for _, side := range []result.PDSide{got.PD.Prefill, got.PD.Decode} {
			if len(side.Servers) != 2 || side.Busy <= 0 || side.Busy > side.Stepping || side.Stepping > 1 || side.TokensPerS <= 0 || side.Queue.Samples == 0 {
				t.Errorf("a side: %+v", side)
			}
			for _, server := range side.Servers {
				if server.OtherSteps != 0 || server.Steps == 0 {
					t.Errorf("%s: %d steps, %d of them of the other side's kind", server.Name, server.Steps, server.OtherSteps)
				}
			}
		}
		x := &got.PD.Transfer
		if x.Whole == 0 || x.By != "rooms" || x.Copies%x.Whole != 0 || x.Bytes == 0 || x.GBs <= 0 || x.Took.N == 0 || x.Took.Median <= 0 || x.Exposed.N == 0 || x.Exposed.Max > x.Took.Max || x.Joined.N == 0 || x.ShiftNS != 0 {
			t.Errorf("transfers: %+v", x)
		}
		if len(got.PD.Findings) != 1 || got.PD.Limit == "" {
			t.Errorf("findings: %+v", got.PD.Findings)
		}
		pages := glob(t, dir, "all*.html")
		if page, err := os.ReadFile(page); err != nil || len(pages) != 5 || strings.Count(string(page), `<a href="all-`) != 4 || !strings.Contains(string(page), "KV transfer") {
			t.Errorf("%v, pages %q", err, pages)
		}
		// The same of the kept run, and of the directory.
		dirs := glob(t, traces, "*")
		for _, what := range []string{"last", dirs[0]} {
			status, out, errs := run(t, t.Context(), "analyze", what, "--run-dir", home)
			if n := len(regexp.MustCompile(`(?m)^(prefill|decode) `).FindAllString(out, -1)); status != exitOK || n < 4 || strings.Count(out, "Prefill-decode disaggregation\n") != 1 || !strings.Contains(out, got.PD.Findings[0].Title.Text[:20]) {
				t.Errorf("analyze %s: status %d, %d titles\n%s\n%s", filepath.Base(what), status, n, errs, out)
			}
		}
	})

	// The prefill server makes the only token: decode servers have no steps, which is
	// what the system was like, and no reason to say nothing of it.
	t.Run("nothing to decode", func(t *testing.T) {
		var dir string
		var got profiled
		var least time.Duration
		stop := s.load(8, 1)
		longer(t, func(d string) bool {
			dir = t.TempDir()
			least, _ = time.ParseDuration(d)
			status, out, errs := run(t, t.Context(), "profile", "--url", s.router.url, "--duration", d, "-o", dir, "--run-dir", t.TempDir(), "--json")
			got = profiled{}
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("status %d, %v:\n%s", status, err, errs)
			}
			return got.PD != nil && got.PD.Prefill.Steps > 0 && got.PD.Decode.Queue.Samples > 0
		})
		stop()
		d := &got.PD.Decode
		if got.PD.Prefill.Steps == 0 || d.Steps != 0 || d.Stepping != 0 || len(d.Servers) != 2 || got.PD.Limit == result.LimitDecode {
			t.Errorf("limit %s, prefill %+v, decode %+v", got.PD.Limit, got.PD.Prefill, d)
		}
		for _, server := range d.Servers {
			if server.Ranks != 1 || server.WindowNS < least.Nanoseconds() {
				t.Errorf("%+v", server)
			}
		}
		// What was said of the queues is broken: the traces are explained without it.
		queues := glob(t, dir, "decode*", "loads.json")
		if err := os.WriteFile(queues[0], []byte("[{"), 0o666); err != nil {
			t.Fatal(err)
		}
		status, out, errs := run(t, t.Context(), "analyze", dir)
		if status != exitIncomplete || !strings.Contains(errs, "loads.json: unexpected end of JSON input: it is left out") || !strings.Contains(out, "Prefill-decode disaggregation\n") {
			t.Errorf("status %d\n%s\n%s", status, errs, out)
		}
	})
	s.free()
}

// profiled is what profile --json says.
type profiled struct {
	Servers []struct {
		Role   string
		Traces []string
	}
	Reports []*result.Report
	PD      *result.PD
}

// seen tells whether each server of a side made steps, and said who waits.
func (*profiled) seen(side result.PDSide) bool {
	return side.Queue.Samples > 0 && !slices.ContainsFunc(side.Servers, func(s result.PDServer) bool { return s.Steps == 0 })
}

// longer tries windows of growing length: how much a machine that is busy otherwise does
// in one is not known. What is still missing of the longest the test will say.
func longer(t *testing.T, enough func(duration string) bool) {
	t.Helper()
	for _, d := range []string{"500ms", "1s", "3s", "9s"} {
		if enough(d) {
			return
		}
		t.Logf("a window of %s is too short here", d)
	}
}

// load sends so many requests at a time, each for so many tokens, until stop.
func (s *pdSystem) load(n, tokens int) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				default:
				}
				body := fmt.Sprintf(`{"text":%q,"sampling_params":{"temperature":0,"max_new_tokens":%d,"ignore_eos":true}}`, fmt.Sprint(i, k)+strings.Repeat(" word", 40), tokens)
				if status, text := s.ask(body, nil); status != 200 || !strings.Contains(text, fmt.Sprintf(`"completion_tokens":%d`, tokens)) {
					s.t.Errorf("a request of the load: %d %s", status, text)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() { close(done); wg.Wait() })
}

// lastOfEach are the last output_ids of each prompt in a stream.
func lastOfEach(stream string) (out []string) {
	last := map[int]string{}
	for line := range strings.Lines(stream) {
		var e struct {
			Index int `json:"index"`
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(text), &e) == nil {
			last[e.Index] = outputIDs.FindString(text)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(last)) {
		out = append(out, last[i])
	}
	return out
}
