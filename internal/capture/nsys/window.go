package nsys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// StateError means that the requested operation is impossible in the current state of a session.
type StateError struct {
	Session Session
	Text    string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("session %s is %s: %s", e.Session.Name, e.Session.State, e.Text)
}

// quiet returns the options that turn off CPU sampling for nsys start. Without these options, nsys start samples the
// CPU even if the launch options of the session turned sampling off.
func quiet(options []string) (out []string) {
	for _, o := range [][]string{{"--sample=none", "-s", "--sample"}, {"--cpuctxsw=none", "--cpuctxsw"}} {
		if !gives(options, o[1:]...) {
			out = append(out, o[0])
		}
	}
	return out
}

// Start opens a window on a session. It returns when the session collects data. If the options contain -c, it returns
// when the session waits for its range. The report will be written to output, which must be an absolute path in an
// existing directory. An existing file is replaced.
func (t *Tool) Start(ctx context.Context, id, output string, options []string) error {
	s, err := t.waitState(ctx, id, statePatient, func(s State) bool { return !s.Starting() })
	if err != nil {
		return err
	}
	if s == nil { // nsys start would create a new session of that name
		return fmt.Errorf("session %s has ended", id)
	}
	if !s.State.Ready() {
		return &StateError{*s, startHint(s.State)}
	}
	args := append([]string{"start", "--session=" + s.ID}, quiet(options)...)
	args = append(append(args, options...), "--force-overwrite=true", "--output="+output)
	out, err := t.run(ctx, time.Minute, args...)
	if err != nil {
		return err
	}
	if out.status != 0 {
		return fmt.Errorf("session %s could not be started: nsys says: %s", s.Name, out.problem())
	}
	armed := gives(options, "-c", "--capture-range")
	now, err := t.waitState(ctx, s.ID, statePatient, func(now State) bool {
		return now.Collecting() || now.Writing() || armed && now.Armed()
	})
	switch {
	case err != nil:
		return err
	case now == nil:
		return fmt.Errorf("session %s ended when it was started: its program has ended", s.Name)
	case now.State.Ready() && armed: // the range began and ended before the first query
	case !now.State.Collecting() && !now.State.Writing() && !now.State.Armed():
		return &StateError{*now, fmt.Sprintf("nsys accepted the start but is not collecting after %v", statePatient)}
	}
	return nil
}

func startHint(s State) string {
	switch {
	case s.Collecting():
		return "a window is open; close it first, with: stepscope nsys stop"
	case s.Armed():
		return "the program opens the window itself, for example on: stepscope profile --activities CUDA_PROFILER; stepscope nsys stop ends the wait"
	case s.Writing():
		return "try again when that is done"
	case s == "Started":
		return "it has nothing to record; it is left over from an nsys start, and stepscope nsys stop removes it"
	}
	return "no window can be opened"
}

// Stop closes the window of a session and returns when nsys has generated the report. The result reports holds the
// paths that nsys prints. It is empty if nothing was recorded. The parameter patience is the timeout for generating the
// report.
func (t *Tool) Stop(ctx context.Context, id string, patience time.Duration) (reports []string, err error) {
	s, err := t.Look(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case s == nil:
		return nil, fmt.Errorf("session %s has ended", id)
	case s.State.Ready(), s.State.Starting():
		return nil, &StateError{*s, "no window is open; open one with: stepscope nsys start"}
	case s.State.Writing():
		return nil, &StateError{*s, "its window is already closed"}
	}
	out, err := t.run(ctx, patience, "stop", "--session="+s.ID)
	if err != nil {
		return nil, err
	}
	if out.status != 0 {
		return nil, fmt.Errorf("session %s could not be stopped: nsys says: %s", s.Name, out.problem())
	}
	return ParseGenerated(out.stdout), nil
}

// ParseGenerated returns the paths below the lines "Generated:" in text, the mixed output of nsys and the program.
func ParseGenerated(text string) (paths []string) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		// The end of a progress bar may precede "Generated:" on the same line.
		if strings.HasSuffix(line, "Generated:") {
			in = true
			continue
		}
		path := strings.TrimLeft(line, " \t")
		if in = in && path != line && filepath.IsAbs(path); in {
			paths = append(paths, path)
		}
	}
	return paths
}

// Settle moves the generated report to want. This is needed because nsys leaves the report in TMPDIR if nsys cannot
// write to want. In that case nsys prints only the path in TMPDIR. Settle uses the first report in made. If made
// contains no report, Settle uses the file at want. If that file does not exist either, Settle generates the report
// from the recording that nsys has left. If want is "", the report is not moved.
func (t *Tool) Settle(ctx context.Context, made []string, want string) (path string, size int64, err error) {
	from := ""
	for _, p := range made {
		if strings.HasSuffix(p, Suffix) {
			from = p
			break
		}
	}
	want = cmp.Or(want, from)
	if raw := recording(made); from == "" && raw != "" {
		if _, err := os.Stat(want); err != nil {
			if from, err = t.reimport(ctx, raw); err != nil {
				return "", 0, fmt.Errorf("nsys wrote no report of its recording %s: %w", raw, err)
			}
			want = cmp.Or(want, strings.TrimSuffix(raw, rawSuffix)+Suffix)
		}
	}
	if from == "" || sameFile(from, want) {
		st, err := os.Stat(want)
		switch {
		case want == "" || errors.Is(err, fs.ErrNotExist):
			return "", 0, errors.New("nsys wrote no report: nothing was collected")
		case err != nil:
			return "", 0, err
		case st.Size() == 0:
			return "", 0, fmt.Errorf("nsys wrote an empty report: %s", want)
		}
		return want, st.Size(), nil
	}
	if err := move(from, want); err != nil {
		st, statErr := os.Stat(from)
		if statErr != nil {
			return "", 0, fmt.Errorf("nsys reports the path %s: %w", from, statErr)
		}
		return from, st.Size(), fmt.Errorf("the report could not be moved to its destination; it is %s: %w", from, err)
	}
	return t.Settle(ctx, nil, want)
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}

// move renames a file, or copies it to another file system.
func move(from, to string) error {
	if err := os.Rename(from, to); err == nil {
		return nil
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	err = atomicfile.Write(to, func(w io.Writer) error { _, err := io.Copy(w, src); return err })
	if err == nil {
		err = os.Remove(from)
	}
	return err
}
