package server

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
)

// BatchLog writes SGLang's batch lines. Each scheduler has one line for every prefill batch and one line for every
// Interval-th decode batch. A throughput is the number of tokens since the scheduler's previous line of the same kind,
// divided by the time since that line. As in SGLang, the first throughput after a pause is therefore too low.
//
// BatchLog writes on a separate goroutine, so that a slow terminal cannot delay a forward step. If the goroutine falls
// behind, lines are dropped and counted.
type BatchLog struct {
	interval int
	iters    bool
	lines    chan []byte
	done     chan struct{}

	mu      sync.Mutex
	ranks   map[string]*rankLog
	dropped int
	closed  bool
}

type rankLog struct {
	prefill, decode time.Time // time of the last line of each kind
	decodes         int       // steps since the last line
	tokens          int       // generated since the last line
}

// NewBatchLog returns a log that writes to w. interval is in decode steps; 0 means 40. If iters is set, each line
// contains the forward count (SGLANG_LOG_FORWARD_ITERS).
func NewBatchLog(w io.Writer, interval int, iters bool) *BatchLog {
	if interval <= 0 {
		interval = 40
	}
	l := &BatchLog{interval: interval, iters: iters, lines: make(chan []byte, 256), done: make(chan struct{}), ranks: map[string]*rankLog{}}
	go func() {
		defer close(l.done)
		for line := range l.lines {
			w.Write(line) // write errors of the log cannot be reported
		}
	}()
	return l
}

// Close writes the remaining lines.
func (l *BatchLog) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	<-l.done
}

// Add adds one step. It never waits for the writer.
func (l *BatchLog) Add(st api.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	r := l.ranks[st.Ranks]
	if r == nil {
		r = &rankLog{prefill: st.Time, decode: st.Time}
		l.ranks[st.Ranks] = r
	}
	var line []byte
	if st.Prefill {
		line = l.prefill(r, &st)
	} else {
		r.decodes++
		r.tokens += st.NewTokens
		if r.decodes < l.interval {
			return
		}
		line = l.decode(r, &st)
	}
	if l.dropped > 0 {
		line = fmt.Appendf(line, "%s%d batch lines omitted: the log is written too slowly\n", head(&st), l.dropped)
	}
	select {
	case l.lines <- line:
		l.dropped = 0
	default:
		l.dropped++
	}
}

func head(st *api.Step) string {
	return "[" + st.Time.Format(time.DateTime) + st.Ranks + "] "
}

func (l *BatchLog) iter(st *api.Step) string {
	if !l.iters {
		return ""
	}
	return fmt.Sprintf(" [%d]", st.ForwardCt)
}

func (l *BatchLog) prefill(r *rankLog, st *api.Step) []byte {
	rate := perSecond(st.NewTokens, st.Time.Sub(r.prefill))
	r.prefill = st.Time
	return fmt.Appendf(nil, "%sPrefill batch%s, #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, #queue-req: %d, #pending-token: %d, %scuda graph: %s, input throughput (token/s): %.2f\n",
		head(st), l.iter(st), st.NewSeqs, st.NewTokens, st.CachedTokens, st.Usage, st.Running, st.Queued, st.PendingTokens, disagg(st), pyBool(st.Graph), rate)
}

func (l *BatchLog) decode(r *rankLog, st *api.Step) []byte {
	rate := perSecond(r.tokens, st.Time.Sub(r.decode))
	r.decode, r.decodes, r.tokens = st.Time, 0, 0
	return fmt.Appendf(nil, "%sDecode batch%s, #running-req: %d, #token: %d, token usage: %.2f, %scuda graph: %s, gen throughput (token/s): %.2f, #queue-req: %d\n",
		head(st), l.iter(st), st.Running, st.UsedTokens, st.Usage, disagg(st), pyBool(st.Graph), rate, st.Queued)
}

// disagg returns the additional fields that prefill and decode servers print in their log lines.
func disagg(st *api.Step) string {
	switch st.Role {
	case api.Prefill:
		return fmt.Sprintf("#bootstrap-req: %d, #inflight-req: %d, ", st.Bootstrap, st.Inflight)
	case api.Decode:
		return fmt.Sprintf("pre-allocated usage: %.2f, #prealloc-req: %d, #transfer-req: %d, #retracted-req: %d, ", st.Preallocated, st.Prealloc, st.Transfer, st.SetAside)
	}
	return ""
}

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
