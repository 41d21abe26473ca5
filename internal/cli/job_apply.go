package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/yamltree"
	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/slurm"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// jobPlace locates the directories of jobs.
type jobPlace struct {
	Output string `name:"output-dir" short:"o" default:"logs" placeholder:"DIR" help:"Directory that holds the jobs' directories (default: logs, or the cluster file's output_dir)."`
}

// conductFlags are the flags of the process that runs a job.
type conductFlags struct {
	Ready     *time.Duration `name:"ready-timeout" placeholder:"TIME" help:"How long workers may take to become ready; default: 30m, or the product of the file's health_check."`
	Interface string         `name:"interface" placeholder:"NAME" help:"Network interface through which the nodes of a worker connect; default: that of the default route."`
	runPlace
}

type jobApplyCmd struct {
	File string `arg:"" placeholder:"FILE" help:"The job's YAML file; - for stdin."`

	On     string `name:"on" enum:"slurm,local" default:"slurm" help:"slurm, or local: all nodes are this machine, without containers."`
	DryRun bool   `name:"dry-run" help:"Show every command, environment, mount, node and file without doing anything."`
	Detach bool   `name:"detach" help:"Submit the job, print its id and exit. Without shared storage, its files stay on its first node. A sweep becomes one array job."`

	Concurrency int `name:"concurrency" placeholder:"N" help:"Record the load of this one of benchmark.concurrencies."`

	Parallel int  `name:"parallel" default:"1" placeholder:"N" help:"How many jobs of a sweep run at the same time (default: 1): on this machine, as Slurm jobs, or in an allocation, each on separate nodes."`
	JSON     bool `name:"json" help:"Print the outcome of the job, or of all jobs of the sweep, as JSON."`

	Program string `name:"program" placeholder:"PATH" help:"Path of stepscope on the nodes (default: that of this program)."`
	clusterFlag
	jobPlace
	conductFlags
}

// Help returns the end of the verb's help text.
func (c *jobApplyCmd) Help() string {
	return `Starts the workers of a job on their nodes, waits until they are ready, warms them up, sends the loads and opens the windows of all roles
together, stops the workers, collects all files, merges and explains them, as srtctl's profiling document describes. In today's format,
several workers take one load through stepscope route, which stands in for srtctl's frontend. docs/formats/job.md documents the file. Inside
a Slurm allocation (salloc), its nodes are used.

Each job of a sweep has its own directory inside that of the sweep. A failed job does not end the others, and at the end one table compares
all jobs (stepscope job sweep). The exit status is that of the first job that failed.

Exit status: 10 a worker failed, 11 a load, 12 a node, 13 the scheduler ended it (cancelled, time limit); 3 done, but something is missing.

Examples:
  stepscope job apply job.yaml --dry-run
  stepscope job apply job.yaml --on local
  stepscope job apply job.yaml --detach
  stepscope job apply sweep.yaml --parallel 4`
}

// Run runs the jobs of the file, or prints their plans.
func (c *jobApplyCmd) Run(ctx context.Context, e *env) error {
	cluster, err := c.cluster(e)
	if err != nil {
		return err
	}
	variants, err := c.read(e, cluster)
	if err != nil {
		return err
	}
	if err := c.runnable(variants); err != nil {
		return err
	}
	if c.Program == "" {
		if c.Program, err = os.Executable(); err != nil {
			return err
		}
	}
	root := c.Output
	if cluster != nil && root == "logs" {
		root = cluster.Logs(root)
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	if c.On == "slurm" && !c.DryRun {
		if err := slurm.Available(); err != nil {
			return fmt.Errorf("%w; to run on this machine: --on local", err)
		}
	}
	if c.Parallel < 1 {
		return usagef("--parallel %d: want 1 or more", c.Parallel)
	}
	if id, _ := slurm.Allocation(); c.Detach && (c.On == "local" || id != "") {
		return usagef("--detach needs a job to submit: on this machine, or inside an allocation, this process runs the job")
	}
	if len(variants[0].Parameters) > 0 {
		return c.sweep(ctx, e, variants, cluster, root)
	}
	return c.one(ctx, e, variants[0].Job, cluster, root)
}

// runnable chooses the concurrency of the jobs. It returns an error if a job has a part that is not run, or if its
// workers do not fit on their nodes. A dry run shows such jobs if they have commands.
func (c *jobApplyCmd) runnable(variants []spec.Variant) error {
	for _, v := range variants {
		j := v.Job
		all := j.Benchmark.Concurrencies
		recorded := j.Dialect() == spec.DialectH && j.Recorded()
		switch parts := job.NotRun(j); {
		case len(j.Cannot) > 0:
			return fmt.Errorf("stepscope job apply cannot run this: %s", strings.Join(j.Cannot, ", "))
		case v.Misfit != "":
			return fmt.Errorf("%s: %s", j.Name, v.Misfit)
		case c.Concurrency > 0 && (!recorded || !slices.Contains(all, c.Concurrency)):
			return usagef("--concurrency %d: benchmark.concurrencies has %v", c.Concurrency, all)
		case c.DryRun:
		case len(parts) > 0:
			return fmt.Errorf("stepscope job apply does not run this yet: %s; --dry-run shows the commands", strings.Join(parts, ", "))
		case recorded && len(all) > 1 && c.Concurrency == 0:
			return fmt.Errorf("benchmark.concurrencies has %d values: --concurrency N records one of them", len(all))
		}
		if c.Concurrency > 0 {
			j.Benchmark.Concurrencies = []int{c.Concurrency}
			j.Load(c.Concurrency)
		}
	}
	return nil
}

// ready returns how long the workers of a job may take to become ready.
func (f *conductFlags) ready(j *spec.Job) time.Duration {
	t := &j.Today
	switch {
	case f.Ready != nil:
		return *f.Ready
	case t.Attempts > 0:
		return time.Duration(t.Attempts*t.Interval) * time.Second
	}
	return usualReady
}

// usualReady is the default of --ready-timeout for a job whose format has no health_check.
const usualReady = 30 * time.Minute

// one runs one job, or prints the plan of the job.
func (c *jobApplyCmd) one(ctx context.Context, e *env, j *spec.Job, cluster *spec.Cluster, root string) error {
	p, o, err := c.plan(j, cluster, root)
	if err != nil {
		return err
	}
	if c.DryRun {
		p.Show(e.stdout, &o, root)
		return nil
	}
	var state *job.State
	if where := c.where(); where == submitting {
		state, err = c.follow(ctx, e, p, &o)
	} else {
		var nodes []string
		if where == allocated {
			if nodes, err = job.Allocated(ctx); err != nil {
				return err
			}
		}
		state, err = c.here(ctx, p, &o, nodes, e.Line)
	}
	if err != nil || state == nil {
		return err
	}
	return outcome(e, state, c.JSON)
}

// plan returns the plan of a job and the options for Slurm. Without --dry-run, it checks the plan.
func (c *jobApplyCmd) plan(j *spec.Job, cluster *spec.Cluster, root string) (*job.Plan, job.Slurm, error) {
	p := job.NewPlan(j, c.Program, c.On == "local")
	if cluster != nil && p.Image != "" {
		p.Preamble = strings.Trim(cluster.DefaultBashPreamble+"\n"+p.Preamble, "\n")
		if j.Today.Setup != "" && cluster.SrtctlRoot != "" {
			p.Mounts = append(p.Mounts, filepath.Join(cluster.SrtctlRoot, "configs")+":/configs")
		}
		for _, m := range cluster.DefaultMounts {
			p.Mounts = append(p.Mounts, m.Name+":"+m.Value)
		}
	}
	if err := p.Check(); err != nil && !c.DryRun {
		return nil, job.Slurm{}, err
	}
	return p, c.slurm(j, cluster, root), nil
}

// where returns where the jobs run: in this process, in the current allocation, or as Slurm jobs.
func (c *jobApplyCmd) where() place {
	if c.On == "local" {
		return local
	}
	if id, _ := slurm.Allocation(); id != "" {
		return allocated
	}
	return submitting
}

type place int

const (
	local      place = iota // in this process, with all tasks on this machine
	allocated               // in this process, with tasks on nodes of the current allocation
	submitting              // as Slurm jobs
)

// read returns the jobs of the file.
func (c *jobApplyCmd) read(e *env, cluster *spec.Cluster) ([]spec.Variant, error) {
	var text []byte
	var selected string
	var err error
	if c.File == "-" {
		text, err = io.ReadAll(io.LimitReader(e.stdin, yamltree.MostBytes+1))
	} else {
		text, selected, err = readJob(c.File)
	}
	if err != nil {
		return nil, err
	}
	check, variants, err := checkText(c.File, text, selected, cluster.Resolve)
	if err != nil {
		return nil, err
	}
	for _, n := range append(check.Notes, check.Problems...) {
		e.Line(n.String())
	}
	if !check.Valid {
		return nil, fmt.Errorf("%s is not a valid job; problems: %d", c.File, len(check.Problems))
	}
	return variants, nil
}

// slurm returns the Slurm options that are not part of the plan. Jobs with the embedded server request no GPUs.
func (c *jobApplyCmd) slurm(j *spec.Job, cluster *spec.Cluster, root string) job.Slurm {
	runDir := c.RunDir
	if abs, err := filepath.Abs(runDir); runDir != "" && err == nil { // the batch script runs in another directory
		runDir = abs
	}
	o := job.Slurm{Root: root, Ready: c.ready(j), Interface: c.Interface, RunDir: runDir, At: time.Now(), GPUs: j.Backend.Type != spec.StepScope, Follow: !c.Detach, Token: rand.Text()}
	for _, d := range j.Today.Sbatch {
		o.Directives = append(o.Directives, strings.TrimSuffix("--"+d.Name+"="+d.Value, "="))
	}
	if cluster == nil {
		return o
	}
	o.GPUs = o.GPUs && cluster.UseGPUsPerNode
	o.Segment, o.Exclusive = cluster.UseSegment, cluster.UseExclusive
	if o.Interface == "" {
		o.Interface = cluster.NetworkInterface
	}
	for _, d := range cluster.DefaultSbatch {
		if slices.ContainsFunc(j.Today.Sbatch, func(s spec.Setting) bool { return s.Name == d.Name }) {
			continue
		}
		o.Directives = append(o.Directives, strings.TrimSuffix("--"+d.Name+"="+d.Value, "="))
	}
	return o
}

// here runs a job in this process, on nodes of the current allocation or on this machine.
func (c *jobApplyCmd) here(ctx context.Context, p *job.Plan, o *job.Slurm, nodes []string, say func(string)) (*job.State, error) {
	id, _ := slurm.Allocation()
	if p.Local {
		id = "local-" + strings.ToLower(rand.Text()[:4])
	}
	dir := o.For(p, id)
	var k job.Carrier = job.NewLocal(p.Nodes)
	on := "local"
	if p.Local {
		defer p.Reserve()()
	} else {
		on = "allocation"
		var err error
		if k, err = job.NewCluster(nodes, p, dir); err != nil {
			return nil, err
		}
	}
	return conduct(ctx, say, p, k, id, dir, on, "", &c.conductFlags)
}

// conduct runs a job; it is called in the first process of the job. token is the token of the submitting process, if
// that process stores the job's runs.
func conduct(ctx context.Context, say func(string), p *job.Plan, k job.Carrier, id, dir, on, token string, f *conductFlags) (*job.State, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	r, err := job.New(p, k, id, dir, on)
	if err != nil {
		return nil, err
	}
	r.Ready, r.Interface, r.RunDir, r.Token = f.ready(p.Job), f.Interface, root, token
	log, err := os.OpenFile(filepath.Join(dir, "log.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r.Log = func(line string) {
		line = time.Now().Format("15:04:05 ") + line
		say(line)
		if on != "slurm" { // under Slurm, the output of the batch script already goes to the log
			fmt.Fprintln(log, line)
		}
	}
	r.Log(fmt.Sprintf("%s on %s: %s", p.Job.Name, k, dir))
	return r.Do(ctx), nil
}

// outcome prints the outcome of a job and sets the exit status.
func outcome(e *env, s *job.State, asJSON bool) error {
	e.status = s.Status
	if asJSON {
		return e.printJSON(s)
	}
	fmt.Fprint(e.stdout, s.Summary())
	if s.Stage == job.Cancelled {
		e.Warn("the job was cancelled")
	}
	return nil
}

// submit submits the job to Slurm.
func (c *jobApplyCmd) submit(ctx context.Context, p *job.Plan, o *job.Slurm, say func(string)) (id, dir string, err error) {
	if id, err = slurm.Submit(ctx, p.Script(*o)); err != nil {
		return "", "", refused(err)
	}
	dir = o.For(p, id)
	say(fmt.Sprintf("job %s submitted: %s\n  stepscope job status %s    stepscope job logs %s --follow    stepscope job cancel %s", id, dir, id, id, id))
	if err := job.Note(p, o, id, dir); err != nil {
		return "", "", fmt.Errorf("job %s was submitted, but cannot be followed (scancel %s ends it): %w", id, id, err)
	}
	return id, dir, nil
}

// follow submits a job to Slurm and follows it until it ends. With --detach, it returns a nil state after submitting.
func (c *jobApplyCmd) follow(ctx context.Context, e *env, p *job.Plan, o *job.Slurm) (*job.State, error) {
	id, dir, err := c.submit(ctx, p, o, e.Line)
	if err != nil {
		return nil, err
	}
	if c.Detach {
		fmt.Fprintln(e.stdout, id)
		return nil, nil
	}
	s, err := job.Fetch(ctx, p, id, dir, o.Token, e.stderr, e.Line)
	if err != nil {
		if ctx.Err() != nil {
			e.Line(fmt.Sprintf("the job goes on: stepscope job cancel %s ends it", id))
		}
		return nil, err
	}
	return s, c.keep(p, s)
}

// keep adds the runs of the job's loads to the user's runs, unless the job itself has done so.
func (c *jobApplyCmd) keep(p *job.Plan, s *job.State) error {
	if len(s.Runs) > 0 {
		return nil
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	return s.Keep(p, root)
}

// refused adds advice to an error about an option that this version of Slurm does not know.
func refused(err error) error {
	if strings.Contains(err.Error(), "--segment") {
		return fmt.Errorf("%w: this Slurm does not know that option; set use_segment_sbatch_directive: false in the cluster file", err)
	}
	return err
}

// jobConductCmd is the verb that the batch script execs to run the job.
type jobConductCmd struct {
	File   string `arg:"" help:"The resolved job file; - for stdin."`
	Dir    string `name:"dir" required:"" help:"The job's directory."`
	Follow bool   `name:"followed" help:"Wait at the end for the process that follows the job."`
	Token  string `name:"token" help:"Token that identifies the submitter's directory."`

	Mount    []string `name:"mount" sep:"none" help:"Mounts of containers."`
	Preamble string   `name:"preamble" help:"Shell commands to run before each command in a container."`
	conductFlags
}

// Run runs the job.
func (c *jobConductCmd) Run(ctx context.Context, e *env) error {
	text, err := io.ReadAll(e.stdin)
	if err != nil {
		return err
	}
	j, _, err := spec.Parse("the batch script's job", text)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	p := job.NewPlan(j, program, false)
	p.Mounts, p.Preamble = c.Mount, c.Preamble
	nodes, err := job.Allocated(ctx)
	if err != nil {
		return err
	}
	k, err := job.NewCluster(nodes, p, c.Dir)
	if err != nil {
		return err
	}
	s, err := conduct(ctx, e.Line, p, k, slurm.Self(), c.Dir, "slurm", c.Token, &c.conductFlags)
	if err != nil {
		return err
	}
	if !job.Shared(c.Dir, c.Token) {
		job.Linger(context.WithoutCancel(ctx), c.Dir, c.Follow)
	}
	e.status = s.Status // the process that follows the job reports the outcome
	return nil
}

// jobPrepareCmd, jobPackCmd and jobAttendCmd run on the nodes of a job.
type jobPrepareCmd struct {
	Dir       string   `arg:""`
	Token     string   `arg:""`
	Interface string   `name:"interface"`
	Engine    string   `name:"engine"`
	Make      []string `name:"make"`
	Port      []int    `name:"port"`
}

// Run prints the properties of the node.
func (c *jobPrepareCmd) Run(e *env) error {
	h, err := job.Prepare(c.Dir, c.Token, c.Interface, c.Engine, c.Port, c.Make...)
	if err != nil {
		return err
	}
	return e.printJSON(h)
}

type jobPackCmd struct {
	Dir   string   `arg:""`
	Parts []string `arg:"" optional:""`
}

// Run writes the files to stdout.
func (c *jobPackCmd) Run(e *env) error { return job.Pack(outlet{e.out, e}, c.Dir, c.Parts...) }

type jobForgetCmd struct {
	Dir   string `arg:""`
	Token string `arg:""`
}

// Run removes the directory of a job that the node does not share.
func (c *jobForgetCmd) Run() error { return job.Forget(c.Dir, c.Token) }

type jobAttendCmd struct {
	Dir   string `arg:""`
	Token string `arg:""`
}

// Run follows the job on the job's first node.
func (c *jobAttendCmd) Run(ctx context.Context, e *env) error {
	return job.Attend(ctx, c.Dir, c.Token, outlet{e.out, e}, outlet{e.errs, e})
}
