package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// forksLive is stdin of what pythonForks has started.
var forksLive io.Closer

// pythonForks starts the process that SGLang's programs are forked from, and tells its
// socket: what they import is imported once. testdata/sglang/forks.py says more. It ends
// with this process, whose end of its stdin is closed then.
var pythonForks = sync.OnceValues(func() (socket string, err error) {
	dir := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "forks") // which TestMain removes
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	stubs, err := filepath.Abs(filepath.Join("testdata", "sglang"))
	if err != nil {
		return "", err
	}
	socket = filepath.Join(dir, "s")
	cmd := exec.Command(os.Getenv("STEPSCOPE_SGLANG_PYTHON"), filepath.Join(stubs, "forks.py"), socket)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+stubs, "HF_HUB_OFFLINE=1")
	cmd.Stderr = os.Stderr
	var stdinErr error
	forksLive, stdinErr = cmd.StdinPipe()
	stdout, stdoutErr := cmd.StdoutPipe()
	if err := errors.Join(stdinErr, stdoutErr, cmd.Start()); err != nil {
		return "", err
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		return "", fmt.Errorf("SGLang's programs cannot be imported: %q, %w", line, err)
	}
	return socket, nil
})

// pythonModule runs python -m ARGS…, which must end within a time, in a directory, and
// with some more environment. It gives what the program printed.
func pythonModule(limit time.Duration, dir string, env map[string]string, args ...string) (out string, err error) {
	socket, err := pythonForks()
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	if err := json.NewEncoder(conn).Encode(map[string]any{"args": args, "dir": dir, "env": env}); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return string(text), err
	}
	last := strings.LastIndexByte(string(text), '\n')
	if status := string(text[last+1:]); status != "0" {
		err = fmt.Errorf("exit status %q", status)
	}
	return string(text[:max(0, last)]), err
}
