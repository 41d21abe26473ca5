package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/watch"
)

// TestWatch: a server with four data-parallel ranks, of which one gets more requests than the
// others from some moment on, or takes longer for as many: the moment is found, a window is
// captured in it, and the verdict tells one from the other.
func TestWatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds of load")
	}
	// Kernels last a while, asleep, so that ranks do not take cores from each other.
	paced := func(rank int, fault string) string {
		return fmt.Sprintf("--device-fault=rank=%d,pace=100us%s", rank, fault)
	}
	for _, c := range []struct {
		name, fault string
		skewed      bool
		kind, cause string
	}{
		{"more work", "", true, watch.MoreWork, "load"},
		{"slower", ",from=250,kernel_sleep=600us", false, watch.Slower, "device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"serve", "--model-path", "builtin:llama-tiny", "--dp-size", "4", "--port", "0", "--enable-metrics"}
			for rank := range 4 {
				fault := ""
				if rank == 1 {
					fault = c.fault
				}
				args = append(args, paced(rank, fault))
			}
			_, log := program(t, args...)
			url := awaits(t, log, `(http://[\d.]+:\d+)`)
			load := newRankLoad(url)
			defer load.end()
			for rank := range 4 {
				load.add(rank, 4)
			}
			dir := t.TempDir()
			watching, out := program(t, "watch", "--url", url, "--every", "200ms", "--hold", "2s", "--max-captures", "1", "--for", "60s", "--run-dir", dir, "--json")
			var changed time.Time
			if c.skewed {
				awaits(t, out, `"kind":"begin"`)
				<-time.After(5 * time.Second)
				changed = time.Now()
				load.add(1, 24)
			}
			awaits(t, out, `"kind":"(verdict|failed)"`)
			watching.Process.Signal(os.Interrupt)
			if status := ends(t, watching); status != exitInterrupted {
				t.Errorf("status %d", status)
			}
			events := eventsOf(t, dir)
			var alarm, verdict *watch.Event
			for i, e := range events {
				switch {
				case e.Kind == "alarm" && (alarm == nil || c.skewed && alarm.Rank == ""):
					alarm = &events[i]
				case e.Kind == "verdict":
					verdict = &events[i]
				}
			}
			if alarm == nil || verdict == nil {
				t.Fatalf("no alarm or no verdict: %+v", events)
			}
			v := verdict.Verdict
			if c.skewed && alarm.Rank != "DP01" || v.Rank != "DP01" || v.Kind != c.kind || v.Cause != c.cause {
				t.Errorf("%s of %s, by %s: %s\n%s", v.Kind, v.Rank, v.Cause, v.Says, strings.Join(v.Evidence, "\n"))
			}
			if off := alarm.Onset.Sub(changed); c.skewed && (off < -2*time.Second || off > 2*time.Second) {
				t.Errorf("the onset is %v from the truth", off)
			}
			if v.Replica == nil || v.Replica.This.Steps < 3 {
				t.Errorf("what was captured: %+v", v.Replica)
			}
		})
	}
}

// eventsOf reads the log of the only run in a directory.
func eventsOf(t *testing.T, dir string) (events []watch.Event) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*", "events.jsonl"))
	if len(logs) != 1 {
		t.Fatalf("logs of events: %v", logs)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e watch.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// rankLoad sends requests to data-parallel ranks by number, each sender one after the other.
type rankLoad struct {
	url  string
	stop chan struct{}
	all  sync.WaitGroup
}

func newRankLoad(url string) *rankLoad { return &rankLoad{url: url, stop: make(chan struct{})} }

func (l *rankLoad) add(rank, senders int) {
	for range senders {
		l.all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"input_ids":[%d,5,6,7,8,9],"routed_dp_rank":%d,"sampling_params":{"max_new_tokens":32,"ignore_eos":true}}`, 10+n%200, rank)
				resp, err := http.Post(l.url+"/generate", "application/json", strings.NewReader(body))
				if err != nil {
					return // the server has ended
				}
				resp.Body.Close()
			}
		})
	}
}

func (l *rankLoad) end() {
	close(l.stop)
	l.all.Wait()
}
