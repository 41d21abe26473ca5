// Package nsys drives NVIDIA Nsight Systems through its program nsys: it finds and queries nsys ([Find], [Tool]),
// starts a server under nsys ([Run]), opens and closes windows on running sessions ([Tool.Start], [Tool.Stop]) and
// exports reports ([Export]).
//
// The results of nsys are unreliable: nsys start creates a session if the name is unknown, and nsys stop exits with 0
// even if the report was written to another path. The package therefore looks up each session before a command and each
// report after a command. docs/nsys.md lists the observed behaviour by version.
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

// Suffix is the suffix of reports.
const Suffix = ".nsys-rep"

// Version is the version of nsys: year, release, patch.
type Version [3]int

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

var versionLine = regexp.MustCompile(`version (\d{1,6})\.(\d{1,6})\.(\d{1,6})`)

// ParseVersion parses the output of nsys --version.
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

// Tool is an nsys program and its session directory.
type Tool struct {
	Path    string
	Version Version
	// TmpDir is the TMPDIR of nsys. nsys keeps its sessions there and, while it generates a report, the recorded data.
	// Each TMPDIR has separate sessions.
	TmpDir string
}

// ErrAbsent is wrapped by the error of Find if there is no nsys.
var ErrAbsent = errors.New("nsys was not found")

// places are the install paths of NVIDIA's packages.
var places = []string{
	"/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-systems-cli/*/bin/nsys", "/usr/local/cuda/bin/nsys",
}

// Find returns the first nsys that exists, in this order: given, the value of STEPSCOPE_NSYS, the first nsys in PATH,
// and the newest nsys in the install paths of NVIDIA's packages. If given or STEPSCOPE_NSYS is set but does not exist,
// Find returns an error.
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

// Program returns the path of an executable program.
func Program(name string) (string, error) {
	path, err := exec.LookPath(name)
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return "", fmt.Errorf("%s: %w", name, at.Err)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s: not found in PATH", name)
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return path, nil
}

// open queries the version of an nsys and returns a Tool. It makes the path absolute, because later calls use other
// working directories.
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
		return nil, fmt.Errorf("%s is not nsys: its --version prints %q", path, firstLine(cmp.Or(out.stdout, out.stderr)))
	}
	t.Version = v
	return t, nil
}

// At returns a Tool for a path and TMPDIR without querying the version.
func At(path, tmpDir string) *Tool {
	return &Tool{Path: path, TmpDir: tmpDir}
}

const quick = 30 * time.Second // timeout of a query

// output is the output of one call of nsys.
type output struct {
	stdout, stderr string
	status         int
}

// problem returns the line that describes the error.
func (o output) problem() string {
	text := cmp.Or(strings.TrimSpace(o.stderr), strings.TrimSpace(o.stdout))
	return cmp.Or(strings.TrimSuffix(firstLine(text), "."), fmt.Sprintf("exit status %d", o.status))
}

// run calls nsys and waits for its end. It returns no error for a non-zero exit status.
func (t *Tool) run(ctx context.Context, patience time.Duration, args ...string) (out output, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := t.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	apart(cmd) // Ctrl-C must not end nsys stop while it generates a report
	// Do not wait long for the pipes: an agent started by nsys may keep them open.
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
