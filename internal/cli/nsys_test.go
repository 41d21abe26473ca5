package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// realNsys is a real nsys, or the test is skipped.
func realNsys(t *testing.T) string {
	t.Helper()
	given := os.Getenv("STEPSCOPE_NSYS")
	if given == "" {
		given = "nsys"
	}
	path, err := exec.LookPath(given)
	if err != nil {
		t.Skip("no nsys: give one in STEPSCOPE_NSYS; .ci/nsys.sh installs it")
	}
	t.Setenv("STEPSCOPE_NSYS", path)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	// Sessions are those of a TMPDIR: nobody else's are seen here.
	own, err := os.MkdirTemp("", "nsys")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(own) })
	t.Setenv("TMPDIR", own)
	return path
}

// program runs a command line in a process of its own, until it is told to end.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, log *syncBuffer) {
	t.Helper()
	log = &syncBuffer{}
	cmd = exec.Command("stepscope", args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, t.TempDir()
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%v:\n%s", args, log)
		}
	})
	return cmd, log
}

// awaits waits for a line.
func awaits(t *testing.T, log *syncBuffer, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for range 600 {
		if m := re.FindStringSubmatch(log.String()); m != nil {
			return m[len(m)-1]
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("no %s in:\n%s", pattern, log)
	return ""
}

// ends waits for the end and gives the exit status.
func ends(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// report is what start and stop print as JSON.
type nsysReport struct {
	N      int
	Report string
	Size   int64
	Run    string
}

// TestNsysWindows is a server's life under nsys: two windows and one that counts
// steps, each with a report of its own; what cannot be is refused; and the server
// lives through all of it and ends with its own status.
func TestNsysWindows(t *testing.T) {
	realNsys(t)
	cmd, log := program(t, "nsys", "run", "--start-later", "--trace=nvtx", "--", "stepscope", "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
	url := awaits(t, log, `Listening on (http://\S+)`)
	pid := awaits(t, log, `pid of the program (\d+)`)
	session := awaits(t, log, `session (stepscope-[0-9a-f]{4}) `)
	if !strings.Contains(log.String(), "nsys launch --trace-fork-before-exec=true ") {
		t.Error("the command line was not told")
	}

	window := func(args ...string) (r nsysReport) {
		t.Helper()
		status, out, errs := stepscope(t, append([]string{"nsys"}, args...)...)
		if err := json.Unmarshal([]byte(out), &r); status != exitOK || err != nil || r.Size < 1000 {
			t.Fatalf("%q: status %d, %v\n%s%s", args, status, err, out, errs)
		}
		if st, err := os.Stat(r.Report); err != nil || st.Size() != r.Size {
			t.Errorf("%q: %v", args, err)
		}
		return r
	}
	refused := func(want string, args ...string) {
		t.Helper()
		status, out, errs := stepscope(t, append([]string{"nsys"}, args...)...)
		if status != exitFailed || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, want %q in one line\n%s%s", args, status, want, out, errs)
		}
	}

	refused("no nsys session \"nosuch\"; the sessions are: "+session+" (", "start", "nosuch")
	refused("session "+session+" is not collecting: no window is open", "stop", session)
	first := window("start", "last", "--duration", "0.3", "--json")
	if status, out, errs := stepscope(t, "nsys", "start", pid); status != exitOK || out != "close it with: stepscope nsys stop "+session+"\n" {
		t.Errorf("start: status %d\n%s%s", status, out, errs)
	}
	refused("session "+session+" is collecting: a window is open", "start", session)
	second := window("stop", "--json")
	if first.N != 1 || second.N != 2 || first.Report == second.Report {
		t.Errorf("%+v, %+v", first, second)
	}
	refused("session "+session+" is not collecting: no window is open", "stop", session)

	// Requests until the window of steps is over.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil {
			res, err := http.Post(url+"/generate", "application/json", strings.NewReader(`{"text":"hello","sampling_params":{"max_new_tokens":8,"ignore_eos":true}}`))
			if err != nil {
				return // the server has ended
			}
			res.Body.Close()
		}
	}()
	named := filepath.Join(t.TempDir(), "steps")
	third := window("start", strings.TrimPrefix(session, "stepscope-"), "--steps", "5", "--url", url, "-o", named, "--json")
	if third.Report != named+".nsys-rep" {
		t.Errorf("%+v", third)
	}
	refused(named+".nsys-rep exists already", "start", "-o", named)

	status, out, errs := stepscope(t, "nsys", "sessions")
	if status != exitOK || !regexp.MustCompile(`(?m)^`+session+` +\d+ +not collecting +\d\d:\d\d +`+pid+` +3 +\S+$`).MatchString(out) {
		t.Errorf("sessions: status %d\n%s%s", status, out, errs)
	}
	status, out, errs = stepscope(t, "nsys", "export", third.Report)
	if db, err := os.ReadFile(named + ".sqlite"); status != exitOK || err != nil || !bytes.HasPrefix(db, []byte("SQLite format 3")) {
		t.Errorf("export: status %d, %v\n%s%s", status, err, out, errs)
	}
	if code, _ := call(t, "GET", url+"/health", ""); code != 200 {
		t.Errorf("health: %d", code)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != exitOK {
		t.Errorf("the server ended with %d", status)
	}
	<-done
	status, out, _ = stepscope(t, "runs", "show", second.Run)
	if status != exitOK || !strings.Contains(out, "nsys/stepscope-window-2.nsys-rep") || !strings.Contains(out, "window 3: "+third.Report) || strings.Contains(out, "not in the manifest") {
		t.Errorf("runs show: status %d\n%s", status, out)
	}
	refused("no nsys session \"last\"", "start", "last")
	if status, out, errs = stepscope(t, "analyze", second.Run); status != exitFailed || !strings.Contains(errs, second.Run+" has 2 reports, each of its own window: give one, such as "+first.Report) {
		t.Errorf("analyze: status %d\n%s%s", status, out, errs)
	}
}

// TestNsysSignals: a signal in the middle of a collection reaches the program when
// its report is made, and the exit status is the program's.
func TestNsysSignals(t *testing.T) {
	realNsys(t)
	for _, c := range []struct {
		name   string
		args   []string
		until  string // the log has this
		signal syscall.Signal
		status int
	}{
		{"whole", []string{"--trace=nvtx"}, `pid of the program (\d+)`, syscall.SIGINT, 9},
		{"from the second on", []string{"--trace=nvtx", "--delay", "0.5"}, `collecting, 500ms after`, syscall.SIGTERM, 9},
		{"ends by itself", []string{"--trace=nvtx"}, "", 0, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("STEPSCOPE_TEST_SECRET", "xyzzy")
			report := filepath.Join(t.TempDir(), "r")
			args := append([]string{"nsys", "run", "-o", report}, c.args...)
			last := "exit 7"
			if c.signal != 0 {
				last = "sleep 60 & wait"
			}
			cmd, log := program(t, append(args, "--", "sh", "-c", `trap 'kill $!; echo bye; exit 9' INT TERM; echo "has $STEPSCOPE_TEST_SECRET"; `+last)...)
			if c.signal != 0 {
				awaits(t, log, `has xyzzy`)
				awaits(t, log, c.until)
				cmd.Process.Signal(c.signal)
			}
			if status := ends(t, cmd); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			awaits(t, log, `window 1: `+regexp.QuoteMeta(report)+`\.nsys-rep \(\d+ kB\)`)
			if at := strings.Index(log.String(), "\nbye\n"); c.signal != 0 && at < strings.Index(log.String(), "window 1: ") {
				t.Error("the program had the signal before the report was made")
			}
		})
	}
}

// TestNsysRanges: a server whose profiler opens ranges, as CUDA_PROFILER does,
// gives one report a range; profile waits for it.
func TestNsysRanges(t *testing.T) {
	tool, err := filepath.EvalSymlinks(realNsys(t))
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(t.TempDir(), "ranges")
	headers := filepath.Join(filepath.Dir(tool), "nvtx", "include")
	if out, err := exec.Command("cc", "-o", server, "-I", headers, filepath.Join("testdata", "nsys", "ranges.c"), "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Skipf("no C compiler, or this nsys brings no headers: %v %s", err, out)
	}
	cmd, log := program(t, "nsys", "run", "--trace=nvtx", "--capture-range", "nvtx", "-o", "r", "--", server)
	url := "http://127.0.0.1:" + awaits(t, log, `port (\d+)`)
	awaits(t, log, `pid of the program (\d+)`)
	for n := 1; n <= 2; n++ {
		status, out, errs := stepscope(t, "profile", "--activities", "CUDA_PROFILER", "--url", url, "--output-dir", t.TempDir(), "--timeout", "1m")
		m := regexp.MustCompile(`(?m)^nsys report: (\S*/r-window-` + strconv.Itoa(n) + `\.nsys-rep)$`).FindStringSubmatch(out)
		if status != exitOK || m == nil {
			t.Fatalf("status %d\n%s%s", status, out, errs)
		}
		if st, err := os.Stat(m[1]); err != nil || st.Size() < 1000 {
			t.Errorf("%v", err)
		}
	}
	status, _, errs := stepscope(t, "nsys", "start")
	if status != exitFailed || !strings.Contains(errs, "is waiting for a range") {
		t.Errorf("start: status %d, %s", status, errs)
	}
	if status, _, errs = stepscope(t, "nsys", "stop"); status != exitIncomplete || !strings.Contains(errs, "no longer waits for ranges") {
		t.Errorf("stop: status %d, %s", status, errs)
	}
	status, _, errs = stepscope(t, "profile", "--activities", "CUDA_PROFILER", "--url", url, "--output-dir", t.TempDir(), "--timeout", "1m")
	if status != exitOK || !strings.Contains(errs, "This host has no session of stepscope nsys run --capture-range") {
		t.Errorf("profile: status %d, %s", status, errs)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d", status)
	}
}

// TestNsysForeign: the first window of a session that the user started with nsys
// profile --start-later goes where profile was told; it is moved where start was.
func TestNsysForeign(t *testing.T) {
	tool := realNsys(t)
	dir := t.TempDir()
	name := fmt.Sprintf("foreign-%d", time.Now().UnixNano()) // one that ended lately keeps its name for a while
	cmd := exec.Command(tool, "profile", "--trace=nvtx", "--start-later=true", "--session-new="+name, "--output=first", "sleep", "60")
	cmd.Dir = dir
	var log syncBuffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &log, &log, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	defer func() {
		exec.Command(tool, "shutdown", "--session="+name).Run()
		<-ended
	}()
	for range 100 {
		if status, out, _ := stepscope(t, "nsys", "sessions"); status == exitOK && regexp.MustCompile(name+` +\d+ +waiting for start`).MatchString(out) {
			break
		}
		select {
		case <-ended:
			if strings.Contains(log.String(), "unrecognised option") {
				t.Skip("this nsys has no --start-later")
			}
			t.Fatal(log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	for _, report := range []string{"a", "b"} {
		want := filepath.Join(dir, report+".nsys-rep")
		status, out, errs := stepscope(t, "nsys", "start", name, "--duration", "0.2", "-o", want)
		if status != exitOK || !strings.HasPrefix(out, want+"\n") {
			t.Fatalf("status %d\n%s%s", status, out, errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("%q", left)
	}
}
