package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// shell runs a script in which $0 and its arguments are the program and args.
func shell(dir, script string, args ...string) (r result, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wide(2*longest))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, *program}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "XDG_CACHE_HOME="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{b: &out}, &limited{b: &errs}
	err = cmd.Run()
	r.out, r.errs, r.status = out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()
	if ctx.Err() != nil {
		return r, fmt.Errorf("still runs after %v", wide(2*longest))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	return r, r.sane()
}

// checksEntry reports whether the program has the entry point of releases. Without it, the Go runtime itself fails if
// the address space is very small.
func checksEntry() bool {
	info, err := buildinfo.ReadFile(*program)
	if err != nil {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-ldflags" && strings.Contains(s.Value, "-E main.entry") {
			return true
		}
	}
	return false
}

// limits runs the readers of a large capture with little address space (ulimit -v). A command either works or prints one
// line and exits with status 1.
func limits(a *attack) error {
	if *race {
		return nil // the race detector needs terabytes of address space
	}
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	var big strings.Builder
	for i := range 250_000 {
		big.WriteString(event(i, fmt.Sprintf("kernel_%d", i%500)))
	}
	in := filepath.Join(dir, "big-TP-0.trace.json.gz")
	if err := os.WriteFile(in, gzipped(document(big.String())), 0o600); err != nil {
		return err
	}
	for i, mb := range []int{200, 1000, 1650, 2000} {
		if mb < 1600 && !checksEntry() {
			continue
		}
		for k, args := range readers {
			if mb < 1600 && k > 1 || *short && (i+k)%8 != 0 {
				continue
			}
			a.try()
			what := fmt.Sprintf("%s with %d MB of address space", strings.Join(args, " "), mb)
			r, err := shell(dir, fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, mb*1000), with(args, in)...)
			switch lines := bytes.Count(bytes.TrimSpace(r.errs), []byte("\n")) + 1; {
			case err != nil:
				a.fail("%s: %v", what, err)
			case r.status == 1 && lines > 1:
				a.fail("%s: %d lines: %s", what, lines, tail(r.errs))
			case r.status != 0 && r.status != 1 && r.status != 3 || mb < 1600 && r.status != 1:
				a.fail("%s: status %d: %s", what, r.status, tail(r.errs))
			}
		}
	}
	return nil
}

// irregular replaces path by something that is not a file.
var irregular = map[string]func(path string) error{
	"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	"a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
	"a socket": func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = l.Close()
		}
		return err
	},
}

// pipes puts pipes, sockets, devices and directories in the place of files: of traces in a directory, and of each file
// of a run.
func pipes(a *attack) error {
	dir, err := os.MkdirTemp("", "att") // short, because the names of sockets are limited to 108 bytes
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	traces, err := texts("testdata/traces/graph_work")
	if err != nil {
		return err
	}
	for _, make := range irregular {
		in := filepath.Join(dir, "in")
		if err := os.Mkdir(in, 0o700); err != nil {
			return err
		}
		n := 0
		for name, text := range traces {
			path := filepath.Join(in, strings.TrimSuffix(name, ".gz"))
			if n++; n > 1 {
				err = os.WriteFile(path, text, 0o600)
			} else {
				err = make(path)
			}
			if err != nil {
				return err
			}
		}
		for i, args := range readers {
			if !*short || i%4 == 0 {
				a.read(dir, with(args, in))
			}
		}
		os.RemoveAll(in)
	}
	return a.runPipes(dir)
}

// verbs of runs. RUN is replaced by the directory of the run, ROOT by its parent.
var runVerbs = [][]string{
	{"runs", "list", "--run-dir", "ROOT"}, {"runs", "show", "RUN"}, {"analyze", "RUN"}, {"compare", "RUN", "RUN"}, {"view", "RUN", "--export", "page.html"},
	{"trace", "check", "RUN"}, {"whatif", "RUN", "--set", "host=0.5"},
}

// runPipes replaces each file of a run in turn.
func (a *attack) runPipes(dir string) error {
	s, err := serving(dir, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "r")
	r, err := run(0, dir, "bench", "serving", "--base-url", s.url, "--backend", "sglang", "--dataset-name", "random-ids", "--num-prompts", "8", "--random-input", "8",
		"--random-output", "40", "--model", "m", "--run-dir", root, "--profile", "--profile-num-steps", "3", "--output-file", "out.jsonl")
	s.stop(a)
	if err != nil || r.status != 0 {
		return fmt.Errorf("bench serving: status %d, %v: %s", r.status, err, tail(r.errs))
	}
	runs, err := filepath.Glob(filepath.Join(root, "*", "manifest.json"))
	if err != nil || len(runs) != 1 {
		return fmt.Errorf("%d runs in %s: %v", len(runs), root, err)
	}
	of := filepath.Dir(runs[0])
	var files []string
	filepath.WalkDir(of, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	rng := draw(11)
	for i, path := range files {
		for what, make := range irregular {
			if *short && (i+len(what))%3 != 0 {
				continue
			}
			if err := os.Rename(path, path+".kept"); err != nil {
				return err
			}
			if err := make(path); err != nil {
				return err
			}
			verb := runVerbs[rng.IntN(len(runVerbs))]
			args := append([]string(nil), verb...)
			for k := range args {
				args[k] = strings.NewReplacer("RUN", of, "ROOT", root).Replace(args[k])
			}
			a.try()
			if _, err := run(0, dir, args...); err != nil {
				a.fail("%s with %s as %s: %v", strings.Join(verb, " "), what, filepath.Base(path), err)
			}
			os.RemoveAll(path)
			if err := os.Rename(path+".kept", path); err != nil {
				return err
			}
		}
	}
	return nil
}
