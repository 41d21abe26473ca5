package torch

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/trace"
)

// TestProgress checks the display of two servers during a recording.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Progress{}
		member := func(url, role string) *member {
			return &member{Target: Target{URL: url, Role: role}, w: Window{NumSteps: 10}, o: &Options{Progress: p}, kind: servers.SGLang}
		}
		a, b := member("http://p0:30000", api.Prefill), member("http://decode0:30000", api.Decode)
		shows := func(want string) {
			t.Helper()
			if got := strings.Join(p.Frame(79, 24), "\n"); got != strings.TrimPrefix(want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, want)
			}
		}
		shows("")
		a.doing(doingIdle)
		b.doing(doingLook)
		time.Sleep(3200 * time.Millisecond)
		shows(`
Profiling                                                                   3 s
http://p0:30000 prefill      idle, waiting for load                         3 s
http://decode0:30000 decode  checking                                       3 s`)
		a.doing(doingRecord)
		b.doing(doingRecord)
		b.made(4)
		time.Sleep(time.Second)
		shows(`
Profiling                                                                   4 s
http://p0:30000 prefill      recording 10 steps                             1 s
http://decode0:30000 decode  ████░░░░░░ recording, about 4 of 10 steps      1 s`)
		b.made(12) // more than the window has
		a.doing(doingStop)
		shows(`
Profiling                                                                   4 s
http://p0:30000 prefill      closing the window                             0 s
http://decode0:30000 decode  ██████████ recording, about 10 of 10 steps     1 s`)
		w := &watch{m: b, expected: make([]trace.FileName, 2), seen: map[string]*seen{"1-TP-0.trace.json.gz": {size: 4100, done: true}, "1-TP-1.trace.json.gz": {size: 50}}}
		b.doing(doingFetch)
		w.brought()
		a.doing(doingDone)
		shows(`
Profiling                                                                   4 s
http://p0:30000 prefill      done                                           0 s
http://decode0:30000 decode  █████░░░░░ fetching traces: 1 of 2, 4.10 kB    0 s`)
		if lines := p.Frame(79, 4); len(lines) != 2 || lines[1] != "and 2 more" {
			t.Errorf("on four rows: %q", lines)
		}
	})
	var none *Progress
	(&member{o: &Options{Progress: none}}).doing(doingArm)
}
