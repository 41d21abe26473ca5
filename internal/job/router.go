package job

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// Several workers of today's format take one load through stepscope route, on the first node of the job. A prefill and
// a decode worker handle each request together. All workers are recorded during this load, each in the steps of its
// role.

const (
	routerPort = 8000 // srtctl's public port
	routerName = "router_0"
	// routerMore is how many seconds longer than the load the router waits for workers, so that the load gives the reason.
	routerMore = 60
	// mostPrefill is SGLang's default of max-prefill-tokens, and of chunked-prefill-size on large GPUs.
	mostPrefill = 16384
)

// phaseName returns the name of the phase of a worker.
func phaseName(j *spec.Job, w *Worker) string {
	if j.Workers(w.Role) > 1 {
		return w.Name()
	}
	return string(w.Role)
}

// promptsToday returns the number of prompts of a load. Each worker gets a part of each batch of requests. A batch takes
// at least one step of a prefill worker, which generates the first tokens.
func promptsToday(j *spec.Job, ph *spec.Phase, role spec.Role) int {
	tokens, each := shortest(j, ph.OSL), *ph
	switch role {
	case spec.Prefill:
		tokens = 1
	case spec.Decode:
		tokens = max(1, tokens-1)
	}
	each.Concurrency = max(ph.Concurrency, j.Workers(role))
	n := promptsOf(&each, tokens)
	if role == spec.Prefill { // a large batch takes many steps
		n = min(n, each.Concurrency+j.Workers(role)*((ph.StopStep+1)*prefillTokens(j)/shortest(j, ph.ISL)+1))
	}
	return max(n, leastPrompts, ph.Concurrency*j.Today.PromptsMult)
}

// prefillTokens returns how many tokens of prompts one step of a prefill worker takes at most.
func prefillTokens(j *spec.Job) int {
	flags := j.Backend.Config[spec.Prefill]
	n := cmp.Or(spec.Size(flags, "chunked-prefill-size"), spec.Size(flags, "max-prefill-tokens"), mostPrefill)
	return min(n*max(1, spec.DP(flags)), 1<<30)
}

// environment returns the environment variables that the job file has for a worker.
func (p *Plan) environment(w *Worker, rank int, node string) (env []string) {
	j := p.Job
	for _, v := range j.Backend.Environment[w.Role] {
		env = append(env, v.Name+"="+v.Value)
	}
	if !today(j) {
		return env
	}
	for _, v := range j.Today.Environment {
		env = append(env, v.Name+"="+v.Value)
	}
	known := strings.NewReplacer("{node}", node, "{node_id}", strconv.Itoa(w.Nodes[rank]))
	for i, v := range env {
		name, value, _ := strings.Cut(v, "=")
		env[i] = name + "=" + known.Replace(value)
	}
	return env
}

// pairing returns the arguments by which a prefill and a decode worker of today's format form a pair.
func (p *Plan) pairing(w *Worker, rank int) (args []string) {
	if !today(p.Job) || w.Role == spec.Aggregated {
		return nil
	}
	args = []string{"--disaggregation-mode", string(w.Role)}
	if w.Role == spec.Prefill && rank == 0 {
		args = append(args, "--disaggregation-bootstrap-port", strconv.Itoa(w.Bootstrap))
	}
	return args
}

// visible returns the GPUs to which a node of a worker is limited; nil: there is no limit. On one machine, each node of
// the job is a range of the machine's GPUs.
func (p *Plan) visible(w *Worker, rank int) []int {
	if !p.Local || p.Nodes < 2 {
		return w.GPUs
	}
	var all []int
	for _, g := range p.gpus(w) {
		all = append(all, w.Nodes[rank]*p.Job.Resources.GPUsPerNode+g)
	}
	return all
}

// device returns a GPU of visible as CUDA_VISIBLE_DEVICES names it.
func (p *Plan) device(gpu int) string {
	if p.Devices != nil && gpu < len(p.Devices) {
		return p.Devices[gpu]
	}
	return strconv.Itoa(gpu)
}

// enough returns an error if the job needs more GPUs than Devices has.
func (p *Plan) enough() error {
	if p.Devices == nil || !today(p.Job) || p.Job.Backend.Type == spec.StepScope {
		return nil
	}
	need := 0
	for i := range p.Workers {
		w := &p.Workers[i]
		for rank := range w.Nodes {
			for _, g := range p.visible(w, rank) {
				need = max(need, g+1)
			}
		}
	}
	if n := len(p.Devices); n < need {
		return fmt.Errorf("%s: the job needs %d GPUs, and CUDA_VISIBLE_DEVICES has %d: %s", p.Job.Name, need, n, strings.Join(p.Devices, ","))
	}
	return nil
}

// key returns the key of embedded servers that listen beyond loopback.
func (p *Plan) key() string { return cmp.Or(p.Key, "$KEY") }

// guarded returns the environment of a program that calls the workers.
func (p *Plan) guarded() []string {
	if p.Local || p.Job.Backend.Type != spec.StepScope {
		return nil
	}
	return []string{"STEPSCOPE_API_KEY=" + p.key()}
}

// Route returns the command of the router. addr returns the address of a node.
func (p *Plan) Route(ready int, addr func(node int) string) Command {
	// The copies of one request that warm up the workers must reach all of them, so the policy is round_robin.
	c := Command{Env: p.guarded(), Args: []string{
		p.Program, "route", "--host", "127.0.0.1", "--port", strconv.Itoa(p.Router), "--policy", "round_robin", "--worker-startup-timeout-secs", strconv.Itoa(ready + routerMore),
	}}
	if p.Job.Disaggregated() {
		c.Args = append(c.Args, "--pd-disaggregation")
	} else {
		c.Args = append(c.Args, "--worker-urls")
	}
	for i := range p.Workers {
		w := &p.Workers[i]
		if w.Role != spec.Aggregated {
			c.Args = append(c.Args, "--"+string(w.Role))
		}
		c.Args = append(c.Args, w.url(addr))
	}
	return c
}

// joint reports whether one report explains the windows of all workers: those of prefill and of decode together.
func (p *Plan) joint() bool {
	return p.Router > 0 && len(p.Phases) > 0 && p.Job.Disaggregated() && p.Job.Profiling.Type == spec.Torch
}

// url returns the URL of a worker.
func (w *Worker) url(addr func(node int) string) string {
	return fmt.Sprintf("http://%s:%d", addr(w.Nodes[0]), w.Port)
}

// routed adds the arguments of a load through the router.
func (p *Plan) routed(c Command, l *Load) Command {
	c.Env = p.guarded()
	c.Args = append(c.Args, "--ready-workers", strconv.Itoa(len(p.Workers)))
	if first := &l.phases[0]; first.Role == spec.Prefill {
		c.Args = append(c.Args, "--profile-prefill-after-steps", strconv.Itoa(first.StartStep), "--profile-prefill-num-steps", strconv.Itoa(first.StopStep-first.StartStep))
	}
	return c
}

// outputDir returns the directory that a load names to the servers of a role.
func (p *Plan) outputDir(logs string, role spec.Role) string {
	switch {
	case p.Router == 0 || role == spec.Aggregated && p.Job.Backend.Type != spec.VLLM:
		return p.profiles(logs, role)
	case p.Job.Backend.Type == spec.VLLM: // each of its servers has a directory of its own
		return path.Join(p.profiles(logs, role), "{port}")
	}
	return path.Join(logs, "profiles", "{role}")
}

// traces returns the directory of the traces of a phase.
func (p *Plan) traces(logs string, ph *Phase) string {
	of := p.profiles(logs, ph.Role)
	if p.Job.Workers(ph.Role) > 1 && today(p.Job) {
		return path.Join(of, fmt.Sprintf("w%d", p.Workers[ph.Worker].Index))
	}
	return of
}

// route starts the router, if the job has one.
func (r *Run) route(ctx context.Context) *Failure {
	if r.plan.Router == 0 {
		return nil
	}
	t := &Task{Name: routerName, Command: r.plan.Route(int(r.Ready.Seconds()), r.addr)}
	p, err := start(r.c, t, filepath.Join(r.dir, r.nodeName(0)+"_"+routerName+".out"), nil)
	if err != nil {
		return r.because(ctx, ByWorker, "%s: %v", t.Name, err)
	}
	r.Log(fmt.Sprintf("%s starts on %s: it stands in for srtctl's frontend", routerName, r.nodeName(0)))
	r.workers = append(r.workers, p)
	go r.watch(p, ByWorker)
	return nil
}

// awaited reports whether a load that failed for a reason waited for a node of a worker. Behind a router, the reason has
// the URLs of the workers.
func (r *Run) awaited(w, load *Proc, reason string) bool {
	if r.plan.Router == 0 {
		return w.Node == load.Node
	}
	return slices.ContainsFunc(r.plan.Workers, func(k Worker) bool {
		return k.task(0) == w.Name && strings.Contains(reason, k.url(r.addr))
	})
}

// unshared explains what a run lacks if apart is true.
func (r *Run) unshared() string {
	return "the load's run has no traces of workers on other nodes, because the nodes do not share " + r.dir
}

// apart reports whether a load cannot read the traces of workers on other nodes. Embedded servers send their traces.
func (r *Run) apart() bool {
	return r.plan.Router > 0 && r.plan.Job.Backend.Type != spec.StepScope && slices.ContainsFunc(r.here, func(h Here) bool { return !h.Shared })
}
