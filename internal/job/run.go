package job

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// Timeouts of a job.
const (
	warming     = 30 * time.Minute // time limit of a warm-up; it is long because the first requests may compile kernels
	serverGrace = 60 * time.Second // time for a server to end after TERM; reportGrace if it must write a report
	reportGrace = 10 * time.Minute
	loadGrace   = 60 * time.Second // time for the load to end after a worker has died
	// settle is the delay after the end of a task in which the real cause of the end may become visible.
	settle = time.Second
)

// Run is a job in progress.
type Run struct {
	Ready     time.Duration // timeout for workers to become ready
	Interface string        // network interface whose address workers use among each other; "": see Prepare
	RunDir    string        // directory in which the runs of the loads are also stored; "": none
	// Token is the token of the submitting process. That process stores the runs unless the directory is shared.
	Token string
	Log   func(line string) // reports progress to the user

	plan  *Plan
	c     Carrier
	dir   string
	token string
	state State
	here  []Here

	workers []*Proc // one Proc per node of each worker
	loads   []*Proc
	loading bool          // the loads have begun
	broken  chan *Failure // first failed worker or load
}

// New returns a run of a plan and makes the directory of the job. on is the value of State.On.
func New(p *Plan, c Carrier, id, dir, on string) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	p.Key = rand.Text()
	r := &Run{plan: p, c: c, dir: dir, token: rand.Text(), broken: make(chan *Failure, 1), Log: func(string) {}}
	now := time.Now()
	r.state = State{Job: id, Name: p.Job.Name, On: on, Stage: Starting, Since: now, Began: now, Dir: dir, Host: host, PID: os.Getpid(), Nodes: c.Nodes()}
	if err := os.WriteFile(filepath.Join(dir, marker), []byte(r.token), 0o644); err != nil {
		return nil, err
	}
	return r, r.state.write()
}

// enter begins a stage of the job.
func (r *Run) enter(s Stage) {
	r.state.Stage, r.state.Since = s, time.Now()
	if err := r.state.write(); err != nil {
		r.Log("The state could not be written: " + err.Error())
	}
}

// Do runs the job, from starting the first process to writing the report, and returns the final state. After any
// failure, Do still stops all processes and collects the existing files.
func (r *Run) Do(ctx context.Context) *State {
	failure := r.work(ctx)
	r.state.Failure = failure
	if failure != nil {
		r.Log(failure.What)
		for _, line := range failure.Lines {
			r.Log("    | " + line)
		}
	}
	r.enter(Stopping)
	after := context.WithoutCancel(ctx)
	r.stopAll(after)
	r.enter(Gathering)
	if err := r.gather(after); err != nil {
		r.lack("%v", err)
	}
	if ctx.Err() == nil { // skipped if the user cancels the job, so that the user need not wait for the report
		r.enter(Analyzing)
		r.finish(ctx)
	}
	switch {
	case failure != nil && failure.Cause == ByScheduler:
		r.state.Status = statuses[failure.Cause]
		r.enter(Cancelled)
	case failure != nil:
		r.state.Status = statuses[failure.Cause]
		r.enter(Failed)
	case len(r.state.Lacks) > 0:
		r.state.Status = 3
		r.enter(Completed)
	default:
		r.enter(Completed)
	}
	return &r.state
}

// work starts everything and waits until the loads are done or something fails.
func (r *Run) work(ctx context.Context) *Failure {
	if err := r.prepare(ctx); err != nil {
		return r.because(ctx, ByNode, "prepare the nodes: %v", err)
	}
	if err := r.files(); err != nil {
		return r.because(ctx, ByNode, "%v", err)
	}
	if f := r.serve(ctx); f != nil {
		return f
	}
	r.enter(Awaiting)
	if len(r.plan.Phases) == 0 {
		if b := r.plan.Job.Benchmark.Type; b != "manual" {
			r.lack("benchmark.type %s is not run here: send the load yourself", b)
		}
		r.Log("The workers are started. Nothing is recorded. The job runs until a worker ends or until: stepscope job cancel " + r.state.Job)
		return r.wait(ctx, nil, "")
	}
	var warm sync.WaitGroup
	for _, l := range r.plan.Loads() {
		warm.Add(1)
		if f := r.load(&l, warm.Done); f != nil {
			return f
		}
	}
	all := make(chan struct{})
	go func() {
		warm.Wait()
		close(all)
	}()
	if f := r.wait(ctx, all, "ready"); f != nil {
		return f
	}
	r.enter(Loading)
	r.loading = true
	r.Log("All workers are ready and warm: the loads and their windows begin")
	for _, p := range r.loads {
		if _, err := io.WriteString(p.stdin, "go\n"); err != nil {
			return r.because(ctx, ByLoad, "%s: %v", p.Name, err)
		}
		p.stdin.Close()
	}
	done := make(chan struct{})
	go func() {
		for _, p := range r.loads {
			<-p.done
		}
		close(done)
	}()
	if f := r.wait(ctx, done, "done"); f != nil {
		return f
	}
	for _, p := range r.loads {
		if f := r.failed(p, ByLoad); f != nil {
			return r.explain(ctx, f)
		}
	}
	return nil
}

// serve starts the workers, and the router if there is one.
func (r *Run) serve(ctx context.Context) *Failure {
	for i := range r.plan.Workers {
		w := &r.plan.Workers[i]
		for rank, node := range w.Nodes {
			name := r.nodeName(node)
			logs := r.dir
			if r.plan.Image != "" {
				logs = "/logs"
			}
			t := &Task{Name: w.task(rank), Node: node, Inside: true, Command: r.plan.Server(w, rank, logs, r.addr(w.Nodes[0]), name)}
			p, err := start(r.c, t, filepath.Join(r.dir, name+"_"+w.Name()+".out"), nil)
			if err != nil {
				return r.because(ctx, ByWorker, "%s: %v", t.Name, err)
			}
			r.Log(fmt.Sprintf("%s starts on %s", t.Name, name))
			r.workers = append(r.workers, p)
			go r.watch(p, ByWorker)
		}
	}
	return r.route(ctx)
}

// nodeName returns a node's name for file names. On one machine, all nodes have the same name, so nodeName adds the
// index of the node.
func (r *Run) nodeName(node int) string {
	name := r.c.Nodes()[node].Name
	if r.plan.Local && r.plan.Nodes > 1 {
		return fmt.Sprintf("%s-%d", name, node)
	}
	return name
}

// addr returns the address at which other nodes reach a node.
func (r *Run) addr(node int) string {
	if r.plan.Local {
		return "127.0.0.1"
	}
	return r.here[node].Addr
}

// load starts a load. It calls ready when the load has warmed up the server.
func (r *Run) load(l *Load, ready func()) *Failure {
	t := &Task{Name: l.task(), Node: l.node, Stdin: true, Command: r.plan.Load(l, r.dir, int(r.Ready.Seconds()))}
	p, err := start(r.c, t, filepath.Join(r.dir, t.Name+".out"), &readyWatch{tell: sync.OnceFunc(ready)})
	if err != nil {
		return fail(ByLoad, "%s: %v", t.Name, err)
	}
	r.loads = append(r.loads, p)
	go r.watch(p, ByLoad)
	return nil
}

// readyWatch calls tell when the line "ready" is written.
type readyWatch struct {
	tell func()
	line []byte
}

func (w *readyWatch) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		line, rest, ok := bytes.Cut(w.line, []byte("\n"))
		if !ok {
			w.line = w.line[:min(len(w.line), 100)]
			return len(p), nil
		}
		if string(bytes.TrimSpace(line)) == "ready" {
			w.tell()
		}
		w.line = rest
	}
}

// watch waits for the end of a task and reports a failure of the task. For a worker, any end is a failure. For a load,
// only an error is a failure.
func (r *Run) watch(p *Proc, cause Cause) {
	<-p.done
	if f := r.failed(p, cause); f != nil {
		select {
		case r.broken <- f:
		default:
		}
	}
}

// failed returns the failure of a task that has ended, or nil if the task succeeded or was asked to end.
func (r *Run) failed(p *Proc, cause Cause) *Failure {
	if p.told.Load() || cause == ByLoad && (p.err == nil || p.cmd.ProcessState.ExitCode() == 3) {
		return nil
	}
	how := "has ended"
	if p.err != nil {
		how = "failed: " + p.err.Error()
	}
	f := fail(cause, "%s on %s %s, %.0f s after its start", p.Name, r.nodeName(p.Node), how, time.Since(p.began).Seconds())
	f.of = p
	return f
}

// wait returns when done is closed, when the first failure occurs, or when ctx ends.
func (r *Run) wait(ctx context.Context, done <-chan struct{}, what string) *Failure {
	limit := time.NewTimer(24 * 365 * time.Hour)
	// The load itself stops waiting for the server after Ready. This limit ends a warm-up that hangs.
	if what == "ready" {
		limit.Reset(r.Ready + warming)
	}
	defer limit.Stop()
	select {
	case <-done:
		return nil
	case f := <-r.broken:
		return r.explain(ctx, f)
	case <-limit.C:
		return fail(ByWorker, "a worker is not ready and warm after %v", r.Ready+warming)
	case <-ctx.Done():
		return r.ended()
	}
}

// because returns a failure with the given cause. If the job was asked to end, that request is the cause instead.
func (r *Run) because(ctx context.Context, cause Cause, format string, args ...any) *Failure {
	if ctx.Err() != nil {
		return r.ended()
	}
	return r.explain(ctx, fail(cause, format, args...))
}

// ended returns the failure of a job that was asked to end. It uses the elapsed time to decide whether the time limit
// was the reason.
func (r *Run) ended() *Failure {
	f := fail(ByScheduler, "the job was told to stop while it was %s, %.0f s after its start", r.state.Stage, time.Since(r.state.Began).Seconds())
	if limit := r.plan.Job.Slurm.TimeLimit; !r.plan.Local && limit != "" {
		f.What += "; slurm.time_limit is " + limit
	}
	return f
}

// explain refines a failure. It checks whether a node was lost, and whether the output of a worker ends with an error.
func (r *Run) explain(ctx context.Context, f *Failure) *Failure {
	select { // if the job is ended from outside, the steps of the job end before the job itself
	case <-ctx.Done():
		return r.ended()
	case <-time.After(settle):
	}
	if lost := r.c.Lost(context.WithoutCancel(ctx)); len(lost) > 0 {
		for name, state := range lost {
			f = fail(ByNode, "the node %s is %s: %s", name, strings.ToLower(state), f.What)
		}
		return f
	}
	p := f.of
	if p == nil {
		return f
	}
	text := r.output(p)
	f.Lines = ending(text)
	if full := "no space left on device"; strings.Contains(text, full) {
		f.Cause, f.What = ByNode, f.What+": "+full
		return f
	}
	if f.Cause != ByLoad {
		return f
	}
	f.What += ": " + reason(text)
	if r.state.Stage != Awaiting || time.Since(p.began) < r.Ready {
		return f
	}
	// The load failed because it waited for a worker that never became ready.
	for _, w := range r.workers {
		if r.awaited(w, p, f.What) {
			return &Failure{Cause: ByWorker, What: fmt.Sprintf("%s on %s is not ready after %v", w.Name, r.nodeName(w.Node), r.Ready), Lines: ending(r.output(w))}
		}
	}
	return f
}

// stopAll stops the loads that are still running, and then the workers.
func (r *Run) stopAll(ctx context.Context) {
	for _, p := range stop(ctx, r.c, r.loads, loadGrace) {
		r.Log(fmt.Sprintf("%s did not end by itself and was killed", p.Name))
	}
	grace := serverGrace
	if r.plan.Job.Profiling.Type == spec.Nsys {
		grace = reportGrace
	}
	for _, p := range stop(ctx, r.c, r.workers, grace) {
		r.lack("%s on %s did not end within %v and was killed", p.Name, r.nodeName(p.Node), grace)
	}
	for _, p := range slices.Concat(r.workers, r.loads) {
		if p.out.err != nil {
			r.lack("the output of %s is cut off: %v", p.Name, p.out.err)
		}
	}
	for _, p := range r.loads {
		if p.cmd.ProcessState != nil && p.cmd.ProcessState.ExitCode() == 3 {
			why := lastLine(r.output(p))
			if r.apart() {
				why += "; " + r.unshared()
			}
			r.lack("%s is incomplete: %s; see %s.out", p.Name, why, p.Name)
		}
	}
}

// lack records that an expected item is missing.
func (r *Run) lack(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.state.Lacks = append(r.state.Lacks, line)
	r.Log(line)
}
