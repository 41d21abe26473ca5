//go:build unix

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain also draws in the terminal of TestLines.
func TestMain(m *testing.M) {
	if os.Getenv("LIVE_LINES") == "" {
		os.Exit(m.Run())
	}
	frames := 0
	v := Start(os.Stderr, func(columns, _ int) []string {
		frames++
		return []string{strings.Repeat("-", columns), fmt.Sprintf("frame %d", frames), strings.Repeat("=", columns)}[:2+frames%2]
	})
	for i := range 200 {
		v.Line(fmt.Sprintf("line %d", i))
		time.Sleep(time.Duration(i%13) * 3 * time.Millisecond) // over and between frames
	}
	v.Stop()
	v.Stop()
	v.Line("afterwards")
	time.Sleep(time.Hour)
}

// TestLines prints lines while a frame is drawn: each appears once, in order, and nothing of the frame remains.
func TestLines(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	dir, err := os.MkdirTemp("", "live-") // short, because socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-u", "-f", os.DevNull, "-S", filepath.Join(dir, "s")}, args...)...)
		cmd.Env = append(os.Environ(), "LIVE_LINES=1", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-x", "40", "-y", "12", os.Args[0])
	t.Cleanup(func() {
		tmux("kill-server")
		os.RemoveAll(dir)
	})
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	want.WriteString("afterwards")
	text := ""
	for end := time.Now().Add(30 * time.Second); !strings.Contains(text, "afterwards"); time.Sleep(50 * time.Millisecond) {
		if text = strings.TrimSpace(tmux("capture-pane", "-p", "-S", "-")); time.Now().After(end) {
			break
		}
	}
	if text != want.String() {
		t.Errorf("got\n%s", text)
	}
}
