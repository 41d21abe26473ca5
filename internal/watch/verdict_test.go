package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// TestNext checks that a verdict ends with a recommended action, unless its cause is unknown.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		v    Verdict
		says string
	}{
		{Verdict{Kind: MoreWork, Rank: "DP01"}, "find out which requests go to DP01, and why"},
		{Verdict{Kind: Slower, Rank: "DP01", Cause: result.CauseDevice}, "on the host of DP01: nvidia-smi -q"},
		{Verdict{Kind: Slower, Rank: "DP01", Cause: result.CauseDevice, Replica: &result.Replica{Held: &result.Held{Kernels: 9}}}, "on the host of DP01: nvidia-smi pmon"},
		{Verdict{Kind: Slower, Rank: "DP01", Cause: result.CauseHost}, "find out what else runs on the cores of DP01"},
		{Verdict{Kind: Overload}, "more replicas"},
		{Verdict{Kind: Unclear}, ""},
		{Verdict{Kind: Stalled, Rank: "a", Stalls: &Stalls{N: 12, Length: 0.06, Every: 0.1}}, "ps shows state T while it is stopped"},
	} {
		c.v.next()
		says := strings.Join(c.v.Next, "; ")
		if c.says == "" && says != "" || !strings.Contains(says, c.says) {
			t.Errorf("%s of %s: %q", c.v.Kind, c.v.Cause, says)
		}
		if lines := strings.Join(c.v.lines("dir"), "\n"); says != "" && !strings.Contains(lines, "→ "+c.v.Next[0]) {
			t.Errorf("not printed: %s", lines)
		}
	}
}

// seenOf returns samples of half a minute, the last ten seconds of them since the change, with the signals of rank 1
// and of the three others.
func seenOf(running, queued, tokens, runningOthers, queuedOthers, tokensOthers float64) (past []*signals.Live, since, until time.Time) {
	begin := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	since, until = begin.Add(20*time.Second), begin.Add(30*time.Second)
	for s := range 31 {
		l := &signals.Live{At: begin.Add(time.Duration(s) * time.Second)}
		for dp := range 4 {
			f := signals.Flow{DP: dp, Running: 8, Queued: 0, Tokens: 100, Context: signals.Unknown, Step: signals.Unknown}
			if s >= 20 {
				f.Running, f.Queued, f.Tokens = runningOthers, queuedOthers, tokensOthers
				if dp == 1 {
					f.Running, f.Queued, f.Tokens = running, queued, tokens
				}
			}
			f.Load, f.Pace = f.Running+f.Queued, f.Running/f.Tokens
			l.Tokens += f.Tokens
			l.Ranks = append(l.Ranks, f)
		}
		past = append(past, l)
	}
	return past, since, until
}

// TestVerdict checks verdicts from signals and window together.
func TestVerdict(t *testing.T) {
	side := func(batch float64, period int64) result.ReplicaSide {
		return result.ReplicaSide{Steps: 8, Batch: batch, Tokens: -1, Period: period, Device: period, Kernels: 20}
	}
	busy := &result.Replica{Name: "DP01", Kind: "decode", This: side(32, 1200), Others: side(8, 1000), Cause: result.CauseLoad}
	piled := &result.Replica{Name: "DP01", Kind: "decode", This: side(16, 2000), Others: side(8, 1000), Cause: result.CauseLoad, Like: 3, LikeKinds: 9}
	// Kernels that keep their grid may take twice as long for twice the requests.
	asMuch := &result.Replica{Name: "DP01", Kind: "decode", This: side(16, 2000), Others: side(8, 1000), Cause: result.CauseLoad, Like: 2, LikeKinds: 9}
	slow := &result.Replica{Name: "DP01", Kind: "decode", This: side(8, 2000), Others: side(8, 1000), Cause: result.CauseDevice, Like: 2, LikeKinds: 9}
	attention := &result.Report{Findings: []result.Finding{
		{Kind: result.Straggler, Severity: "info", Names: []string{"TP00-DP00"}, Cause: result.CauseHost},
		{Kind: result.UnevenAttention, Severity: "high", Names: []string{"TP01-DP01"}, Cause: result.CauseWork, Reason: "contexts"},
	}}
	other := &result.Report{Findings: []result.Finding{{Kind: result.Straggler, Severity: "high", Names: []string{"TP00-DP00"}, Cause: result.CauseHost}}}
	for _, c := range []struct {
		name    string
		who     int
		rule    string
		seen    [6]float64 // in the order of seenOf
		replica *result.Replica
		report  *result.Report
		kind    string
		rank    string
		cause   string
		says    string
	}{
		{"a busy rank", 1, detect.UnevenLoad, [6]float64{32, 0, 380, 8, 0, 100}, busy, nil, MoreWork, "DP01", "load", "has 4.0 times as many requests per step as the others; its steps take 1.2 times as long"},
		{"requests accumulate in a slow rank, whose steps have more of them", 1, detect.UnevenLoad, [6]float64{16, 0, 100, 8, 0, 100}, piled, nil, Slower, "DP01", "device", "the same kernels take longer on its device"},
		{"the same, with kernels longer in proportion to the requests", 1, detect.UnevenLoad, [6]float64{16, 0, 100, 8, 0, 100}, asMuch, nil, Slower, "DP01", "unknown", "cause unknown"},
		{"a slow rank", 1, detect.UnevenPace, [6]float64{8, 0, 50, 8, 0, 100}, slow, nil, Slower, "DP01", "device", "the same kernels take longer on its device"},
		{"a busy rank, by its signals", 1, detect.UnevenLoad, [6]float64{32, 0, 380, 8, 0, 100}, nil, nil, MoreWork, "DP01", "load", "has 4.0 times as many requests as the others (from its signals alone"},
		{"a slow rank, by its signals", 1, detect.UnevenLoad, [6]float64{16, 0, 100, 8, 0, 100}, nil, nil, Slower, "DP01", "unknown", "cause unknown (from its signals alone"},
		{"a fully loaded rank", 1, detect.UnevenLoad, [6]float64{8, 30, 100, 8, 0, 100}, nil, nil, MoreWork, "DP01", "load", "has 30 queued requests (others: 0) and runs as many as the others"},
		{"all ranks fully loaded", -1, detect.GrowingQueue, [6]float64{8, 30, 100, 8, 30, 100}, nil, nil, Overload, "", "", "requests arrive faster than the server serves them"},
		{"queues on a server with half the tokens", -1, detect.GrowingQueue, [6]float64{8, 30, 50, 8, 30, 50}, nil, nil, Unclear, "", "", "no finding explains it"},
		{"ranks wait for each other's attention", -1, detect.SlowTokens, [6]float64{8, 0, 90, 8, 0, 90}, nil, attention, MoreWork, "TP01-DP01", "contexts", "has more work per step than the others: contexts"},
		{"a slow rank, and a finding about another", 1, detect.UnevenPace, [6]float64{8, 0, 50, 8, 0, 100}, slow, other, Slower, "DP01", "device", "the same kernels take longer on its device"},
		{"a busy rank that the others wait for", 1, detect.UnevenLoad, [6]float64{32, 0, 380, 8, 0, 100}, nil, attention, MoreWork, "TP01-DP01", "contexts", "has more work per step"},
	} {
		s := &shot{of: &group{name: "a", of: []*follower{{}}}, replica: c.replica, result: &torch.Result{}}
		var since time.Time
		s.past, since, s.at = seenOf(c.seen[0], c.seen[1], c.seen[2], c.seen[3], c.seen[4], c.seen[5])
		s.why = []*alarm{{of: s.of, Event: detect.Event{Rule: &detect.Rule{Name: c.rule}, Who: c.who, Onset: since}}}
		if c.report != nil {
			s.windows = []*explained{{report: c.report}}
		}
		v := s.verdict()
		if v.Kind != c.kind || v.Rank != c.rank || v.Cause != c.cause || !strings.Contains(v.Says, c.says) {
			t.Errorf("%s: %s of %s, by %s: %s", c.name, v.Kind, v.Rank, v.Cause, v.Says)
		}
	}
}

// TestVerdictStalled: a server that answers nothing at regular intervals is blamed, unless the signals show one of its
// ranks.
func TestVerdictStalled(t *testing.T) {
	for _, c := range []struct {
		who  int
		kind string
		rank string
	}{{-1, Stalled, "a"}, {1, MoreWork, "DP01"}} {
		f := &follower{name: "a"}
		s := &shot{of: &group{name: "a", of: []*follower{f}}, servers: []*follower{f}, result: &torch.Result{}, stalls: &Stalls{N: 12, Length: 0.06, Every: 0.1}}
		var since time.Time
		s.past, since, s.at = seenOf(32, 0, 380, 8, 0, 100)
		s.why = []*alarm{{of: s.of, Event: detect.Event{Rule: &detect.Rule{Name: detect.UnevenLoad}, Who: c.who, Onset: since}}}
		v := s.verdict()
		if said := strings.Join(v.Lines(), "\n"); v.Kind != c.kind || v.Rank != c.rank || !strings.Contains(said, "a answers nothing for about 60.0 ms of every 100 ms") {
			t.Errorf("rank %d: %s of %s: %s", c.who, v.Kind, v.Rank, said)
		}
	}
}
