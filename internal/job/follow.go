package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Files through which a job and the process that submitted the job find each other. The file submitted holds a token.
// The job can read this token only if the job and the submitting process see the same directory. The file attended is
// touched repeatedly while the job is followed on its first node.
const (
	submitted = ".submitted"
	attended  = ".attended"
)

const (
	// LogFile is the name of the file with the log of the job itself.
	LogFile = "log.out"

	look       = 500 * time.Millisecond
	fresh      = 15 * time.Second // age of attended above which the job counts as no longer followed
	attendLook = time.Minute      // time that a job waits for its follower to start
)

// Shared reports whether dir is the same directory that the submitting process sees. Shared first creates a file, so
// that a network file system queries its server again instead of using a cached negative lookup.
func Shared(dir, token string) bool {
	if f, err := os.CreateTemp(dir, ".look-"); err == nil {
		f.Close()
		os.Remove(f.Name())
	}
	text, err := atomicfile.ReadFile(filepath.Join(dir, submitted))
	return err == nil && token != "" && string(text) == token
}

// Attend follows a job on the job's first node. It copies the job's log to log. When the job has ended, Attend copies
// all files of the job to out. If the caller sees the same directory as the job, Attend writes only a line that says
// so, and returns.
func Attend(ctx context.Context, dir, token string, out, log io.Writer) error {
	if Shared(dir, token) {
		_, err := io.WriteString(out, "shared\n")
		return err
	}
	if _, err := io.WriteString(out, "own\n"); err != nil {
		return err
	}
	sign := filepath.Join(dir, attended)
	defer os.Remove(sign)
	t := tail{path: filepath.Join(dir, LogFile)}
	for {
		if err := os.WriteFile(sign, nil, 0o644); err != nil {
			return err
		}
		s, err := Read(dir)
		t.copy(log)
		if err == nil && s.Stage.Ended() {
			done := make(chan struct{})
			defer close(done)
			go func() { // touch attended until Attend returns, because packing may take long
				for {
					select {
					case <-done:
						return
					case <-time.After(look):
						os.WriteFile(sign, nil, 0o644)
					}
				}
			}()
			return Pack(out, dir)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
}

// Linger waits until the process that follows the job through Attend has received all files. If expected is set, Linger
// waits up to attendLook for that process to start.
func Linger(ctx context.Context, dir string, expected bool) {
	until := time.Now()
	if expected {
		until = until.Add(attendLook)
	}
	came := false
	for ctx.Err() == nil {
		info, err := os.Stat(filepath.Join(dir, attended))
		there := err == nil && time.Since(info.ModTime()) < fresh
		if came = came || there; !there && (came || time.Now().After(until)) {
			time.Sleep(time.Second) // the step that runs Attend must end before the job
			return
		}
		time.Sleep(look)
	}
}

// tail copies data from a file as they are appended.
type tail struct {
	path string
	at   int64
}

func (t *tail) copy(w io.Writer) {
	f, err := atomicfile.Open(t.path)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Seek(t.at, io.SeekStart); err == nil {
		n, _ := io.Copy(w, f)
		t.at += n
	}
}

// Output returns the name of the output file of the job or of one of its tasks. The parameter who is the name of a file
// or a part of a name. If who is only a part, Output returns the first file whose name contains who.
func (s *State) Output(who string) (string, error) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "*.out"))
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(filepath.Base(f), ".out")
	}
	i := slices.Index(names, who)
	if i < 0 {
		i = slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, who) })
	}
	switch {
	case len(names) == 0 && s.Stage.Ended():
		return "", fmt.Errorf("job %s (%s) has no logs here: if it ran at all, they are still on its first node", s.Job, s.Stage)
	case len(names) == 0:
		return "", fmt.Errorf("job %s (%s) has no logs here: it has not begun, or they are on its first node (job logs --follow fetches them)", s.Job, s.Stage)
	case i < 0:
		return "", fmt.Errorf("job %s has no log of %s here; the logs are: %s", s.Job, who, strings.Join(names, ", "))
	}
	return names[i] + ".out", nil
}

// Token returns the token that the submitting process left in the job's directory.
func Token(dir string) string {
	text, _ := atomicfile.ReadFile(filepath.Join(dir, submitted))
	return string(text)
}

// Follow copies a file from the local directory of a job to log. It returns when the job has ended, or when the
// function over reports that the job must have ended.
func Follow(ctx context.Context, dir, name string, log io.Writer, over func() bool) (*State, error) {
	t := tail{path: filepath.Join(dir, name)}
	for n := 0; ; n++ {
		s, err := Read(dir)
		ended := err == nil && s.Stage.Ended()
		gone := !ended && n%10 == 9 && over()
		if gone { // the job may have ended between reading the state and checking the process
			s, err = Read(dir)
			ended = err == nil && s.Stage.Ended()
		}
		t.copy(log)
		switch {
		case ended:
			return s, nil
		case gone:
			return s, errGone
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(look):
		}
	}
}

var errGone = errors.New("the process that ran the job is gone")

// Jobs returns the states of all jobs below root, including the jobs of sweeps. The newest job comes first.
func Jobs(root string) ([]*State, error) {
	if _, err := os.ReadDir(root); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var out []*State
	for _, pattern := range []string{"*/", "*_sweep_*/job_*/"} {
		files, _ := fs.Glob(os.DirFS(root), pattern+stateFile)
		for _, f := range files {
			dir := filepath.Join(root, filepath.Dir(f))
			if s, err := Read(dir); err == nil {
				s.Dir = dir
				out = append(out, s)
			}
		}
	}
	sorts.By(out, func(a, b *State) int { return b.Began.Compare(a.Began) })
	return out, nil
}

// Find returns the state of a job. The parameter ref is the id or the directory of the job; "" means the newest job.
func Find(root, ref string) (*State, error) {
	if s, err := Read(ref); ref != "" && err == nil {
		s.Dir, err = filepath.Abs(ref) // make the path absolute, because other nodes may use it too
		return s, err
	}
	all, err := Jobs(root)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if ref == "" || s.Job == ref {
			s.Dir, err = filepath.Abs(s.Dir)
			return s, err
		}
	}
	if ref == "" {
		return nil, fmt.Errorf("no jobs in %s: give their directory with --output-dir", root)
	}
	return nil, fmt.Errorf("no job %s in %s: stepscope job status lists the jobs there", ref, root)
}
