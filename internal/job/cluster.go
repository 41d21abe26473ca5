package job

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/stepscope/stepscope/internal/job/slurm"
)

// Cluster runs a job on the nodes of the Slurm allocation that contains this process.
type Cluster struct {
	id    string
	nodes []Node
	plan  *Plan
	dir   string // the job's directory on each node
}

// Allocated returns the nodes of this process's allocation.
func Allocated(ctx context.Context) (names []string, err error) {
	id, list := slurm.Allocation()
	if id == "" {
		return nil, fmt.Errorf("this process is not in a Slurm allocation: SLURM_JOB_ID is not set")
	}
	return slurm.Hostnames(ctx, list)
}

// NewCluster returns a Cluster of the named nodes of this process's allocation. If the plan needs more nodes than names
// lists, it returns an error.
func NewCluster(names []string, p *Plan, dir string) (*Cluster, error) {
	id, _ := slurm.Allocation()
	if len(names) < p.Nodes {
		return nil, fmt.Errorf("the job needs %d nodes, but the allocation %s has %d (%s)", p.Nodes, id, len(names), strings.Join(names, ","))
	}
	c := &Cluster{id: id, plan: p, dir: dir}
	for _, name := range names[:p.Nodes] {
		c.nodes = append(c.nodes, Node{Name: name})
	}
	return c, nil
}

func (c *Cluster) String() string { return "Slurm job " + c.id }

// Nodes returns the nodes that the job uses: the first of the nodes that were given to NewCluster.
func (c *Cluster) Nodes() []Node { return c.nodes }

// Command returns the srun command that runs a task as a step. The step runs in a container if the job has one and
// t.Inside is set.
func (c *Cluster) Command(t *Task) (*exec.Cmd, error) {
	s := c.plan.step(t, c.nodes[t.Node].Name, c.dir)
	cmd := s.Command(context.Background(), c.plan.wrap(t)...)
	cmd.Cancel = nil
	cmd.SysProcAttr = apart() // Ctrl-C must not reach srun: a signal that ends srun kills the step
	return cmd, nil
}

// wrap returns the command of a task. If the task runs in a container, it prepends the preamble.
func (p *Plan) wrap(t *Task) []string {
	if !t.Inside || p.Image == "" || p.Preamble == "" {
		return t.Args
	}
	return append([]string{"bash", "-c", strings.TrimSpace(p.Preamble) + "\nexec \"$@\"", "bash"}, t.Args...)
}

// step returns the Slurm step that runs a task on a node.
func (p *Plan) step(t *Task, node, dir string) *slurm.Step {
	s := &slurm.Step{Name: t.Name, Nodes: []string{node}, Env: t.Env, Dir: "/"}
	if t.Inside && p.Image != "" {
		s.Dir, s.Args = "", p.container(dir)
	}
	for _, o := range p.Job.Today.Srun {
		if t.Inside {
			s.Args = append(s.Args, strings.TrimSuffix("--"+o.Name+"="+o.Value, "="))
		}
	}
	if !t.Stdin {
		s.Args = append(s.Args, "--input=none")
	}
	return s
}

// container returns srun's container flags. These flags are defined by the pyxis plugin.
func (p *Plan) container(dir string) []string {
	mounts := append([]string{dir + ":/logs", dir + ":" + dir}, p.Mounts...)
	return []string{"--container-image=" + p.Image, "--no-container-entrypoint", "--no-container-mount-home", "--container-mounts=" + strings.Join(mounts, ",")}
}

// Signal signals all processes of the task's step. A signal to srun would instead kill the step at once.
func (c *Cluster) Signal(ctx context.Context, t *Task, sig syscall.Signal) error {
	steps, err := slurm.Steps(ctx, c.id)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Name == t.Name && s.Nodes == c.nodes[t.Node].Name { // the allocation may contain steps of other jobs
			name := map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL"}[sig]
			return slurm.Signal(ctx, s.ID, name)
		}
	}
	return fmt.Errorf("job %s has no step %s", c.id, t.Name) // the step has not begun or has ended
}

// Lost returns the job's nodes that Slurm reports as down, drained or not responding.
func (c *Cluster) Lost(ctx context.Context) map[string]string {
	lost := map[string]string{}
	states, err := slurm.NodeStates(ctx, names(c.nodes))
	if err != nil {
		return nil
	}
	for name, state := range states {
		if strings.Contains(state, "DOWN") || strings.Contains(state, "FAIL") || strings.Contains(state, "NOT_RESPONDING") || strings.HasSuffix(state, "*") {
			lost[name] = state
		}
	}
	return lost
}

func names(nodes []Node) (out []string) {
	for _, n := range nodes {
		if !slices.Contains(out, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out
}
