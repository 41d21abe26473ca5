// Package job runs a job file on nodes and collects the results. It generates the command lines of the workers and of
// the loads, and runs these commands on this machine or with Slurm. The order of the commands and the names of the
// files follow srtctl's profiling document. The package only runs programs and has no knowledge of servers or
// benchmarks.
package job

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// Ports of a worker that does not share its node with another worker: SGLang's default port, and srtctl's port for
// torch's rendezvous.
const (
	httpPort = 30000
	distPort = 29500
)

// Constants of a phase, as in srtctl's script.
const (
	leastPrompts   = 128
	warmupRequests = 10
)

// Plan holds everything that a job will do.
type Plan struct {
	Job     *spec.Job `json:"job"`
	Local   bool      `json:"local"`   // run the job on this machine, without containers
	Program string    `json:"program"` // path of stepscope on all nodes
	Image   string    `json:"image"`   // container image; "": none
	Mounts  []string  `json:"mounts"`  // "host:container"; the job's directory is always mounted as well
	// Preamble is shell code that is run before each command in a container; "": the command is run without a shell.
	Preamble string `json:"preamble"`

	Nodes   int      `json:"nodes"`
	Workers []Worker `json:"workers"`
	Phases  []Phase  `json:"phases"`
	// Router is the port of the router that gives all workers one load, on the first node; 0: each phase has a load.
	Router int `json:"router,omitempty"`
	// Devices are the GPUs of this machine that the user has chosen with CUDA_VISIBLE_DEVICES, in a local job; nil: all.
	Devices []string `json:"-"`
	// Key is sent to embedded servers that listen beyond loopback.
	Key string `json:"-"`
}

// Worker is a server on one or several nodes.
type Worker struct {
	Role  spec.Role `json:"role"`
	Index int       `json:"index"`
	Nodes []int     `json:"nodes"` // indices of the worker's nodes; the first one is the leader
	Port  int       `json:"port"`
	Dist  int       `json:"dist"` // rendezvous port of the worker's nodes

	GPUs      []int `json:"gpus,omitempty"`      // GPUs of the worker on its node; nil: all
	Process   int   `json:"process,omitempty"`   // processes of the job before the worker's
	Bootstrap int   `json:"bootstrap,omitempty"` // port at which a prefill worker accepts decode workers
}

// Phase is the load of a worker and the window that is recorded during the load.
type Phase struct {
	Name    string    `json:"name"` // in names of files: the role, or the worker if its role has several workers
	Role    spec.Role `json:"role"`
	Worker  int       `json:"worker"` // index in Plan.Workers
	Prompts int       `json:"prompts"`
	spec.Phase
}

// Command is a command line with additional environment variables.
type Command struct {
	Env  []string // NAME=value
	Args []string
}

// String returns the command in shell syntax, with one variable per line.
func (c Command) String() string {
	var b strings.Builder
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "%s=%s \\\n", name, columns.ShellWord(value))
	}
	for i, a := range c.Args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(columns.ShellWord(a))
	}
	return b.String()
}

// NewPlan assigns the workers of a job to nodes, prefill workers first. The nodes of a role are divided evenly among
// the workers of the role. If local is set, all workers share one machine, and each worker has different ports.
func NewPlan(j *spec.Job, program string, local bool) *Plan {
	p := &Plan{Job: j, Local: local, Program: program}
	if given := os.Getenv("CUDA_VISIBLE_DEVICES"); given != "" && local {
		p.Devices = strings.Split(given, ",")
	}
	if !local && j.Backend.Type != spec.StepScope {
		p.Image = j.Model.Container
	}
	if p.Image != "" {
		if strings.HasPrefix(j.Model.Path, "/") {
			p.Mounts = append(p.Mounts, j.Model.Path+":/model/")
		}
		for _, m := range j.ExtraMount {
			p.Mounts = append(p.Mounts, m.Host+":"+m.Container)
		}
	}
	if today(j) {
		p.today()
		return p
	}
	for _, role := range j.Roles() {
		each := j.Nodes(role) / j.Workers(role)
		for i := range j.Workers(role) {
			w := Worker{Role: role, Index: i, Port: httpPort, Dist: distPort}
			if local {
				w.Port, w.Dist = httpPort+len(p.Workers), distPort+len(p.Workers)
			}
			if port := spec.Size(j.Backend.Config[role], "port"); port > 0 {
				w.Port = port
			}
			for n := range each {
				w.Nodes = append(w.Nodes, p.Nodes+i*each+n)
			}
			if ph := j.Phase(role); ph != nil && i == 0 {
				p.Phases = append(p.Phases, Phase{Name: string(role), Role: role, Worker: len(p.Workers), Prompts: prompts(ph), Phase: *ph})
			}
			p.Workers = append(p.Workers, w)
		}
		p.Nodes += j.Nodes(role)
	}
	return p
}

// Shift offsets the workers' ports, so that concurrent jobs on one machine do not conflict.
func (p *Plan) Shift(by int) {
	if p.Router > 0 {
		p.Router += by
	}
	for i := range p.Workers {
		w := &p.Workers[i]
		w.Dist += by
		if w.Bootstrap > 0 {
			w.Bootstrap += by
		}
		if !has(p.Job.Backend.Config[w.Role], "port") {
			w.Port += by
		}
	}
}

// prompts returns the number of prompts that a window needs. It assumes that each batch of requests takes at least one
// prefill step, plus one decode step per token after the first token. One additional batch keeps the server busy until
// the window ends.
func prompts(ph *spec.Phase) int { return promptsOf(ph, ph.OSL) }

// promptsOf returns the number of prompts for requests that have at least shortest tokens in their answers.
func promptsOf(ph *spec.Phase, shortest int) int {
	batches := (ph.StopStep+shortest-1)/shortest + 1
	return max(leastPrompts, batches*ph.Concurrency)
}

// label describes the workers for the name of the job's directory, such as 1P_1D or 1A.
func (p *Plan) label() string {
	letters := map[spec.Role]string{spec.Prefill: "P", spec.Decode: "D", spec.Aggregated: "A"}
	var out []string
	for _, role := range p.Job.Roles() {
		out = append(out, strconv.Itoa(p.Job.Workers(role))+letters[role])
	}
	return strings.Join(out, "_")
}

// Name returns the worker's name for file names, such as prefill_w0 or agg_w0.
func (w *Worker) Name() string {
	role := string(w.Role)
	if w.Role == spec.Aggregated {
		role = "agg"
	}
	return fmt.Sprintf("%s_w%d", role, w.Index)
}

// task returns the name of the worker's task on the node with the given rank.
func (w *Worker) task(rank int) string {
	if len(w.Nodes) == 1 {
		return w.Name()
	}
	return fmt.Sprintf("%s_n%d", w.Name(), rank)
}

// Loads returns the loads of the job, each with the phases that it records. A router has one load.
func (p *Plan) Loads() (all []Load) {
	if p.Router > 0 && len(p.Phases) > 0 {
		return []Load{{name: "all", port: p.Router, phases: p.Phases}}
	}
	for i := range p.Phases {
		w := &p.Workers[p.Phases[i].Worker]
		all = append(all, Load{name: p.Phases[i].Name, node: w.Nodes[0], port: w.Port, phases: p.Phases[i : i+1]})
	}
	return all
}

// loadOf returns the load during which a phase is recorded.
func (p *Plan) loadOf(ph *Phase) *Load {
	all := p.Loads()
	for i := range all {
		if all[i].name == ph.Name {
			return &all[i]
		}
	}
	return &all[0]
}

// Load is the requests that are sent to a server or to a router, from a node.
type Load struct {
	name       string
	node, port int
	phases     []Phase
}

// task returns the name of a load's task, which is also the name of its output file.
func (l *Load) task() string { return "profile_" + l.name }

// prompts returns the number of prompts that last until all windows of the load have ended.
func (l *Load) prompts() (n int) {
	for i := range l.phases {
		n = max(n, l.phases[i].Prompts)
	}
	return n
}

// windows describes the windows of a load that several workers take.
func (l *Load) windows() string {
	var all []string
	for i := range l.phases {
		if ph := &l.phases[i]; i == 0 || ph.Role != l.phases[i-1].Role {
			all = append(all, fmt.Sprintf("steps %d to %d of %s workers", ph.StartStep, ph.StopStep, ph.Role))
		}
	}
	return strings.Join(all, ", ")
}

// dir returns the directory of the load's runs.
func (l *Load) dir() string { return path.Join("runs", l.name) }

// profiles returns the directory of a role's traces. logs is the job's directory as the commands see it.
func (p *Plan) profiles(logs string, role spec.Role) string {
	name := string(role)
	if role == spec.Aggregated && today(p.Job) {
		name = "agg" // as in today's srtctl
	}
	return path.Join(logs, "profiles", name)
}

// Server returns the command that runs on one node of a worker. logs is the job's directory as the command sees it,
// leader is the address of the worker's first node, and node is the name of the node on which the command runs.
func (p *Plan) Server(w *Worker, rank int, logs, leader, node string) Command {
	j, b := p.Job, &p.Job.Backend
	if today(j) && b.Type != spec.StepScope {
		return p.serverToday(w, rank, logs, leader, node)
	}
	c := Command{Env: p.environment(w, rank, node)}
	if j.Profiling.Type == spec.Torch {
		c.Env = append(c.Env, "SGLANG_TORCH_PROFILER_DIR="+p.profiles(logs, w.Role))
	}
	if j.Profiling.Type == spec.Nsys {
		c.Args = p.nsys(strings.TrimSuffix(p.report(w, rank, logs, node), ".nsys-rep"))
	}
	switch {
	case b.Type == spec.StepScope:
		c.Args = append(c.Args, p.Program, "serve")
		if !has(b.Config[w.Role], "model-path") {
			c.Args = append(c.Args, "--model-path", j.Model.Path)
		}
		c.Args = append(append(c.Args, p.pairing(w, rank)...), flags(j, w.Role)...)
		if j.Profiling.Type == spec.Nsys && !has(b.Config[w.Role], "enable-layerwise-nvtx-marker") {
			// Without this flag, steps are missing from the report.
			c.Args = append(c.Args, "--enable-layerwise-nvtx-marker")
		}
	case j.Profiling.Type == spec.None:
		c.Args = append(c.Args, "python3", "-m", "dynamo.sglang", "--config", path.Join(logs, "sglang_config.yaml"), "--config-key", string(w.Role))
	default:
		c.Args = append(c.Args, "python3", "-m", "sglang.launch_server")
		c.Args = append(c.Args, flags(j, w.Role)...)
	}
	if b.Type != spec.StepScope || len(w.Nodes) > 1 {
		c.Args = append(c.Args, "--dist-init-addr", fmt.Sprintf("%s:%d", leader, w.Dist), "--nnodes", strconv.Itoa(len(w.Nodes)), "--node-rank", strconv.Itoa(rank))
	}
	host := "0.0.0.0"
	switch {
	case b.Type != spec.StepScope:
	case p.Router > 0 && !p.Local:
		c.Env = append(c.Env, "STEPSCOPE_API_KEY="+p.key())
	default:
		host = "127.0.0.1" // the load runs on the same node; a server that listens on other addresses would need a key
	}
	c.Args = append(c.Args, "--host", host)
	if w.Port != httpPort && !has(b.Config[w.Role], "port") {
		c.Args = append(c.Args, "--port", strconv.Itoa(w.Port))
	}
	if b.Type != spec.StepScope && j.Profiling.Type == spec.None && j.EnableConfigDump {
		c.Args = append(c.Args, "--dump-config-to", path.Join(logs, node+"_config.json"))
	}
	return c
}

// flags returns the flags of a role in sglang_config, sorted by key. The job decides which servers form a pair, so flags
// omits --disaggregation-mode. Recorded servers of the dialect P do both prefill and decode.
func flags(j *spec.Job, role spec.Role) (args []string) {
	for _, f := range j.Backend.Config[role] {
		if f.Key != "disaggregation-mode" || !j.Recorded() && !today(j) {
			args = append(args, f.Args()...)
		}
	}
	return args
}

func has(flags []spec.Flag, key string) bool { return value(flags, key) != nil }

// value returns the value of the flag with the given key, or nil if flags does not contain it.
func value(flags []spec.Flag, key string) any {
	if i := slices.IndexFunc(flags, func(f spec.Flag) bool { return f.Key == key }); i >= 0 {
		return flags[i].Value
	}
	return nil
}

// nsys returns the nsys command line that srtctl puts before the server's command line. The embedded server has no GPU
// and cannot start the CUDA profiler, so its window is an NVTX range.
func (p *Plan) nsys(output string) []string {
	args := []string{"nsys", "profile", "-t", "cuda,nvtx", "--cuda-graph-trace=node", "-c", "cudaProfilerApi"}
	if p.Job.Backend.Type == spec.StepScope {
		args = append(args[:len(args)-1], "nvtx", "-p", "cudaProfilerApi@stepscope")
	}
	return append(args, "--capture-range-end", "stop", "-o", output)
}

// Load returns the command of a load. The command waits until the server is ready, warms it up, and prints
// "ready". When the command receives a line on stdin, it sends the load and captures the windows.
func (p *Plan) Load(l *Load, logs string, ready int) Command {
	ph := &l.phases[len(l.phases)-1] // not prefill, if there are decode workers
	after, steps := opens(p.Job, ph)
	c := Command{Args: []string{
		p.Program, "bench", "serving", "--backend", api(p.Job), "--host", "127.0.0.1", "--port", strconv.Itoa(l.port), "--ready-check-timeout-sec", strconv.Itoa(ready),
		"--dataset-name", "random", "--max-concurrency", strconv.Itoa(ph.Concurrency), "--num-prompts", strconv.Itoa(l.prompts()),
		"--random-input-len", strconv.Itoa(ph.ISL), "--random-output-len", strconv.Itoa(ph.OSL), "--random-range-ratio", rangeRatio(p.Job),
		"--warmup-requests", strconv.Itoa(warmups(p.Job, ph)), "--start-on-input",
		"--profile", "--profile-after-steps", strconv.Itoa(after), "--profile-num-steps", strconv.Itoa(steps),
	}}
	if p.Router > 0 {
		c = p.routed(c, l)
	}
	if rate := p.Job.Benchmark.ReqRate; today(p.Job) && rate != "inf" {
		c.Args = append(c.Args, "--request-rate", rate)
	}
	if p.Job.Profiling.Type == spec.Nsys {
		c.Args = append(c.Args, "--profile-activities", "CUDA_PROFILER")
		if p.Job.Backend.Type == spec.VLLM { // it has no directory for traces, and bench serving would look for one
			c.Args = append(c.Args, "--profile-output-dir", p.profiles(logs, ph.Role))
		}
	} else {
		c.Args = append(c.Args, "--profile-output-dir", p.outputDir(logs, ph.Role))
	}
	c.Args = append(c.Args, "--run-dir", path.Join(logs, l.dir()), "--output-file", path.Join(logs, "bench_"+l.name+".jsonl"), "--tag", p.Job.Name)
	return c
}
