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

// Launch wraps a program in nsys.
type Launch struct {
	Tool    *Tool
	Dir     string // of the Record and the Windows
	Session string // a name that no other has
	Mode    Mode
	Range   string        // cudaProfilerApi or nvtx
	NVTX    string        // the range for nvtx; default NVTXRange
	Delay   time.Duration // Later: open a window so long after the start; 0: when told to
	// Duration closes the window of Whole or Delay; 0: it ends with the program.
	Duration time.Duration
	Output   string   // absolute, without ending
	Options  []string // the user's for nsys, as --name=value

	Command        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Log            func(line string)
	Signals        <-chan os.Signal // for the program; a report is finished first
	Patience       time.Duration    // for the making of a report
}

// ErrNotStarted: the program never ran.
var ErrNotStarted = errors.New("nsys did not start the program")

// Run starts the program under nsys and returns when it has ended and all reports
// are made, with the exit status of the program. However it ends, no nsys of it is
// left, but where nsys itself was killed: then the program is waited for.
func (l *Launch) Run(ctx context.Context) (status int, err error) {
	// A signal ends the program, and that ends us: not the context.
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
			again.Session = fmt.Sprintf("%s-%d", l.Session, try+1) // the name may not be free yet
			plan.rename(again.Session)
			l = &again
			pause.For(ctx, time.Second)
			continue
		}
		if err != nil {
			return 0, err
		}
		if err := r.keep(s); err != nil {
			l.Log(err.Error()) // windows cannot be told from elsewhere; the program goes on
		}
		return r.supervise(ctx)
	}
}

// running is one nsys with its program.
type running struct {
	*Launch
	plan   *Plan
	cmd    *exec.Cmd
	done   chan struct{}
	copied chan struct{} // all output is passed on
	err    error         // of cmd, when done
	out    tail
	errs   tail
	record Record
	closed bool // by another process: no window is armed any more
}

// tail passes output on and keeps the end of it.
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
	t.to.Write(p) // whoever reads our output may leave; the program goes on
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

func (r *running) start() error {
	// Not of a context: nsys must not be killed before its report is made.
	r.cmd = exec.Command(r.Tool.Path, slices.Concat(r.plan.Args, r.Command)...)
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.Tool.TmpDir)
	if r.Range == "nvtx" {
		r.cmd.Env = append(r.cmd.Env, "NSYS_NVTX_PROFILER_REGISTER_ONLY=0") // plain strings count too
	}
	r.out.to, r.errs.to = r.Stdout, r.Stderr
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = r.Stdin, &r.out, &r.errs
	apart(r.cmd)
	// Pipes of our own, for the program may outlive nsys and has them.
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

// ready waits for the session. nil without an error: the program ended before it
// was seen.
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

// refused begins what nsys says when it starts nothing.
var refused = regexp.MustCompile(`^(unrecognised option|ERROR:|Illegal |Executable not found|No such file or directory:|Agent launcher failed|Session name)`)

// problem is what nsys said first.
func (r *running) problem() string { return firstLine(r.errs.String()) }

// raced is a failure of 2022.4.2 that another try mends. The second text is also
// what it says of a name that is taken, but ours are not.
func (r *running) raced() bool {
	said := r.errs.String()
	return strings.Contains(said, "boost::wrapexcept") || strings.HasPrefix(said, "Agent launcher failed")
}

// record is what is known before the start.
func (l *Launch) record() Record {
	host, _ := os.Hostname()
	return Record{
		Nsys: l.Tool.Path, Version: l.Tool.Version.String(), TmpDir: l.Tool.TmpDir, Host: host, Session: l.Session,
		Mode: l.Mode, Range: l.Range, Output: l.Output, Started: time.Now().UTC(),
	}
}

// keep records the session.
func (r *running) keep(s *Session) error {
	if s == nil {
		return nil
	}
	r.record.Session, r.record.ID, r.record.PID, r.record.Options = s.Name, s.ID, r.cmd.Process.Pid, r.plan.Start
	for range 20 { // the launcher may not have become the program yet
		if r.record.Target = target(r.cmd.Process.Pid); r.record.Target != 0 || !pause.For(context.Background(), pollEvery/2) {
			break
		}
	}
	r.Log(fmt.Sprintf("nsys %v, session %s (%s), program's pid %d", r.Tool.Version, s.Name, s.ID, r.record.Target))
	return r.record.Save(r.Dir)
}

// status is the program's, which nsys passes on.
func (r *running) status() int {
	if code := r.cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1 // nsys was killed
}
