// Package nsys drives NVIDIA Nsight Systems, whose program is nsys: it finds and
// asks it ([Find], [Tool]), wraps a server in it ([Run]), opens and closes windows
// on running sessions ([Tool.Start], [Tool.Stop]) and exports reports ([Export]).
//
// What nsys answers is not enough to go by: start makes sessions of unknown names,
// and stop exits with 0 though the report went elsewhere. So each session is looked
// up before it is told anything, and each report is looked for afterwards.
// docs/nsys.md lists what was seen, by version.
package nsys

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Suffix ends the names of reports.
const Suffix = ".nsys-rep"

// Version is that of nsys: year, release, patch.
type Version [3]int

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

var versionLine = regexp.MustCompile(`version (\d{1,6})\.(\d{1,6})\.(\d{1,6})`)

// ParseVersion reads what nsys --version prints.
func ParseVersion(text string) (v Version, ok bool) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits only
	}
	return v, true
}

// Tool is one nsys and where it keeps its sessions.
type Tool struct {
	Path    string
	Version Version
	// TmpDir is what TMPDIR is for it: there it keeps its sessions and, while a
	// report is made, its data. Another TMPDIR sees other sessions.
	TmpDir string
}

// ErrAbsent is wrapped by Find where there is no nsys.
var ErrAbsent = errors.New("nsys was not found")

// places are where NVIDIA's packages put nsys, besides PATH.
var places = []string{
	"/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-systems-cli/*/bin/nsys", "/usr/local/cuda/bin/nsys",
}

// Find takes the nsys that is given, else that of STEPSCOPE_NSYS, else the first of
// PATH, else the newest in the usual places.
func Find(ctx context.Context, given string) (*Tool, error) {
	given = cmp.Or(given, os.Getenv("STEPSCOPE_NSYS"))
	if given != "" {
		path, err := Program(given)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
		}
		return open(ctx, path)
	}
	if path, err := exec.LookPath("nsys"); err == nil {
		return open(ctx, path)
	}
	var best *Tool
	for _, pattern := range places {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			t, err := open(ctx, path)
			if err == nil && (best == nil || slices.Compare(best.Version[:], t.Version[:]) < 0) {
				best = t
			}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w (in STEPSCOPE_NSYS, PATH, /opt/nvidia/nsight-systems*, /usr/local/cuda/bin): "+
			"install the package nsight-systems-cli of NVIDIA's repositories, or nsight-systems of Debian's non-free, or give --nsys PATH", ErrAbsent)
	}
	return best, nil
}

// Program is the path of a program that can be executed.
func Program(name string) (string, error) {
	path, err := exec.LookPath(name)
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return "", fmt.Errorf("%s: %w", name, at.Err)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s: there is no such program in PATH", name)
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return path, nil
}

// open asks for the version. The path becomes absolute, for the program is called
// from elsewhere later.
func open(ctx context.Context, path string) (*Tool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	t := At(path, os.TempDir())
	out, err := t.run(ctx, quick, "--version")
	if err != nil {
		return nil, err
	}
	v, ok := ParseVersion(out.stdout)
	if !ok {
		return nil, fmt.Errorf("%s is no nsys: it answers --version with %q", path, firstLine(cmp.Or(out.stdout, out.stderr)))
	}
	t.Version = v
	return t, nil
}

// At is the nsys of that path and TMPDIR, unasked.
func At(path, tmpDir string) *Tool {
	return &Tool{Path: path, TmpDir: tmpDir}
}

const quick = 30 * time.Second // for an answer that needs no work

// output is what a call of nsys printed.
type output struct {
	stdout, stderr string
	status         int
}

// problem is the line that says what is wrong.
func (o output) problem() string {
	text := cmp.Or(strings.TrimSpace(o.stderr), strings.TrimSpace(o.stdout))
	return cmp.Or(strings.TrimSuffix(firstLine(text), "."), fmt.Sprintf("exit status %d", o.status))
}

// run calls nsys and waits; a status other than 0 is no error here.
func (t *Tool) run(ctx context.Context, patience time.Duration, args ...string) (out output, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := t.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	apart(cmd) // Ctrl-C must not end a stop that makes its report
	// An agent that nsys starts may keep the pipes.
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	out = output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, fmt.Errorf("nsys %s: %w", args[0], context.Cause(ctx))
	case errors.As(err, &exit) && exit.Exited(), errors.Is(err, exec.ErrWaitDelay):
		err = nil
	case err != nil:
		err = fmt.Errorf("nsys %s: %w", args[0], err)
	}
	return out, err
}

func (t *Tool) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.Path, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TmpDir)
	return cmd
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
