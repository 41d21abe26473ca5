package torch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestIdleReplica checks SGLang's replicas, which count steps independently, so one without requests keeps its window
// open: it is closed soon after the others' traces arrive, and does not count as missing.
func TestIdleReplica(t *testing.T) {
	for name, c := range map[string]struct {
		requests  int // of replica 1
		byStage   bool
		attention bool // replicas are part of the TP ranks
		late      bool // replica 1 writes its trace later, by itself
		idle      string
		note      string
	}{
		"idle":          {idle: "TP00-DP01 TP01-DP01", note: "DP01 had no request while other replicas ran their steps: the window was closed"},
		"idle by stage": {byStage: true, idle: "TP00-DP01 TP01-DP01", note: "DP01 had no request"},
		"slow":          {requests: 1, late: true},
		"DP attention":  {attention: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, false, fmt.Sprintf(`{"tp_size":2,"dp_size":2,"enable_dp_attention":%t,"version":"0.5.23"}`, c.attention))
			f.routes["GET /v1/loads"] = func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"loads":[{"dp_rank":1,"num_running_reqs":%d},{"dp_rank":0,"num_running_reqs":4}]}`, c.requests)
			}
			write := func(dir string, dp int, stage string, modes ...string) {
				for tp := range 2 {
					if !c.attention || tp == dp {
						f.writeSteps(dir, fmt.Sprintf("9-TP-%d-DP-%d%s.trace.json", tp, dp, stage), modes...)
					}
				}
			}
			f.begin = func(dir string) {
				if c.byStage {
					write(dir, 0, "-EXTEND", "EXTEND", "EXTEND")
					write(dir, 0, "-DECODE", "DECODE", "DECODE")
					return
				}
				write(dir, 0, "", "DECODE", "DECODE")
				if c.late {
					time.AfterFunc(time.Second, func() { write(dir, 1, "", "DECODE", "DECODE") })
				}
			}
			f.end = func(dir string) {
				if !c.byStage { // of idle time, without a step
					write(dir, 1, "")
				}
			}
			o := patient(Options{})
			o.loneliness = 300 * time.Millisecond
			began := time.Now()
			res, err := run(t, Window{NumSteps: 2, ByStage: c.byStage}, o, f)
			if err != nil || time.Since(began) > 20*time.Second {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
			r := res.Servers[0]
			if got := strings.Join(r.IdleRanks, " "); got != c.idle || res.Incomplete() {
				t.Errorf("idle %q, want %q; missing %q", got, c.idle, r.Missing)
			}
			if notes := strings.Join(r.Notes, "; "); !strings.HasPrefix(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes %q", notes)
			}
			if said := strings.Join(r.Lines(), "; "); strings.Contains(said, "idle: TP00-DP01, TP01-DP01 ran no step, because their replica had no request") != (c.idle != "") {
				t.Errorf("said %q", said)
			}
			if f.called() != "start stop" && c.idle != "" {
				t.Errorf("called %q", f.called())
			}
		})
	}
}
