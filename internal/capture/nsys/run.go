package nsys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/runs"
)

// Launch configures a program to run under nsys.
type Launch struct {
	Tool    *Tool
	Dir     string // directory of the Record and the Windows
	Session string // unique name
	Mode    Mode
	Range   string        // cudaProfilerApi or nvtx
	NVTX    string        // range if Range is nvtx; default NVTXRange
	Delay   time.Duration // mode Later: time from the start to the window; 0: windows are opened on request
	// Duration is the length of the window in mode Whole or with a Delay; 0: until the program ends.
	Duration time.Duration
	Output   string   // absolute path of the reports, without suffix
	Options  []string // the user's options for nsys, as --name=value

	Command        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Log            func(line string)
	Signals        <-chan os.Signal // signals to pass to the program; an unfinished report is completed first
	Patience       time.Duration    // timeout for generating a report
}

// ErrNotStarted means that the program never ran.
var ErrNotStarted = errors.New("nsys did not start the program")

// Run starts the program under nsys. It returns the program's exit status after the program has ended and all reports
// exist. It leaves no nsys process behind. If nsys was killed, Run still waits for the program.
func (l *Launch) Run(ctx context.Context) (status int, err error) {
	// The end of ctx does not end Run. Signals end the program, and Run ends after the program.
	ctx = context.WithoutCancel(ctx)
	plan, err := l.Plan(ctx)
	if err != nil {
		return 0, err
	}
	for _, n := range plan.Notes {
		l.Log(n)
	}
	for try := 1; ; try++ {
		r := &running{Launch: l, plan: plan, done: make(chan struct{}), copied: make(chan struct{})}
		r.record = l.record()
		if err := r.start(); err != nil {
			return 0, err
		}
		s, err := r.ready(ctx)
		if err != nil && r.raced() && try < 4 {
			l.Log(fmt.Sprintf("nsys %v failed to start, as this version sometimes does: trying again", l.Tool.Version))
			orphan(l.Session)
			again := *l
			again.Session = fmt.Sprintf("%s-%d", l.Session, try+1) // the name of the failed session may not be free yet
			plan.rename(again.Session)
			l = &again
			pause.For(ctx, time.Second)
			continue
		}
		if err != nil {
			return 0, err
		}
		if err := r.keep(s); err != nil {
			l.Log(err.Error()) // without a record, other processes cannot open windows, but the program continues
		}
		return r.supervise(ctx)
	}
}

// running is an nsys process with its program.
type running struct {
	*Launch
	plan   *Plan
	cmd    *exec.Cmd
	done   chan struct{}
	copied chan struct{} // closed when all output has been copied
	err    error         // error of cmd, valid after done is closed
	out    tail
	errs   tail
	record Record
	closed bool // another process closed the window: do not arm further windows
}

// tail copies output and keeps its end.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	text []byte
}

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailSize {
		t.text = slices.Delete(t.text, 0, len(t.text)-tailSize)
	}
	t.mu.Unlock()
	t.to.Write(p) // ignore errors: if the reader of our output exits, the program continues
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

func (r *running) start() error {
	// Do not use a context: nsys must not be killed before its report is complete.
	r.cmd = exec.Command(r.Tool.Path, slices.Concat(r.plan.Args, r.Command)...)
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.Tool.TmpDir)
	if r.Range == "nvtx" {
		r.cmd.Env = append(r.cmd.Env, "NSYS_NVTX_PROFILER_REGISTER_ONLY=0") // match unregistered names too
	}
	r.out.to, r.errs.to = r.Stdout, r.Stderr
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = r.Stdin, &r.out, &r.errs
	apart(r.cmd)
	// Create the pipes explicitly: the program inherits them and may outlive nsys.
	var copying sync.WaitGroup
	var ends []*os.File
	for _, to := range []*io.Writer{&r.cmd.Stdout, &r.cmd.Stderr} {
		from, end, err := os.Pipe()
		if err != nil {
			return err
		}
		dst := *to
		*to, ends = end, append(ends, end)
		copying.Go(func() {
			io.Copy(dst, from)
			from.Close()
		})
	}
	r.Log("running " + runs.CommandLine(r.cmd.Args))
	err := r.cmd.Start()
	for _, end := range ends {
		end.Close()
	}
	go func() { copying.Wait(); close(r.copied) }()
	if err != nil {
		return err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	return nil
}

const startPatience = 2 * time.Minute

// ready waits until the session exists. If the program ended before ready saw the session, ready returns nil without an
// error.
func (r *running) ready(ctx context.Context) (*Session, error) {
	for began := time.Now(); ; {
		s, err := r.Tool.Look(ctx, r.Session)
		if err == nil && s != nil && !s.State.Starting() {
			return s, nil
		}
		select {
		case <-r.done:
			sleepUntil(r.copied, time.Second)
			if r.cmd.ProcessState.ExitCode() == 1 && (r.raced() || refused.MatchString(r.problem())) {
				return nil, fmt.Errorf("%w: %s", ErrNotStarted, r.problem())
			}
			return nil, nil
		case <-time.After(pollEvery):
		}
		if time.Since(began) > startPatience {
			r.cmd.Process.Kill()
			<-r.done
			orphan(r.Session)
			return nil, fmt.Errorf("%w in %v", ErrNotStarted, startPatience)
		}
	}
}

func sleepUntil(done <-chan struct{}, limit time.Duration) {
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// refused matches the beginning of the message that nsys prints if it does not start the program.
var refused = regexp.MustCompile(`^(unrecognised option|ERROR:|Illegal |Executable not found|No such file or directory:|Agent launcher failed|Session name)`)

// problem returns nsys's first error line.
func (r *running) problem() string { return firstLine(r.errs.String()) }

// raced reports whether nsys failed with an error of version 2022.4.2 that does not recur on a retry. The second
// message may also mean that the session name is taken, but the names that this package uses are unique.
func (r *running) raced() bool {
	said := r.errs.String()
	return strings.Contains(said, "boost::wrapexcept") || strings.HasPrefix(said, "Agent launcher failed")
}

// record returns a Record with the data that is known before the start.
func (l *Launch) record() Record {
	host, _ := os.Hostname()
	return Record{
		Nsys: l.Tool.Path, Version: l.Tool.Version.String(), TmpDir: l.Tool.TmpDir, Host: host, Session: l.Session,
		Mode: l.Mode, Range: l.Range, Output: l.Output, Started: time.Now().UTC(),
	}
}

// keep saves the session's record.
func (r *running) keep(s *Session) error {
	if s == nil {
		return nil
	}
	r.record.Session, r.record.ID, r.record.PID, r.record.Options = s.Name, s.ID, r.cmd.Process.Pid, r.plan.Start
	for range 20 { // the launcher may not have executed the program yet
		if r.record.Target = target(r.cmd.Process.Pid); r.record.Target != 0 || !pause.For(context.Background(), pollEvery/2) {
			break
		}
	}
	r.Log(fmt.Sprintf("nsys %v, session %s (%s), pid of the program %d", r.Tool.Version, s.Name, s.ID, r.record.Target))
	return r.record.Save(r.Dir)
}

// status returns the exit status of the program. nsys exits with the same status as the program.
func (r *running) status() int {
	if code := r.cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1 // nsys was killed
}
