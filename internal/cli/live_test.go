//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// terminal is a real one, of tmux, in which a command runs.
type terminal struct {
	t      *testing.T
	socket string
	wide   int
}

// openTerminal runs a command line of sh in a terminal of so many columns.
func openTerminal(t *testing.T, columns int, command string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	dir, err := os.MkdirTemp("", "stepscope-tmux-") // short, as paths of sockets are
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t, filepath.Join(dir, "s"), columns}
	t.Cleanup(func() {
		exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		os.RemoveAll(dir)
	})
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("set -g remain-on-exit on\nset -g default-terminal xterm-256color\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tmux", "-u", "-S", term.socket, "-f", conf, "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "50", "sh", "-c", command)
	cmd.Env = append(os.Environ(), "PS1=$ ", "LC_ALL=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	return term
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// text is what is on the screen, and what has left it at the top.
func (term *terminal) text() string { return term.tmux("capture-pane", "-p", "-S", "-") }

// shows waits until the terminal shows it, and gives all that it does.
func (term *terminal) shows(pattern string) string {
	term.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text := term.text()
		if regexp.MustCompile(pattern).MatchString(text) {
			return text
		}
		if time.Now().After(end) {
			term.t.Fatalf("the terminal does not show %s, but\n%s", pattern, text)
		}
	}
}

// frame is that of a load, as it is drawn anywhere.
const frame = `(?m)^builtin:llama-tiny at http://\S+ +\d+ s, sending for \d+ s more
[█░]+  \d+ of 40 done, \d+ running
of the last \d s +each second
requests done  [\d.]+ /s .*
output tokens  [\d.,]+ /s .*
TTFT           p50 .*
ITL            p50 .*
server         \d+ running, \d+ queued, KV \d+ %`

// TestLiveView runs loads in terminals: how they go is drawn there and taken away again, and
// the summary is the last thing on the screen but for where the run lies.
func TestLiveView(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	bench := func(t *testing.T, args string) string {
		server := startServe(t, "--model-path", "builtin:llama-tiny") // of its own: loads give their requests the same ids
		return fmt.Sprintf("stepscope bench serving --url %s --dataset-name random --num-prompts 40 --random-input 16 --random-output 16 --request-rate 12 --output-file %s/out.jsonl --run-dir %[2]s %s",
			server.url, t.TempDir(), args)
	}
	const summary = `(?s)Serving Benchmark Result.*Inter-Token Latency.*\n` // then no figure any more
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprintf("%d columns", columns), func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, columns, bench(t, "")+`; echo "status $?"`)
			text := term.shows(frame)
			for line := range strings.Lines(regexp.MustCompile(frame).FindString(text)) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n >= columns {
					t.Errorf("a line of %d columns in a terminal of %d: %q", n, columns, line)
				}
			}
			if shown := term.tmux("display-message", "-p", "#{cursor_flag} #{cursor_x} #{alternate_on} #{mouse_any_flag} #{keypad_flag}"); shown != "1 0 0 0 0" {
				t.Errorf("while it is drawn, the cursor shown, its column, other screen, mouse, keypad are %s", shown)
			}
			text = term.shows(summary + `(.*\n)*stepscope: run kept: [^;]+; show\s+it\s+again\s+with:\s+stepscope\s+runs\s+show\s+\S+\nstatus 0`)
			if strings.Contains(text, "each second") || strings.Contains(text, " done, ") {
				t.Errorf("something of the view is left:\n%s", text)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		term := openTerminal(t, 80, "trap : INT; "+bench(t, "--num-prompts 4000")+`; echo "status $?"; exec cat`)
		term.shows(`each second`)
		term.tmux("send-keys", "C-c")
		text := term.shows(summary + `.*run kept: .*interrupted\nstatus 130`)
		if strings.Contains(text, "each second") || strings.Contains(text, "^C") {
			t.Errorf("something of the view is left:\n%s", text)
		}
		if term.tmux("display-message", "-p", "#{cursor_flag}") != "1" {
			t.Error("the cursor is hidden")
		}
	})
	t.Run("stopped and continued", func(t *testing.T) {
		t.Parallel()
		term := openTerminal(t, 80, "exec sh -i")
		term.tmux("send-keys", "-l", bench(t, "")+`; echo "status $?"`)
		term.tmux("send-keys", "Enter")
		term.shows(`each second`)
		term.tmux("send-keys", "C-z")
		if text := term.shows(`Stopped`); strings.Contains(text, "each second") {
			t.Errorf("the view is still there:\n%s", text)
		}
		term.tmux("send-keys", "-l", `echo "in between"; fg; echo "ended $?"`)
		term.tmux("send-keys", "Enter")
		text := term.shows(`in between(.*\n)*.*ended 0`)
		if !regexp.MustCompile(`Serving Benchmark Result`).MatchString(text) || strings.Contains(text, "each second") {
			t.Errorf("got\n%s", text)
		}
	})
	for what, before := range map[string]string{"no colours": "NO_COLOR=1 ", "dumb": "TERM=dumb "} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, 80, before+bench(t, "--num-prompts 24")+`; echo "status $?"`)
			for !regexp.MustCompile(`status \d`).MatchString(term.text()) {
				if text := term.shows(`each second|\S`); strings.Contains(text, "each second") {
					t.Fatalf("a view is drawn:\n%s", text)
				}
			}
		})
	}
	t.Run("piped", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ args, errs string }{
			{"--num-prompts 12", `(?s)Warming up.*\nstepscope: result appended to .*\nstepscope: run kept: .*\n$`},
			{"--num-prompts 12 --quiet", `^$`},
		} {
			var out, errs bytes.Buffer
			cmd := exec.Command("sh", "-c", bench(t, c.args))
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, errs.String())
			}
			if !regexp.MustCompile(c.errs).MatchString(errs.String()) || strings.ContainsAny(errs.String()+out.String(), "\x1b\r") || !strings.Contains(out.String(), "Serving Benchmark Result") {
				t.Errorf("%s: on stderr %q, want %s; on stdout\n%s", c.args, errs.String(), c.errs, out.String())
			}
		}
	})
}

// TestProfileView: a window shows what it waits for, and its findings stay alone.
func TestProfileView(t *testing.T) {
	t.Parallel()
	server := startServe(t, "--model-path", "builtin:llama-tiny", "--tp-size", "2")
	term := openTerminal(t, 80, fmt.Sprintf(`stepscope profile --url %s --wait 20s --num-steps 20 -o %s/traces --no-store; echo "status $?"`, server.url, t.TempDir()))
	term.shows(`(?m)^Profiling +\d+ s\nhttp://\S+ +idle, waiting for load +\d+ s$`)
	load := exec.Command("stepscope", "bench", "serving", "--url", server.url, "--dataset-name", "random", "--num-prompts", "2000", "--random-input", "16", "--random-output", "16", "--request-rate", "40", "--no-store", "--quiet", "--output-file", filepath.Join(t.TempDir(), "out.jsonl"))
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		load.Process.Signal(os.Interrupt)
		load.Wait()
	}()
	if text := term.shows(`status \d`); !strings.Contains(text, "status 0") || !strings.Contains(text, "2 traces in") || strings.Contains(text, "\nProfiling ") {
		t.Errorf("got\n%s", text)
	}
}
