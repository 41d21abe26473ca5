package job

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// Ports of workers, as in today's srtctl. Workers of a node have different ports.
const (
	todayPort      = 6100
	todayStride    = 32
	bootstrapPort  = 7200
	ncclPort       = 17500
	todayDistPort  = 8300
	todayVLLMPort  = 8000
	defaultRatio   = "1"
	configsInImage = "/configs"
)

// today reports whether a job has one of the dialects that srtctl has had since December 19, 2025.
func today(j *spec.Job) bool { return j.Dialect().Today() }

// today assigns the workers of a job to nodes and GPUs as today's srtctl does. Several workers have a router.
func (p *Plan) today() {
	j := p.Job
	placed, _ := j.Place()
	vllm := todayVLLMPort
	if len(placed) > 1 {
		p.Router = routerPort
		vllm++ // the port of a single vLLM server is that of the router
	}
	ports, bootstraps := map[int]int{}, map[int]int{}
	process := 0
	for _, at := range placed {
		w := Worker{Role: at.Role, Index: at.Index, Nodes: at.Nodes, GPUs: at.GPUs, Process: process, Dist: todayDistPort}
		leader := at.Nodes[0]
		w.Port = todayPort + todayStride*ports[leader]
		if j.Backend.Type == spec.VLLM {
			w.Port = vllm + len(p.Workers) // unique, because it names the directory of traces
		}
		if p.Local {
			leader = 0 // all nodes are this machine
			w.Port, w.Dist = httpPort+len(p.Workers), distPort+len(p.Workers)
		}
		if port := spec.Size(j.Backend.Config[at.Role], "port"); port > 0 && j.Backend.Type != spec.VLLM {
			w.Port = port
		}
		ports[leader]++
		if at.Role == spec.Prefill {
			w.Bootstrap = bootstrapPort + bootstraps[leader]
			bootstraps[leader]++
		}
		process += len(at.Nodes)
		if ph := j.Phase(at.Role); ph != nil {
			p.Phases = append(p.Phases, Phase{Name: phaseName(j, &w), Role: at.Role, Worker: len(p.Workers), Prompts: promptsToday(j, ph, at.Role), Phase: *ph})
		}
		p.Workers = append(p.Workers, w)
	}
	for _, role := range j.Roles() {
		p.Nodes += j.Nodes(role)
	}
	if p.Image == "" {
		return
	}
	for _, m := range j.Today.Mounts {
		p.Mounts = append(p.Mounts, m.Name+":"+m.Value)
	}
	if j.Today.Setup != "" {
		p.Preamble = "bash " + columns.ShellWord(path.Join(configsInImage, j.Today.Setup))
	}
}

// Check returns an error if the job lacks GPUs of this machine, or a directory in its containers.
func (p *Plan) Check() error {
	if err := p.enough(); err != nil {
		return err
	}
	mounted := func(m string) bool { return strings.Contains(m+":", ":"+configsInImage+":") }
	if p.Image == "" || p.Job.Today.Setup == "" || slices.ContainsFunc(p.Mounts, mounted) {
		return nil
	}
	return fmt.Errorf("%s: setup_script %s is in %s, which nothing mounts; set srtctl_root in the cluster file", p.Job.Name, p.Job.Today.Setup, configsInImage)
}

// serverToday returns the command that runs on one node of a worker. It is the command of today's srtctl if the
// frontend is sglang or vllm. Other frontends need other programs, which Replaced names.
func (p *Plan) serverToday(w *Worker, rank int, logs, leader, node string) Command {
	j, b := p.Job, &p.Job.Backend
	c := Command{Env: p.environment(w, rank, node)}
	direct := b.Type == spec.VLLM && j.Today.Frontend == "vllm" && !p.Local && !j.Today.SetVisible
	if gpus := p.visible(w, rank); len(gpus) > 0 && !direct {
		names := make([]string, len(gpus))
		for i, g := range gpus {
			names[i] = p.device(g)
		}
		c.Env = append(c.Env, "CUDA_VISIBLE_DEVICES="+strings.Join(names, ","))
	}
	if j.Profiling.Type == spec.Torch && b.Type == spec.SGLang {
		c.Env = append(c.Env, "SGLANG_TORCH_PROFILER_DIR="+p.profiles(logs, w.Role))
	}
	if j.Profiling.Type == spec.Nsys {
		c.Args = []string{"nsys", "profile", "-t", "cuda,nvtx", "--cuda-graph-trace=node", "-c", "cudaProfilerApi", "--capture-range-end", "stop", "--force-overwrite", "true"}
		c.Args = append(append(c.Args, j.Today.NsysArgs...), "-o", strings.TrimSuffix(p.report(w, rank, logs, node), ".nsys-rep"))
	}
	if b.Type == spec.VLLM {
		c.Args = append(c.Args, p.vllm(w, rank, logs, leader, direct)...)
		return c
	}
	port := w.Port
	if rank > 0 {
		port = 0
	}
	c.Args = append(c.Args, "python3", "-m", "sglang.launch_server", "--model-path", p.model(), "--served-model-name", p.served(),
		"--host", "0.0.0.0", "--port", strconv.Itoa(port), "--nccl-port", strconv.Itoa(ncclPort+w.Process+rank))
	c.Args = append(c.Args, p.pairing(w, rank)...)
	if len(w.Nodes) > 1 {
		c.Args = append(c.Args, "--dist-init-addr", fmt.Sprintf("%s:%d", leader, w.Dist), "--nnodes", strconv.Itoa(len(w.Nodes)), "--node-rank", strconv.Itoa(rank))
	}
	return Command{c.Env, append(c.Args, without(b.Config[w.Role], "model-path", "served-model-name", "nccl-port")...)}
}

// vllm returns the command of a vLLM worker. direct is set if srtctl starts the same program.
func (p *Plan) vllm(w *Worker, rank int, logs, leader string, direct bool) []string {
	j := p.Job
	args := []string{"vllm", "serve", p.model()}
	if rank == 0 {
		args = append(args, "--host", "0.0.0.0", "--port", strconv.Itoa(w.Port))
	}
	if len(w.Nodes) > 1 {
		args = append(args, "--master-addr", leader, "--nnodes", strconv.Itoa(len(w.Nodes)), "--node-rank", strconv.Itoa(rank))
		if rank > 0 {
			args = append(args, "--headless")
		}
	}
	if direct {
		args = append(args, "--device-ids", joined(p.gpus(w)))
	}
	flags := slices.Clone(j.Backend.Config[w.Role])
	set := func(key string, value any) {
		if !has(flags, key) {
			flags = append(flags, spec.Flag{Key: key, Value: value})
		}
	}
	set("served-model-name", p.served())
	switch ph := j.Phase(w.Role); {
	case ph == nil:
	case j.Profiling.Type == spec.Torch:
		dir := strings.ReplaceAll(p.outputDir(logs, w.Role), "{port}", strconv.Itoa(w.Port))
		set("profiler-config", fmt.Sprintf(`{"profiler": "torch", "torch_profiler_dir": %q}`, dir))
	case j.Profiling.Type == spec.Nsys:
		set("profiler-config", fmt.Sprintf(`{"profiler": "cuda", "delay_iterations": %d, "max_iterations": %d}`, ph.StartStep, ph.StopStep-ph.StartStep))
	}
	sorts.Stable(flags, func(a, b spec.Flag) int { return strings.Compare(a.Key, b.Key) })
	drop := []string{"headless", "host", "port", "master-addr", "nnodes", "node-rank", "connector"}
	if rank > 0 {
		drop = append(drop, "api-server-count")
	}
	return append(args, without(flags, drop...)...)
}

// without returns the arguments of flags, except for some flags.
func without(flags []spec.Flag, drop ...string) (args []string) {
	for _, f := range flags {
		if !slices.Contains(drop, f.Key) {
			args = append(args, f.Args()...)
		}
	}
	return args
}

// gpus returns the GPUs of a worker on each of its nodes. A worker without a list has all.
func (p *Plan) gpus(w *Worker) []int {
	if w.GPUs != nil {
		return w.GPUs
	}
	all := make([]int, p.Job.Resources.GPUsPerNode)
	for g := range all {
		all[g] = g
	}
	return all
}

func joined(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// model returns the model as the servers name it: an identifier of Hugging Face, or a directory.
func (p *Plan) model() string {
	m := p.Job.Model.Path
	switch id, hub := strings.CutPrefix(m, "hf:"); {
	case hub:
		return id
	case p.Image != "" || strings.HasPrefix(m, "/") && !p.Local:
		return "/model"
	}
	return m
}

// served returns the name under which the servers offer the model.
func (p *Plan) served() string {
	for _, role := range []spec.Role{spec.Prefill, spec.Aggregated, spec.Decode} {
		if name, ok := value(p.Job.Backend.Config[role], "served-model-name").(string); ok {
			return name
		}
	}
	return path.Base(strings.TrimPrefix(p.Job.Model.Path, "hf:"))
}

// report returns the path of the nsys report of one node of a worker.
func (p *Plan) report(w *Worker, rank int, logs, node string) string {
	if !today(p.Job) {
		return path.Join(logs, "profiles", fmt.Sprintf("%s_%d.nsys-rep", w.Role, rank))
	}
	return path.Join(p.profiles(logs, w.Role), fmt.Sprintf("%s_%s_profile_gpu%s.nsys-rep", node, w.Name(), strings.ReplaceAll(joined(p.gpus(w)), ",", "-")))
}

// Replaced returns lines about programs of srtctl that stepscope replaces by others, or leaves out.
func (p *Plan) Replaced() (lines []string) {
	j := p.Job
	if !today(j) {
		return nil
	}
	programs := map[string]string{spec.SGLang: "sglang.launch_server instead of dynamo.sglang", spec.VLLM: "vllm serve instead of dynamo.vllm"}
	if what := programs[j.Backend.Type]; what != "" && j.Today.Frontend == "dynamo" {
		lines = append(lines, "starts "+what+": no NATS, etcd, Dynamo and nginx")
	}
	if p.Router > 0 {
		instead := map[string]string{"dynamo": "Dynamo's frontend", spec.SGLang: "sglang_router"}
		lines = append(lines, "requests go through stepscope route instead of "+cmp.Or(instead[j.Today.Frontend], "a frontend"))
	}
	if n := len(j.Benchmark.Concurrencies); n > 1 && len(p.Phases) > 0 {
		lines = append(lines, fmt.Sprintf("%d concurrencies: the load has the concurrency %d; --concurrency chooses another one", n, p.Phases[0].Concurrency))
	}
	return lines
}

// NotRun returns the parts of a job that job apply does not run. Some of them --dry-run can show.
func NotRun(j *spec.Job) (parts []string) {
	parts = slices.Clone(j.Cannot)
	if !today(j) {
		return parts
	}
	if !j.Recorded() && len(j.Cannot) == 0 {
		phases := "aggregated: {start_step: 40, stop_step: 60}"
		if j.Disaggregated() {
			phases = "prefill: {start_step: 5, stop_step: 15}, decode: {start_step: 40, stop_step: 60}"
		}
		parts = append(parts, "a benchmark without profiling (add profiling: {type: torch, "+phases+"})")
	}
	return parts
}

// shortest returns the length of the shortest prompt or answer of a load, from the longest.
func shortest(j *spec.Job, longest int) int {
	ratio, err := strconv.ParseFloat(rangeRatio(j), 64)
	if err != nil {
		return max(1, longest)
	}
	return max(1, int(float64(longest)*ratio))
}

// opens returns the step of the load after which the window is opened, and the number of steps until it is closed.
// Under nsys, vLLM itself waits for the first step to record.
func opens(j *spec.Job, ph *Phase) (after, steps int) {
	if today(j) && j.Backend.Type == spec.VLLM && j.Profiling.Type == spec.Nsys {
		return 0, ph.StopStep
	}
	return ph.StartStep, ph.StopStep - ph.StartStep
}

// api returns the API of the servers, as the load names it.
func api(j *spec.Job) string {
	if j.Backend.Type == spec.VLLM {
		return spec.VLLM
	}
	return spec.SGLang
}

// rangeRatio returns the shortest length of a request as a share of the longest.
func rangeRatio(j *spec.Job) string {
	if !today(j) || j.Benchmark.Type != spec.SABench {
		return defaultRatio
	}
	return strconv.FormatFloat(j.Today.RangeRatio, 'g', -1, 64)
}

// warmups returns the number of warm-up requests of a load. Each of several workers gets at least one.
func warmups(j *spec.Job, ph *Phase) int {
	n := warmupRequests
	switch {
	case !today(j):
		return n
	case j.Benchmark.Type == spec.SABench:
		n = ph.Concurrency * j.Today.WarmupMult
	}
	for _, role := range j.Roles() {
		n = max(n, min(n, 1)*j.Workers(role))
	}
	return n
}
