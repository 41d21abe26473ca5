package watch

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// standIn is an nsys with one session, whose state is a file. Its report is a text; the export is the database of a
// real one.
const standIn = `#!/bin/sh
cd "$(dirname "$0")"
echo "$@" >>calls
case $1 in
sessions) echo "  7  00:01  $(cat state)  1  demo" ;;
start)
	for a in "$@"; do case $a in --output=*) echo "${a#--output=}" >output ;; esac; done
	echo Collection >state ;;
stop)
	echo report >"$(cat output)"
	echo Launched >state
	printf 'Generated:\n    %s\n' "$(cat output)" ;;
esac
`

// TestNsys checks that a window of a standby Nsight Systems session is opened, closed after a while, and explained.
func TestNsys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := packedtest.File(t, filepath.Join("..", "tracefile", "read", "nsysdb", "testdata", "tp4-work.sqlite.zst"))
	for name, text := range map[string]string{"nsys": standIn, "state": "Launched"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	tool := &nsys.Tool{Path: filepath.Join(dir, "nsys"), Version: nsys.Version{2023, 4, 4}, TmpDir: dir}
	target := torch.Target{URL: "http://a", Name: "a"}
	f := newFollower(&torch.Reached{Target: target, Front: target, Base: target.URL}, nil, time.Second, nil)
	g := &group{name: "a", of: []*follower{f}}
	read := "" // the exported report
	w := &Watch{Dir: filepath.Join(dir, "traces"), Say: &progress.Console{W: io.Discard}, Capture: Capture{
		Nsys: &nsys.ExternalSession{Tool: tool, Session: nsys.Session{ID: "7", Name: "demo"}}, NsysTime: time.Millisecond, Options: torch.Options{Timeout: time.Minute},
		ReadReports: func(_ context.Context, path string) (string, func(), error) { read = path; return db, func() {}, nil },
	}}
	s := &shot{w: w, name: "capture-1", of: g, servers: []*follower{f}, at: time.Now(), why: []*alarm{{of: g, Event: detect.Event{Rule: &detect.Rule{Name: "slow tokens"}, Who: -1}}}}
	s.take(t.Context())
	if s.err != nil {
		t.Fatal(s.err)
	}
	v := s.verdict()
	if len(v.Problems) > 0 || len(v.Findings) == 0 || v.Kind == "" || s.bytes == 0 {
		t.Errorf("%+v", v)
	}
	report := filepath.Join(dir, "traces", "capture-1", "window.nsys-rep")
	if _, err := os.Stat(report); err != nil || read != report {
		t.Errorf("%q was read: %v", read, err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if text := string(calls); err != nil || !strings.Contains(text, "start --session=7 ") || !strings.HasSuffix(strings.TrimSpace(text), "stop --session=7") {
		t.Errorf("%v: %s", err, calls)
	}
	// A session that has ended.
	if err := os.WriteFile(filepath.Join(dir, "nsys"), []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	s = &shot{w: w, name: "capture-2", of: g, servers: s.servers, at: time.Now(), why: s.why}
	if s.take(t.Context()); s.err == nil || !strings.Contains(s.err.Error(), "session 7 has ended") {
		t.Errorf("%v", s.err)
	}
}
