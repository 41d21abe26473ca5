//go:build unix

package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestSignalSentTwice ends a command as timeout(1) does, which sends its signal
// to the process and to its group: one interrupt, after which the run is closed.
func TestSignalSentTwice(t *testing.T) {
	for range 20 { // each is a race
		var errs bytes.Buffer
		cmd := exec.Command("stepscope", "bench", "serving", "--url", "http://127.0.0.1:1")
		cmd.Dir = t.TempDir()
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		line := make([]byte, 256)
		n, err := said.Read(line)
		if err != nil || !strings.HasPrefix(string(line[:n]), "Waiting ") {
			t.Fatalf("%q, %v", line[:n], err)
		}
		for range 100 { // most of them while others wait, and the kernel makes one of those
			cmd.Process.Signal(syscall.SIGTERM)
		}
		errs.ReadFrom(said)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted || errs.String() != "stepscope: interrupted\n" {
			t.Errorf("%v, %q", err, &errs)
		}
	}
}
