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

// Cluster carries a job over the nodes of an allocation of Slurm that this process is in.
type Cluster struct {
	id    string
	nodes []Node
	plan  *Plan
	dir   string // the job's directory, on each node
}

// Allocated are the nodes of the allocation that this process is in.
func Allocated(ctx context.Context) (names []string, err error) {
	id, list := slurm.Allocation()
	if id == "" {
		return nil, fmt.Errorf("this process is in no allocation of Slurm: SLURM_JOB_ID is not set")
	}
	return slurm.Hostnames(ctx, list)
}

// NewCluster is the allocation that this process is in, or some nodes of it, if these are enough for the plan.
func NewCluster(names []string, p *Plan, dir string) (*Cluster, error) {
	id, _ := slurm.Allocation()
	if len(names) < p.Nodes {
		return nil, fmt.Errorf("the job wants %d nodes, the allocation %s has %d (%s)", p.Nodes, id, len(names), strings.Join(names, ","))
	}
	c := &Cluster{id: id, plan: p, dir: dir}
	for _, name := range names[:p.Nodes] {
		c.nodes = append(c.nodes, Node{Name: name})
	}
	return c, nil
}

func (c *Cluster) String() string { return "Slurm job " + c.id }

// Nodes are the first of those it was given.
func (c *Cluster) Nodes() []Node { return c.nodes }

// Command is a step, in a container if there is one and the task belongs inside.
func (c *Cluster) Command(t *Task) (*exec.Cmd, error) {
	s := c.plan.step(t, c.nodes[t.Node].Name, c.dir)
	cmd := s.Command(context.Background(), c.plan.wrap(t)...)
	cmd.Cancel = nil
	cmd.SysProcAttr = apart() // Ctrl-C is for us: what ends an srun kills its step
	return cmd, nil
}

// wrap puts the preamble before the command of a task in a container.
func (p *Plan) wrap(t *Task) []string {
	if !t.Inside || p.Image == "" || p.Preamble == "" {
		return t.Args
	}
	return append([]string{"bash", "-c", strings.TrimSpace(p.Preamble) + "\nexec \"$@\"", "bash"}, t.Args...)
}

// step is a task as a step on a node.
func (p *Plan) step(t *Task, node, dir string) *slurm.Step {
	s := &slurm.Step{Name: t.Name, Nodes: []string{node}, Env: t.Env, Dir: "/"}
	if t.Inside && p.Image != "" {
		s.Dir, s.Args = "", p.container(dir)
	}
	if !t.Stdin {
		s.Args = append(s.Args, "--input=none")
	}
	return s
}

// container are srun's flags for it, those of the pyxis plugin.
func (p *Plan) container(dir string) []string {
	mounts := append([]string{dir + ":/logs", dir + ":" + dir}, p.Mounts...)
	return []string{"--container-image=" + p.Image, "--no-container-entrypoint", "--no-container-mount-home", "--container-mounts=" + strings.Join(mounts, ",")}
}

// Signal goes to all processes of the task's step. What signals an srun instead has its step killed at once.
func (c *Cluster) Signal(ctx context.Context, t *Task, sig syscall.Signal) error {
	steps, err := slurm.Steps(ctx, c.id)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Name == t.Name && s.Nodes == c.nodes[t.Node].Name { // other jobs may run in the allocation, too
			name := map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL"}[sig]
			return slurm.Signal(ctx, s.ID, name)
		}
	}
	return fmt.Errorf("job %s has no step %s", c.id, t.Name) // yet, or any more
}

// Lost are nodes of the job that Slurm calls down, drained or silent.
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
