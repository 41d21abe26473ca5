package watch

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// TestExec checks that a command gets each event in turn, that its output and failures are printed, and that events
// dropped from a full queue are reported.
func TestExec(t *testing.T) {
	got, gate := filepath.Join(t.TempDir(), "got"), filepath.Join(t.TempDir(), "gate")
	var said bytes.Buffer
	say := &progress.Console{W: &said}
	// The first event waits until the gate exists.
	x := startExec(fmt.Sprintf(`cat >>%s; while ! test -e %s; do sleep 0.02; done; echo heard; exit 3`, got, gate), say)
	const more = 7
	for i := range execMost + more {
		x.event([]byte(fmt.Sprintf(`{"n":%d}`, i)))
	}
	for range 2 * execMost { // the dropped events have been counted by now
		x.event([]byte(`{"n":-1}`))
	}
	if err := os.WriteFile(gate, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	x.end()
	text, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	// Zero or one event is being handled when the others arrive.
	if n := len(lines); n != execMost && n != execMost+1 || lines[0] != `{"n":0}` || lines[99] != `{"n":99}` {
		t.Errorf("%d events: %q", len(lines), lines)
	}
	for _, want := range []string{
		"--exec: heard\n", "stepscope: --exec: exit status 3\n",
		fmt.Sprintf("--exec: %d events dropped, because 100 were already waiting for the command\n", 3*execMost+more-len(lines)),
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, said.String()[:min(said.Len(), 500)])
		}
	}
	if !say.Lacks() {
		t.Error("events were dropped without a note that the output is incomplete")
	}
}

// TestListen checks the watch's own /metrics.
func TestListen(t *testing.T) {
	c := counts{version: "v1.2.3"}
	c.event(&Event{Kind: KindBegin, Server: "a"})
	c.event(&Event{Kind: KindBegin, Server: "b"})
	c.event(&Event{Kind: KindAlarm, Server: "a", Rule: "uneven load"})
	c.event(&Event{Kind: KindAlarm, Server: "a", Rule: "slow tokens"})
	c.event(&Event{Kind: KindOver, Server: "a", Rule: "slow tokens"})
	c.event(&Event{Kind: KindFailed, Server: "a"})
	c.event(&Event{Kind: KindVerdict, Server: "a", At: time.Unix(1790857026, 5e8), Verdict: &Verdict{Kind: Slower}})
	flow := signals.Flow{DP: 1, Running: 3, Queued: 0, Tokens: 12.5, Context: signals.Unknown, Pace: signals.Unknown, Step: signals.Unknown}
	c.seen(&follower{name: "a", live: &signals.Live{Ranks: []signals.Flow{flow}}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.serve(ln)()
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + ln.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	status, text := get("/metrics")
	var samples []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	want := `stepscope_build_info{version="v1.2.3",goversion="` + runtime.Version() + `"} 1.0
stepscope_watch_events_total{kind="alarm"} 2.0
stepscope_watch_events_total{kind="begin"} 2.0
stepscope_watch_events_total{kind="failed"} 1.0
stepscope_watch_events_total{kind="over"} 1.0
stepscope_watch_events_total{kind="verdict"} 1.0
stepscope_watch_alarm{server="a",rule="slow tokens"} 0.0
stepscope_watch_alarm{server="a",rule="uneven load"} 1.0
stepscope_watch_captures_total{server="a",result="failed"} 1.0
stepscope_watch_captures_total{server="a",result="slower"} 1.0
stepscope_watch_last_verdict_timestamp_seconds{server="a"} 1.7908570265e+09
stepscope_watch_up{server="a"} 1.0
stepscope_watch_up{server="b"} 0.0
stepscope_watch_rank_running{server="a",rank="DP01"} 3.0
stepscope_watch_rank_queued{server="a",rank="DP01"} 0.0
stepscope_watch_rank_tokens{server="a",rank="DP01"} 12.5`
	if got := strings.Join(samples, "\n"); status != http.StatusOK || got != want {
		t.Errorf("%d\n%s\nwant\n%s", status, got, want)
	}
	if status, text := get("/"); status != http.StatusNotFound || !strings.Contains(text, "/metrics") {
		t.Errorf("%d %s", status, text)
	}
}
