package server

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
)

func TestBatchLog(t *testing.T) {
	var out bytes.Buffer
	l := NewBatchLog(&out, 2, false)
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	l.Add(api.Step{Time: at, Prefill: true, NewSeqs: 1, NewTokens: 10, Queued: 2})
	l.Add(api.Step{Time: at.Add(time.Second), Prefill: true, NewSeqs: 2, NewTokens: 10, CachedTokens: 4, Usage: .256, Running: 1, PendingTokens: 7})
	l.Add(api.Step{Time: at.Add(2 * time.Second), NewTokens: 3, Running: 3})
	l.Add(api.Step{Time: at.Add(2 * time.Second), NewTokens: 8, Ranks: " DP1 TP0"}) // counted separately
	l.Add(api.Step{Time: at.Add(4 * time.Second), NewTokens: 3, Running: 3, UsedTokens: 50, Graph: true})
	l.Close()
	l.Add(api.Step{}) // too late, no panic
	want := `[2026-03-04 05:06:07] Prefill batch, #new-seq: 1, #new-token: 10, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 2, #pending-token: 0, cuda graph: False, input throughput (token/s): 0.00
[2026-03-04 05:06:08] Prefill batch, #new-seq: 2, #new-token: 10, #cached-token: 4, token usage: 0.26, #running-req: 1, #queue-req: 0, #pending-token: 7, cuda graph: False, input throughput (token/s): 10.00
[2026-03-04 05:06:11] Decode batch, #running-req: 3, #token: 50, token usage: 0.00, cuda graph: True, gen throughput (token/s): 1.50, #queue-req: 0
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestBatchLogIterations(t *testing.T) {
	var out bytes.Buffer
	l := NewBatchLog(&out, 1, true)
	l.Add(api.Step{Ranks: " DP0 TP1", ForwardCt: 42})
	l.Close()
	if got := out.String(); !strings.Contains(got, " DP0 TP1] Decode batch [42], #running-req: 0") {
		t.Errorf("got %q", got)
	}
}

// stuck is a writer that does not return until it is released.
type stuck struct {
	release chan struct{}
	bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(p)
}

// TestBatchLogNeverWaits adds more lines than a stuck writer accepts.
func TestBatchLogNeverWaits(t *testing.T) {
	w := &stuck{release: make(chan struct{})}
	l := NewBatchLog(w, 1, false)
	for i := range 400 { // a wait would hang here
		l.Add(api.Step{ForwardCt: int64(i)})
	}
	close(w.release)
	for l.depth() > 0 {
		time.Sleep(time.Millisecond)
	}
	l.Add(api.Step{})
	l.Close()
	lines := strings.Count(w.String(), "Decode batch")
	out := 0 // over all notes: there is one for each time the writer caught up
	for _, note := range regexp.MustCompile(`(\d+) batch lines omitted`).FindAllStringSubmatch(w.String(), -1) {
		n, _ := strconv.Atoi(note[1])
		out += n
	}
	if lines >= 400 || lines+out != 401 {
		t.Errorf("%d lines written and %d reported as omitted, of 401:\n%s", lines, out, w.String()[max(0, w.Len()-300):])
	}
}

func (l *BatchLog) depth() int { return len(l.lines) }
