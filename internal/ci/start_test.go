package ci

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestStart: a build reads its environment, and is ended with all processes of its group.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	b := Build{Command: `sleep 1000 & echo "$! $STEPSCOPE_REF $STEPSCOPE_SIDE $STEPSCOPE_URL" >` + ready + `; wait`, Stop: "touch stopped", Ref: "abc", Side: "new", URL: "http://127.0.0.1:1", Log: filepath.Join(dir, "log")}
	t.Chdir(dir)
	_, stop, err := b.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	if len(words) != 4 || strings.Join(words[1:], " ") != "abc new http://127.0.0.1:1" {
		t.Fatalf("%q", text)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	child, _ := strconv.Atoi(words[0])
	if syscall.Kill(child, 0) == nil {
		if state, _ := os.ReadFile("/proc/" + words[0] + "/stat"); !strings.Contains(string(state), ") Z ") {
			t.Errorf("its child is still there: %s", state)
		}
	}
	if _, err := os.Stat("stopped"); err != nil {
		t.Error(err)
	}
}

// TestStartFails: a command that fails ends the load with its last line; one that leaves a server running does not.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	b := Build{Command: "echo loading; echo no such model >&2; exit 3", Side: "base", Log: filepath.Join(dir, "log")}
	ctx, stop, err := b.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if why := context.Cause(ctx); !strings.Contains(why.Error(), "starts base failed: exit status 3; its output ends: no such model") {
		t.Error(why)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	b = Build{Command: "true", Stop: "exit 5", Side: "base", Log: filepath.Join(dir, "log")}
	ctx, stop, err = b.Start(t.Context())
	if err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	if err := stop(); err == nil || !strings.Contains(err.Error(), "exit status 5") {
		t.Error(err)
	}
}
