package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/yamltree"
	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/slurm"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// jobPlace says where jobs are.
type jobPlace struct {
	Output string `name:"output-dir" short:"o" default:"logs" placeholder:"DIR" help:"The directory that the jobs' directories are in (default: logs; or the cluster file's output_dir)."`
}

// conductFlags are for who conducts a job.
type conductFlags struct {
	Ready     time.Duration `name:"ready-timeout" default:"30m" help:"How long workers may take until they serve."`
	Interface string        `name:"interface" placeholder:"NAME" help:"Network interface whose address the nodes of a worker meet at; default: that of the default route."`
	runPlace
}

type jobApplyCmd struct {
	File string `arg:"" placeholder:"FILE" help:"The job's YAML file; - for stdin."`

	On     string `name:"on" enum:"slurm,local" default:"slurm" help:"slurm, or local: all nodes are this machine, without containers."`
	DryRun bool   `name:"dry-run" help:"Show every command, environment, mount, node and file, and do nothing."`
	Detach bool   `name:"detach" help:"Do not follow the job: say its id and end. Without shared storage its files stay on its first node. A sweep is one array job."`

	Parallel int  `name:"parallel" default:"1" placeholder:"N" help:"How many jobs of a sweep run at a time (default: 1): on this machine, as jobs of Slurm, or in an allocation on nodes of their own."`
	JSON     bool `name:"json" help:"Print what became of the job, or of all jobs of the sweep, as JSON."`

	Program string `name:"program" placeholder:"PATH" help:"stepscope on the nodes (default: this program's own path)."`
	clusterFlag
	jobPlace
	conductFlags
}

// Help is the end of the verb's help text.
func (c *jobApplyCmd) Help() string {
	return `Starts the workers of a job on their nodes, waits until they serve, warms them up, sends the loads and opens the windows of all roles together,
stops the workers, brings all files home, merges and explains them. What srtctl's profiling document describes; docs/formats/job.md tells the
file. Inside an allocation of Slurm (salloc) its nodes are used.

A sweep's jobs have directories of their own in that of the sweep; one that fails does not end the others, and at the end one table compares
all (stepscope job sweep). The exit status is that of the first that failed.

Exit status: 10 a worker failed, 11 a load, 12 a node, 13 the scheduler ended it (cancelled, time limit); 3 done, but something is missing.

Examples:
  stepscope job apply job.yaml --dry-run
  stepscope job apply job.yaml --on local
  stepscope job apply job.yaml --detach
  stepscope job apply sweep.yaml --parallel 4`
}

// Run runs the jobs of the file, or shows what they would do.
func (c *jobApplyCmd) Run(ctx context.Context, e *env) error {
	cluster, err := c.cluster(e)
	if err != nil {
		return err
	}
	variants, err := c.read(e, cluster)
	if err != nil {
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
			return fmt.Errorf("%w, or on this machine: --on local", err)
		}
	}
	if c.Parallel < 1 {
		return usagef("--parallel %d: want 1 or more", c.Parallel)
	}
	if id, _ := slurm.Allocation(); c.Detach && (c.On == "local" || id != "") {
		return usagef("--detach is for jobs that are submitted: on this machine, or inside an allocation, this process conducts the job")
	}
	if len(variants[0].Parameters) > 0 {
		return c.sweep(ctx, e, variants, cluster, root)
	}
	return c.one(ctx, e, variants[0].Job, cluster, root)
}

// one runs a job, or shows what it would do.
func (c *jobApplyCmd) one(ctx context.Context, e *env, j *spec.Job, cluster *spec.Cluster, root string) error {
	p, o := c.plan(j, cluster, root)
	if c.DryRun {
		p.Show(e.stdout, &o, root)
		return nil
	}
	var state *job.State
	var err error
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

// plan is what a job will do, and what Slurm is told.
func (c *jobApplyCmd) plan(j *spec.Job, cluster *spec.Cluster, root string) (*job.Plan, job.Slurm) {
	p := job.NewPlan(j, c.Program, c.On == "local")
	if cluster != nil && p.Image != "" {
		p.Preamble = cluster.DefaultBashPreamble
		for _, m := range cluster.DefaultMounts {
			p.Mounts = append(p.Mounts, m.Name+":"+m.Value)
		}
	}
	return p, c.slurm(j, cluster, root)
}

// where tells where the jobs are conducted.
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
	local      place = iota // in this process, all on this machine
	allocated               // in this process, on nodes of the allocation that it is in
	submitting              // in jobs of Slurm
)

// read are the jobs of the file.
func (c *jobApplyCmd) read(e *env, cluster *spec.Cluster) ([]spec.Variant, error) {
	var text []byte
	var err error
	if c.File == "-" {
		text, err = io.ReadAll(io.LimitReader(e.stdin, yamltree.MostBytes+1))
	} else {
		text, err = readYAML(c.File)
	}
	if err != nil {
		return nil, err
	}
	check, variants, err := checkText(c.File, text, cluster.Resolve)
	if err != nil {
		return nil, err
	}
	for _, n := range append(check.Notes, check.Problems...) {
		e.Line(n.String())
	}
	if !check.Valid {
		return nil, fmt.Errorf("%s is no valid job; problems: %d", c.File, len(check.Problems))
	}
	return variants, nil
}

// slurm is what Slurm is told beyond the plan. The embedded server uses no GPUs.
func (c *jobApplyCmd) slurm(j *spec.Job, cluster *spec.Cluster, root string) job.Slurm {
	runDir := c.RunDir
	if abs, err := filepath.Abs(runDir); runDir != "" && err == nil { // the script runs elsewhere
		runDir = abs
	}
	o := job.Slurm{Root: root, Ready: c.Ready, Interface: c.Interface, RunDir: runDir, At: time.Now(), GPUs: j.Backend.Type != spec.StepScope, Follow: !c.Detach, Token: rand.Text()}
	if cluster == nil {
		return o
	}
	o.GPUs = o.GPUs && cluster.UseGPUsPerNode
	o.Segment, o.Exclusive = cluster.UseSegment, cluster.UseExclusive
	if o.Interface == "" {
		o.Interface = cluster.NetworkInterface
	}
	for _, d := range cluster.DefaultSbatch {
		o.Directives = append(o.Directives, strings.TrimSuffix("--"+d.Name+"="+d.Value, "="))
	}
	return o
}

// here conducts a job in this process, on nodes of the allocation that it is in, or on this machine.
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

// conduct runs a job whose first process this is; token is that of who submitted it, if it is another who keeps its runs.
func conduct(ctx context.Context, say func(string), p *job.Plan, k job.Carrier, id, dir, on, token string, f *conductFlags) (*job.State, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	r, err := job.New(p, k, id, dir, on)
	if err != nil {
		return nil, err
	}
	r.Ready, r.Interface, r.RunDir, r.Token = f.Ready, f.Interface, root, token
	log, err := os.OpenFile(filepath.Join(dir, "log.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r.Log = func(line string) {
		line = time.Now().Format("15:04:05 ") + line
		say(line)
		if on != "slurm" { // whose batch script has its output there
			fmt.Fprintln(log, line)
		}
	}
	r.Log(fmt.Sprintf("%s on %s: %s", p.Job.Name, k, dir))
	return r.Do(ctx), nil
}

// outcome says what became of a job, and makes it the exit status.
func outcome(e *env, s *job.State, asJSON bool) error {
	e.status = s.Status
	if asJSON {
		return e.printJSON(s)
	}
	fmt.Fprint(e.stdout, s.Summary())
	if s.Stage == job.Cancelled {
		e.Warn("the job was told to end")
	}
	return nil
}

// submit hands the job to Slurm.
func (c *jobApplyCmd) submit(ctx context.Context, p *job.Plan, o *job.Slurm, say func(string)) (id, dir string, err error) {
	if id, err = slurm.Submit(ctx, p.Script(*o)); err != nil {
		return "", "", refused(err)
	}
	dir = o.For(p, id)
	say(fmt.Sprintf("job %s submitted: %s\n  stepscope job status %s    stepscope job logs %s --follow    stepscope job cancel %s", id, dir, id, id, id))
	if err := job.Note(p, o, id, dir); err != nil {
		return "", "", fmt.Errorf("job %s was submitted, and cannot be followed (scancel %s ends it): %w", id, id, err)
	}
	return id, dir, nil
}

// follow follows a job of Slurm to its end; without a state it does not.
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

// keep puts the runs of a job's loads among one's own, unless the job could.
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

// refused says what to do about an option that this Slurm does not know.
func refused(err error) error {
	if strings.Contains(err.Error(), "--segment") {
		return fmt.Errorf("%w: this Slurm does not know that option; set use_segment_sbatch_directive: false in the cluster file", err)
	}
	return err
}

// jobConductCmd is what the batch script becomes.
type jobConductCmd struct {
	File   string `arg:"" help:"The job's file, in effect; -: stdin."`
	Dir    string `name:"dir" required:"" help:"The job's directory."`
	Follow bool   `name:"followed" help:"Wait at the end for who follows the job."`
	Token  string `name:"token" help:"By which the directory of who submitted is known."`

	Mount    []string `name:"mount" sep:"none" help:"Of containers."`
	Preamble string   `name:"preamble" help:"Shell before each command in a container."`
	conductFlags
}

// Run conducts the job that this process is the first of.
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
	e.status = s.Status // who follows says what became of it
	return nil
}

// jobPrepareCmd, jobPackCmd and jobAttendCmd run on nodes.
type jobPrepareCmd struct {
	Dir       string `arg:""`
	Token     string `arg:""`
	Interface string `name:"interface"`
	Engine    string `name:"engine"`
	Port      []int  `name:"port"`
}

// Run prints what the node says of itself.
func (c *jobPrepareCmd) Run(e *env) error {
	h, err := job.Prepare(c.Dir, c.Token, c.Interface, c.Engine, c.Port)
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

// Run removes the node's own directory of a job.
func (c *jobForgetCmd) Run() error { return job.Forget(c.Dir, c.Token) }

type jobAttendCmd struct {
	Dir   string `arg:""`
	Token string `arg:""`
}

// Run follows the job on its node.
func (c *jobAttendCmd) Run(ctx context.Context, e *env) error {
	return job.Attend(ctx, c.Dir, c.Token, outlet{e.out, e}, outlet{e.errs, e})
}
