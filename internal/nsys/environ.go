package nsys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A report holds the environment of nsys and the one that it started the program
// with: tokens and keys end up in files that are passed around. So nsys gets a
// clean environment, and starts a step between (stepscope nsys exec) that takes the
// program's real one from a file, removes the file, and becomes the program.

// plain are the variables that nsys, the loader, CUDA and the runtime of a program
// under them may need before the program has its own environment.
var plain = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "PWD", "LD_LIBRARY_PATH", "LD_PRELOAD", "XDG_RUNTIME_DIR", "DISPLAY",
}

// plainPrefix begin the names of others.
var plainPrefix = []string{"LC_", "CUDA_", "NVIDIA_", "NSYS_", "NVTX_"}

// CleanEnv keeps the variables that nsys may need and that hold no secrets.
// TMPDIR is the Tool's own.
func CleanEnv(environ []string) (out []string) {
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if slices.Contains(plain, name) || slices.ContainsFunc(plainPrefix, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, e)
		}
	}
	return out
}

// handOver writes an environment for TakeOver into a new file for the user alone.
func handOver(dir string, environ []string) (path string, err error) {
	f, err := os.CreateTemp(dir, ".env-")
	if err != nil {
		return "", err
	}
	err = json.NewEncoder(f).Encode(environ)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

// TakeOver reads and removes what handOver wrote, and gives what the program is to
// be executed with. What nsys added or changed holds: with it the program finds
// its tools.
func TakeOver(path string, command, now []string) (program string, environ []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(f)
	err = errors.Join(err, f.Close(), os.Remove(path))
	var given []string
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err != nil {
		return "", nil, fmt.Errorf("the environment for %s: %w", command[0], err)
	}
	all := map[string]string{}
	for _, e := range append(given, now...) {
		name, value, _ := strings.Cut(e, "=")
		all[name] = value
	}
	// TMPDIR is nsys' own, which was made the program's before.
	for _, name := range slices.Sorted(maps.Keys(all)) {
		environ = append(environ, name+"="+all[name])
	}
	program, err = exec.LookPath(command[0])
	return program, environ, err
}
