//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestNohup: what nohup starts does not hear SIGHUP; else it is heard.
func TestNohup(t *testing.T) {
	for before, heard := range map[string]bool{"": true, `trap "" HUP; `: false} {
		cmd := exec.Command("sh", "-c", before+"exec stepscope bench serving --url http://127.0.0.1:1")
		cmd.Dir = t.TempDir()
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		if _, err := said.Read(make([]byte, 256)); err != nil { // it waits for the server
			t.Fatal(err)
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Skip(err)
		}
		masks := map[string]uint64{}
		for line := range strings.Lines(string(status)) {
			if name, mask, _ := strings.Cut(strings.TrimSpace(line), ":\t"); strings.HasPrefix(name, "Sig") {
				masks[name], _ = strconv.ParseUint(mask, 16, 64)
			}
		}
		const hup = 1 << (syscall.SIGHUP - 1)
		if caught, ignored := masks["SigCgt"]&hup != 0, masks["SigIgn"]&hup != 0; caught != heard || ignored == heard {
			t.Errorf("after %q SIGHUP is caught: %t, ignored: %t", before, caught, ignored)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		io.Copy(io.Discard, said)
		cmd.Wait()
	}
}

// TestUnread: a verb that only reads ends without a word when nobody reads what it writes, and says in its status that not
// all was read.
func TestUnread(t *testing.T) {
	for _, line := range []string{
		"stepscope man | true",
		"stepscope guide production | true",
		"stepscope analyze " + captures + "/none 2>&1 >/dev/null | true; stepscope man | true",
	} {
		cmd := exec.Command("bash", "-c", "set -o pipefail; "+line)
		out, err := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); len(out) > 0 || status != exitInterrupted && status != 0 { // 0: it was faster
			t.Errorf("%s: status %d, %v, %s", line, status, err, out)
		}
	}
}

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
