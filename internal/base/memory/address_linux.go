package memory

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// addressSpace returns the limit on the address space of the process (ulimit -v), or 0 if there is none.
func addressSpace() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &r); err != nil || r.Cur >= 1<<62 {
		return 0
	}
	return int64(r.Cur)
}

// stderrEnv tells a supervised process the number of the descriptor that replaces stderr.
const stderrEnv = "STEPSCOPE_STDERR"

// Supervise runs the program in a child process if the address space is limited, and returns the exit status for this
// process. done is false if the caller itself must do the work: without a limit, or in the child. If an allocation
// fails, the Go runtime prints the stacks of all goroutines on descriptor 2 and exits with status 2. Supervise prints
// one line instead. The child's other messages go directly to stderr.
func Supervise() (status int, done bool) {
	if fd, err := strconv.Atoi(os.Getenv(stderrEnv)); err == nil {
		os.Unsetenv(stderrEnv)
		syscall.CloseOnExec(fd)
		os.Stderr = os.NewFile(uintptr(fd), "/dev/stderr")
		log.SetOutput(os.Stderr)
		return 0, false
	}
	limit := addressSpace()
	if limit == 0 {
		return 0, false
	}
	// Without a child, the runtime's own report is better than none.
	exe, err := os.Executable()
	if err != nil {
		return 0, false
	}
	status, err = supervise(exe, os.Args, limit)
	return status, err == nil
}

// supervise runs a program.
func supervise(exe string, args []string, limit int64) (status int, err error) {
	runtime.LockOSThread() // Pdeathsig refers to this thread
	// A high number, because the caller may have passed descriptors of its own.
	fd, _, no := syscall.Syscall(syscall.SYS_FCNTL, os.Stderr.Fd(), syscall.F_DUPFD, 100)
	if no != 0 {
		return 0, no
	}
	defer syscall.Close(int(fd))
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	signals := make(chan os.Signal, 8)
	forward := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	signal.Notify(signals, slices.DeleteFunc(forward, signal.Ignored)...)
	p, err := os.StartProcess(exe, args, &os.ProcAttr{
		Env: append(os.Environ(), fmt.Sprintf("%s=%d", stderrEnv, fd)), Files: []*os.File{os.Stdin, os.Stdout, w},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	w.Close()
	if err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			p.Signal(s)
		}
	}()
	report := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(r, 1<<20))
		report <- text
		io.Copy(io.Discard, r)
	}()
	state, err := p.Wait()
	if err != nil { // the child has done some of the work, so this process must not repeat it
		return 1, nil
	}
	status = state.ExitCode()
	r.SetReadDeadline(time.Now().Add(time.Second)) // processes that the child has started may still have the pipe
	said := <-report
	if status != 0 && outOfMemory(said) {
		fmt.Fprintf(os.Stderr, "stepscope: this needs more address space than %d MB: raise the limit (ulimit -v), or give less data\n", limit/1e6)
		return 1, nil
	}
	os.Stderr.Write(said)
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	return status, nil
}

// outOfMemory reports whether the text is the runtime's report of a failed allocation.
func outOfMemory(text []byte) bool {
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "failed to reserve", "cannot map pages", "pthread_create failed", "failed to create new OS thread"},
		func(what string) bool { return bytes.Contains(text, []byte(what)) })
}
