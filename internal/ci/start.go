package ci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Build is a build of the server that a command starts.
type Build struct {
	Command string // for sh; it may stay in the foreground, or end with status 0 after the server has been started
	Stop    string // for sh, after the load; "": the process group of Command is ended
	Ref     string // the commit, as STEPSCOPE_REF
	Side    string // "base" or "new", as STEPSCOPE_SIDE
	URL     string // where the server must answer, as STEPSCOPE_URL
	Log     string // file for the output of the command
}

// stopLimit is the time that a server may take to end before it is killed.
const stopLimit = 60 * time.Second

// Start runs the command. Nothing may answer at the URL before, because the load would measure that server. The context
// that it returns ends with the command's error as its cause if the command fails. stop ends the server and waits for its
// end. The caller must call stop.
func (b *Build) Start(ctx context.Context) (_ context.Context, stop func() error, err error) {
	if at, err := url.Parse(b.URL); err == nil {
		port := at.Port()
		if port == "" {
			port = at.Scheme // net knows http and https
		}
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(at.Hostname(), port), time.Second); err == nil {
			c.Close()
			return nil, nil, fmt.Errorf("another server listens at %s already: end it (--stop), since the load would measure that one", b.URL)
		}
	}
	log, err := os.Create(b.Log)
	if err != nil {
		return nil, nil, err
	}
	cmd := b.shell(b.Command, log)
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start %s: %w", b.Side, err), log.Close())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := cmd.Wait(); err != nil {
			cancel(fmt.Errorf("the command that starts %s failed: %w; its output ends: %s", b.Side, err, lastLine(b.Log)))
		}
	}()
	return ctx, func() error {
		defer cancel(nil)
		defer log.Close()
		var err error
		if b.Stop != "" {
			if err = b.shell(b.Stop, log).Run(); err != nil {
				err = fmt.Errorf("the command that stops %s failed: %w; see %s", b.Side, err, b.Log)
			}
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // a group that has ended gives an error
		if !gone(cmd.Process.Pid, stopLimit) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		<-ended
		return err
	}, nil
}

// shell returns a command for sh in a process group of its own.
func (b *Build) shell(line string, out io.Writer) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "STEPSCOPE_REF="+b.Ref, "STEPSCOPE_SIDE="+b.Side, "STEPSCOPE_URL="+b.URL)
	return cmd
}

// gone reports whether all processes of a group end within the limit.
func gone(group int, limit time.Duration) bool {
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if syscall.Kill(-group, 0) == syscall.ESRCH {
			return true
		}
	}
	return false
}

// lastLine returns the last line of a file, at most lastBytes of it.
func lastLine(path string) string {
	const lastBytes = 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > lastBytes {
		_, _ = f.Seek(-lastBytes, io.SeekEnd) // else the line is read from the beginning
	}
	text, err := io.ReadAll(io.LimitReader(f, lastBytes))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
