package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/internal/job/slurm"
)

// Note writes the batch script, the initial state and the token of a submitted job to the job's directory as the
// submitting process sees it. The token lets the job find out whether the directory is shared.
func Note(p *Plan, o *Slurm, id, dir string) error {
	if err := Announce(dir, o.Token); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "sbatch_script.sh"), []byte(p.Script(*o)), 0o600); err != nil {
		return err
	}
	host, _ := os.Hostname()
	s := &State{Job: id, Name: p.Job.Name, On: "slurm", Stage: Submitted, Since: o.At, Began: o.At, Dir: dir, Host: host}
	return s.first()
}

// Announce makes the directory of a job and writes the token to it. The token lets the job find out whether the
// directory is shared.
func Announce(dir, token string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, submitted), []byte(token), 0o644)
}

// Fetch follows a Slurm job until it ends and copies the job's log to log. Fetch returns when all files of the job are
// in dir, even if the job wrote the files to the local directory of a node.
func Fetch(ctx context.Context, p *Plan, id, dir, token string, log io.Writer, say func(string)) (*State, error) {
	node, err := begun(ctx, id, say)
	if err != nil {
		return nil, err
	}
	own := false
	if node != "" {
		own, err = attend(ctx, id, node, dir, token, p.Program, log)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if own {
		log = io.Discard // attend has copied the log
	}
	s, readErr := Follow(ctx, dir, LogFile, log, func() bool {
		states, err := slurm.States(ctx, id)
		return err == nil && len(states) > 0 && states[0].Ended() || errors.Is(err, slurm.ErrUnknown)
	})
	if errors.Is(readErr, errGone) && s != nil {
		if own && err != nil { // the job was ended from outside, so the step ended as well
			err = salvage(ctx, p, node, dir)
			if now, readErr := Read(dir); readErr == nil && err == nil {
				s = now
			}
		}
		if Ask(ctx, s); err != nil {
			s.Lacks = append(s.Lacks, fmt.Sprintf("the job's files are still on %s: %v", node, err))
		}
		return s, s.write()
	}
	return s, readErr
}

const slowPoll = 15 * time.Second

// begun waits until a job runs and returns the first node of the job. If the job has already ended, begun returns "".
func begun(ctx context.Context, id string, say func(string)) (string, error) {
	told, pause := "", look
	for {
		states, err := slurm.States(ctx, id)
		s, now := slurm.State{}, ""
		if len(states) > 0 {
			s = states[0]
		}
		switch {
		case errors.Is(err, slurm.ErrUnknown) || err == nil && len(states) > 0 && s.Ended():
			return "", nil
		case errors.Is(err, slurm.ErrNoSlurm):
			return "", err
		case err != nil: // a busy or unreachable controller does not mean that the job is lost
			now = "could not be queried, trying again: " + err.Error()
		case s.Is == "RUNNING" && s.Nodes != "":
			nodes, err := slurm.Hostnames(ctx, s.Nodes)
			if err != nil || len(nodes) == 0 {
				return "", fmt.Errorf("the nodes of job %s: %s: %w", id, s.Nodes, err)
			}
			say("job " + id + " runs on " + s.Nodes)
			return nodes[0], nil
		case s.Reason != "":
			now = "is pending: " + s.Reason
		}
		if now != told && now != "" {
			told = now
			say("job " + id + " " + now)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(pause):
			// Poll less and less often, because waiting in the queue takes long and all users share the controller.
			pause = min(pause*5/4, slowPoll)
		}
	}
}

// attend follows a job through a step on the job's first node. If that node does not share the directory, the step
// transfers the files of the job.
func attend(ctx context.Context, id, node, dir, token, program string, log io.Writer) (own bool, err error) {
	step := slurm.Step{Job: id, Name: "attend", Nodes: []string{node}, Dir: "/", Args: []string{"--input=none"}}
	for try := 0; ; try++ {
		own, err = attendOnce(ctx, step, dir, token, program, log)
		if own || err == nil || ctx.Err() != nil || try == 3 {
			return own, err
		}
		time.Sleep(time.Second) // the job's first process makes the directory
	}
}

func attendOnce(ctx context.Context, step slurm.Step, dir, token, program string, log io.Writer) (own bool, err error) {
	cmd := step.Command(ctx, program, "job", "attend", dir, token)
	cmd.SysProcAttr = apart() // keep Ctrl-C away from srun
	cmd.Stderr = &until{ctx, log}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	if own = err == nil && line == "own\n"; own {
		_, err = Unpack(dir, in)
	}
	io.Copy(io.Discard, in)
	return own, errors.Join(err, cmd.Wait())
}

// salvageLimit is the timeout of the small job that fetches the files of a dead job. It includes the waiting time in
// the queue.
const salvageLimit = 2 * time.Minute

// salvage fetches the files that a job left on its first node when the job was ended from outside. To fetch them,
// salvage submits a small job.
func salvage(ctx context.Context, p *Plan, node, dir string) error {
	ctx, done := context.WithTimeout(ctx, salvageLimit)
	defer done()
	step := slurm.Step{Name: "salvage", Nodes: []string{node}, Dir: "/", Args: []string{"--input=none", "--time=2"}}
	for name, value := range map[string]string{"--account=": p.Job.Slurm.Account, "--partition=": p.Job.Slurm.Partition} {
		if value != "" {
			step.Args = append(step.Args, name+value)
		}
	}
	cmd := step.Command(ctx, p.Program, "job", "pack", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = Unpack(dir, out)
	return errors.Join(err, cmd.Wait())
}

// until discards writes after its context has ended. The messages that srun prints about its own end do not belong to
// the job.
type until struct {
	ctx context.Context
	w   io.Writer
}

func (u *until) Write(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return len(p), nil
	}
	return u.w.Write(p)
}

// Ask queries Slurm or the operating system and updates the state of a job that no longer reports its state.
func Ask(ctx context.Context, s *State) {
	if s.Stage.Ended() {
		return
	}
	host, _ := os.Hostname()
	if s.On != "slurm" && s.Host == host && !alive(s.PID) {
		s.end(ByJob, "the process that ran the job is gone")
	}
	if s.On == "local" || s.Stage.Ended() {
		return
	}
	states, err := slurm.States(ctx, s.Job)
	if errors.Is(err, slurm.ErrUnknown) {
		s.end(ByScheduler, "Slurm no longer knows the job")
		return
	}
	if err != nil || len(states) == 0 {
		return
	}
	if !states[0].Ended() {
		if s.Stage == Submitted { // the job's own state is unknown until its files are collected
			s.Slurm = "Slurm says " + strings.ToLower(states[0].Is) + where(&states[0])
		}
		return
	}
	if now, err := Read(s.Dir); err == nil && now.Stage.Ended() { // the job has ended since the state was read
		now.Dir = s.Dir
		*s = *now
		return
	}
	defer s.write() // store the state, so that later readers see the same state
	if _, err := os.Stat(filepath.Join(s.Dir, LogFile)); err != nil && states[0].Nodes != "" {
		s.Lacks = append(s.Lacks, "the job's files are not here but"+where(&states[0])+" (on the first of these), in "+s.Dir)
	}
	switch is := states[0].Is; {
	case is == "NODE_FAIL" || is == "BOOT_FAIL":
		s.end(ByNode, "Slurm says "+is+": the first node or another one is lost ("+states[0].Reason+")")
	case is == "CANCELLED":
		s.end(ByScheduler, "Slurm says CANCELLED") // Slurm's Reason field would give the reason why the job was pending
	case is == "TIMEOUT" || is == "PREEMPTED" || is == "DEADLINE":
		s.end(ByScheduler, "Slurm says "+is+" ("+states[0].Reason+")")
	case is == "COMPLETED":
		s.end("", "")
	case words[cause(states[0].Exit)] != "":
		s.end(cause(states[0].Exit), fmt.Sprintf("%s, according to its exit status %d", words[cause(states[0].Exit)], states[0].Exit))
	case states[0].Exit == 126 || states[0].Exit == 127: // set by the shell
		s.end(ByNode, "stepscope could not be run on the job's first node: give its path there with --program")
	default:
		s.end(ByJob, fmt.Sprintf("Slurm says %s, exit status %d (%s)", is, states[0].Exit, states[0].Reason))
	}
}

// where returns the nodes of a job, or the reason why the job has no nodes yet.
func where(s *slurm.State) string {
	switch {
	case s.Nodes != "":
		return " on " + s.Nodes
	case s.Reason != "":
		return " (" + s.Reason + ")"
	}
	return ""
}

// words describes causes for which no further detail is known.
var words = map[Cause]string{ByWorker: "a worker failed", ByLoad: "a load failed", ByNode: "a node failed", ByScheduler: "the job was told to stop"}

// cause returns the cause of failure that an exit status stands for.
func cause(status int) Cause {
	for c, n := range statuses {
		if n == status {
			return c
		}
	}
	return ByJob
}

// end records the end of a job that did not report its end.
func (s *State) end(c Cause, what string) {
	s.Since = time.Now()
	switch c {
	case "":
		s.Stage = Completed
		return
	case ByScheduler:
		s.Stage = Cancelled
	default:
		s.Stage = Failed
	}
	if s.Failure == nil || s.Failure.Cause != c { // an earlier failure with this cause has more detail
		s.Failure = &Failure{Cause: c, What: what}
	}
	s.Status = statuses[s.Failure.Cause]
}

// Cancel asks a job to shut down, and kills the job after the grace period. It returns the final state.
func Cancel(ctx context.Context, s *State, grace time.Duration, say func(string)) (*State, error) {
	host, _ := os.Hostname()
	var tell, kill func() error
	switch {
	case s.On == "slurm":
		tell = func() error { return slurm.SignalScript(ctx, s.Job, "INT") }
		kill = func() error { return slurm.Cancel(ctx, s.Job) }
		if states, err := slurm.States(ctx, s.Job); err == nil && len(states) > 0 && states[0].Is == "PENDING" {
			tell = kill
		}
	case s.Host != host:
		return nil, fmt.Errorf("the job runs on %s: cancel it there", s.Host)
	default:
		p, err := os.FindProcess(s.PID)
		if err != nil {
			return nil, err
		}
		tell = func() error { return p.Signal(syscall.SIGINT) }
		kill = func() error { return p.Kill() }
	}
	if err := tell(); err != nil {
		return nil, err
	}
	dir := s.Dir
	ended := func() bool {
		if now, err := Read(dir); err == nil {
			*s, s.Dir = *now, dir
		}
		Ask(ctx, s)
		return s.Stage.Ended()
	}
	for until := time.Now().Add(grace); !ended(); {
		if time.Now().After(until) {
			say(fmt.Sprintf("job %s did not end within %v: ending it at once", s.Job, grace))
			if err := kill(); err != nil {
				return nil, err
			}
			until = until.Add(grace)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(look):
		}
	}
	return s, nil
}
