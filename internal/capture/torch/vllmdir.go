package torch

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// vLLM accepts no directory in a request. It writes to the directory that was given at its start, and its API does not
// report that directory. If the server runs on this host, the directory can be read from the server's command line and
// environment.

const (
	vllmDirKey = "torch_profiler_dir"
	vllmDirEnv = "VLLM_TORCH_PROFILER_DIR" // before 0.13
)

// vllmPlace determines the directory to which a vLLM server writes its traces. The argument given is the caller's
// directory. If the directory is unknown, vllmPlace returns an error, because the traces could not be found.
func (m *member) vllmPlace(ctx context.Context, given string) error {
	var found string
	var pid int
	if m.o.Fetch == nil && here(ctx, m.URL) {
		found, pid = vllmDir("/proc", portOf(m.URL))
	}
	if env, err := filepath.Abs(os.Getenv(profilerDir)); found != "" && err == nil && given == env {
		given = "" // ignore the value, because it comes from a variable of SGLang
	}
	switch {
	case given == "" && found == "" && pid > 0:
		return fmt.Errorf("%s: nothing was recorded: vLLM writes traces to a directory that is set at its start, and the command line of its process %d has none: start it with --profiler-config '{\"profiler\":\"torch\",\"%s\":\"DIR\"}' (before 0.13: with %s=DIR), or give --output-dir DIR if it is set elsewhere", m.URL, pid, vllmDirKey, vllmDirEnv)
	case given == "" && found == "":
		return fmt.Errorf("%s: nothing was recorded: vLLM writes traces to a directory that is set at its start, and its command line cannot be read here: give --output-dir DIR, the %s of its --profiler-config (before 0.13: %s)", m.URL, vllmDirKey, vllmDirEnv)
	case given != "" && found != "" && filepath.Clean(given) != found && sameFiles(pid):
		return fmt.Errorf("%s: nothing was recorded: vLLM writes its traces to %s, not to %s: give --output-dir %s, or leave it out", m.URL, found, given, found)
	case given == "":
		m.dir = found
		m.o.Log(fmt.Sprintf("%s: writes its traces to %s, according to the command line of its process %d", m.URL, found, pid))
	default:
		m.dir = given
	}
	return nil
}

// sameFiles reports whether a process of this host has the same file systems as this process.
func sameFiles(pid int) bool {
	mine, err := os.Readlink("/proc/self/ns/mnt")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	return err == nil && err2 == nil && mine == theirs
}

// portOf returns the port of a URL, or 0.
func portOf(server string) int {
	u, err := url.Parse(server)
	if err != nil {
		return 0
	}
	port, err := net.LookupPort("tcp", u.Port())
	if err != nil || u.Port() == "" {
		port, _ = net.LookupPort("tcp", u.Scheme)
	}
	return port
}

// vllmDir returns the trace directory of the server that listens on a port of this host, and the id of one of the
// server's processes. If they are unknown, it returns "" and 0. The argument proc is the path of /proc.
func vllmDir(proc string, port int) (dir string, pid int) {
	const most = 4 // number of ancestors to search, because vLLM's API servers may be child processes
	for _, listens := range listeners(proc, port) {
		for up, at := 0, listens; at > 1 && up < most; up, at = up+1, parent(proc, at) {
			of := filepath.Join(proc, strconv.Itoa(at))
			args, err := os.ReadFile(filepath.Join(of, "cmdline"))
			if err != nil {
				break
			}
			env, _ := os.ReadFile(filepath.Join(of, "environ")) // not readable if the process belongs to another user
			cwd, _ := os.Readlink(filepath.Join(of, "cwd"))
			if dir = vllmDirOf(split(args), split(env), cwd); dir != "" {
				return dir, at
			}
			if pid == 0 {
				pid = at
			}
		}
	}
	return "", pid
}

func split(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// vllmDirOf returns the trace directory of a process with these arguments and environment, or "".
func vllmDirOf(args, env []string, cwd string) string {
	var dir string
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		switch flag := strings.ReplaceAll(name, "_", "-"); flag {
		case "--profiler-config":
			var config map[string]any
			if json.Unmarshal([]byte(value), &config) == nil {
				dir, _ = config[vllmDirKey].(string)
			}
		case "--profiler-config." + strings.ReplaceAll(vllmDirKey, "_", "-"):
			dir = value
		}
	}
	home := ""
	for _, v := range env {
		switch name, value, _ := strings.Cut(v, "="); {
		case name == vllmDirEnv && dir == "":
			dir = value
		case name == "HOME":
			home = value
		}
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && home != "" {
		dir = filepath.Join(home, rest)
	}
	switch {
	case dir == "" || strings.Contains(dir, "://"): // the directory is the URL of a bucket
		return ""
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	case cwd != "":
		return filepath.Join(cwd, dir)
	}
	return ""
}

// listeners returns the visible processes that listen on a TCP port of this host.
func listeners(proc string, port int) (pids []int) {
	const listen = "0A"
	sockets := map[string]bool{}
	for _, file := range []string{"net/tcp", "net/tcp6"} {
		text, _ := os.ReadFile(filepath.Join(proc, file))
		for line := range bytes.Lines(text) {
			f := strings.Fields(string(line)) // sl local rem st queues timer retransmits uid timeout inode
			if len(f) < 10 || f[3] != listen {
				continue
			}
			_, at, _ := strings.Cut(f[1], ":")
			if n, err := hex.DecodeString(at); err == nil && len(n) == 2 && int(n[0])<<8|int(n[1]) == port {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return nil
	}
	dirs, _ := os.ReadDir(proc)
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		fds := filepath.Join(proc, d.Name(), "fd")
		open, _ := os.ReadDir(fds)
		if slices.ContainsFunc(open, func(fd os.DirEntry) bool {
			to, _ := os.Readlink(filepath.Join(fds, fd.Name()))
			return sockets[to]
		}) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// parent returns the parent of a process, or 0 if unknown.
func parent(proc string, pid int) int {
	text, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "status"))
	for line := range bytes.Lines(text) {
		if of, ok := strings.CutPrefix(string(line), "PPid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(of))
			return n
		}
	}
	return 0
}
