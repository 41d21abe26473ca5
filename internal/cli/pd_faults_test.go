package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// longAnswer is a request whose answer takes its time, and that nobody else makes.
func longAnswer(tag string, stream bool) string {
	return fmt.Sprintf(`{"text":%q,"sampling_params":{"temperature":0,"max_new_tokens":500,"ignore_eos":true},"stream":%v}`, tag+strings.Repeat(" word", 150), stream)
}

// under is a request under way.
type under struct {
	began <-chan struct{} // some tokens are there
	ended <-chan [2]any   // status, text
}

func (s *pdSystem) begin(body string) under {
	began, ended := make(chan struct{}), make(chan [2]any, 1)
	go func() {
		status, text := s.ask(body, func() { close(began) })
		ended <- [2]any{status, text}
	}()
	return under{began, ended}
}

// end waits for the request's end.
func (u under) end(t *testing.T) (status int, text string) {
	t.Helper()
	select {
	case r := <-u.ended:
		return r[0].(int), r[1].(string)
	case <-time.After(limit):
		t.Fatal("the request hangs")
		return 0, ""
	}
}

// TestPDFaults kills and stops workers and the router in the middle of things. The
// request in question ends as it should, in time; a load that goes on through the same
// router loses nothing, for what fails before its first byte is tried elsewhere; nobody
// holds memory for requests that are over; and who comes back is used again.
func TestPDFaults(t *testing.T) {
	t.Parallel()
	s := &pdSystem{t: t}
	for range 2 {
		s.prefill = append(s.prefill, startWorker(t, "--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "0"))
		s.decode = append(s.decode, startWorker(t, "--disaggregation-mode", "decode"))
	}
	flags := []string{"--policy", "round_robin", "--request-timeout-secs", "8", "--health-check-interval-secs", "1", "--health-check-timeout-secs", "1", "--health-failure-threshold", "2"}
	type place int
	const (
		transfer place = iota // keys and values are under way
		stream                // tokens are on their way to the client
	)
	const whole, broken = "[DONE]", "error"
	for _, c := range []struct {
		name   string
		when   place
		victim func() *worker
		stop   bool // it is stopped, not killed: it accepts and says nothing
		want   string
	}{
		{"kill prefill in mid-transfer", transfer, func() *worker { return s.prefill[0] }, false, whole},
		{"kill decode in mid-transfer", transfer, func() *worker { return s.decode[0] }, false, whole},
		{"kill prefill in mid-stream", stream, func() *worker { return s.prefill[0] }, false, whole},
		{"kill decode in mid-stream", stream, func() *worker { return s.decode[0] }, false, broken},
		{"stop prefill in mid-transfer", transfer, func() *worker { return s.prefill[0] }, true, whole},
		{"stop decode in mid-stream", stream, func() *worker { return s.decode[0] }, true, broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			ports, shut, open := map[int]string{}, make(<-chan struct{}), func() {}
			if c.when == transfer { // of the first prefill worker
				ports[0], shut, open = valve(t, s.prefill[0].port, 100_000)
			}
			s.route(ports, flags...)
			defer func() { s.router.kill() }()
			// Round robin: the first request goes to the first of each side.
			u := s.begin(longAnswer(c.name, true))
			select {
			case <-shut:
			case <-u.began:
				if c.when == transfer {
					t.Error("the transfer was not held up")
				}
			case <-time.After(limit):
				t.Fatal("never began")
			}
			stop := s.load(3, 12)
			victim := c.victim()
			began := time.Now()
			if c.stop {
				victim.cmd.Process.Signal(syscall.SIGSTOP)
			} else {
				victim.kill()
			}
			if !c.stop {
				open()
			}
			status, text := u.end(t)
			t.Logf("ended after %v", time.Since(began).Round(time.Millisecond))
			tail := text[max(0, len(text)-400):]
			if status != 200 || !strings.Contains(tail, c.want) || c.want == whole && (strings.Contains(tail, broken) || !strings.Contains(tail, `"completion_tokens":500`)) {
				t.Errorf("%d … %s, want %s", status, tail, c.want)
			}
			stop()
			open()
			s.free(victim)
			if c.stop {
				victim.cmd.Process.Signal(syscall.SIGCONT)
			} else {
				victim.again()
			}
			s.allUp()
			s.free()
		})
	}

	for _, when := range []place{transfer, stream} {
		t.Run([]string{"kill the router in mid-transfer", "kill the router in mid-stream"}[when], func(t *testing.T) {
			s.t = t
			ports, shut, open := map[int]string{}, make(<-chan struct{}), func() {}
			if when == transfer {
				ports[0], shut, open = valve(t, s.prefill[0].port, 100_000)
			}
			s.route(ports, flags...)
			u := s.begin(longAnswer(t.Name(), true))
			select {
			case <-shut:
			case <-u.began:
			case <-time.After(limit):
				t.Fatal("never began")
			}
			s.router.kill()
			open()
			if status, text := u.end(t); status != 0 || strings.Contains(text, whole) {
				t.Errorf("%d %.300s", status, text)
			}
			s.free()
			// Another router takes over.
			s.route(nil, flags...)
			defer func() { s.router.kill() }()
			if status, text := s.ask(fmt.Sprintf("{%s}", short), nil); status != 200 || !strings.Contains(text, `"completion_tokens":16`) {
				t.Errorf("%d %s", status, text)
			}
		})
	}
}

// TestPDFull: more requests than the workers may queue. Each ends, with its tokens or
// with 503 that says why, and the memory of all is free.
func TestPDFull(t *testing.T) {
	t.Parallel()
	s := &pdSystem{t: t}
	s.prefill = []*worker{startWorker(t, "--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "0")}
	s.decode = []*worker{startWorker(t, "--disaggregation-mode", "decode", "--max-total-tokens", "1024", "--max-queued-requests", "2", "--max-running-requests", "4")}
	s.route(nil)
	const n = 24
	type result struct {
		status int
		text   string
	}
	results := make(chan result, n)
	for i := range n {
		go func() {
			status, text := s.ask(fmt.Sprintf(`{"text":%q,"sampling_params":{"temperature":0,"max_new_tokens":100,"ignore_eos":true}}`, fmt.Sprint(i, strings.Repeat(" word", 60))), nil)
			results <- result{status, text}
		}()
	}
	count := map[int]int{}
	for range n {
		r := <-results
		count[r.status]++
		if (r.status != 200 || !strings.Contains(r.text, `"completion_tokens":100`)) && (r.status != 503 || !strings.Contains(r.text, "queue")) {
			t.Errorf("%d %s", r.status, r.text)
		}
	}
	if count[200] == 0 || count[503] == 0 {
		t.Errorf("the queue was not full, or nobody was served: %v", count)
	}
	s.free()
	if status, text := s.ask(fmt.Sprintf("{%s}", short), nil); status != 200 || !strings.Contains(text, `"completion_tokens":16`) {
		t.Errorf("%d %s", status, text)
	}
}
