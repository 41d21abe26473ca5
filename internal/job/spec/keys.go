package spec

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/memory"
)

// key describes a key of a YAML file. The parser, the texts of problems and the JSON schema are all derived from tables
// of such descriptions.
type key[T any] struct {
	name     string
	about    string
	class    Class  // what stepscope does with the key
	only     string // dialects that have the key, such as "MH"; "": all
	when     string // value of backend.type for which the key exists; "": all
	required bool
	optional string   // dialects in which a required key is optional
	unless   string   // KEY=VALUE, such as backend.type=stepscope: the key is not required if KEY has that VALUE
	choices  []string // allowed strings in the dialect P
	today    []string // allowed strings in the dialects M and H; nil: any
	numbers  bool     // the string may be a number
	lines    bool     // the string may have several lines, or be empty in the dialects M and H
	least    int      // minimum of a number
	zero     bool     // 0 is allowed in the dialects M and H
	most     int      // maximum of a number; 0: most
	preset   any      // default value given in the schema

	// at returns the destination of the value. The type of the destination determines the form that the value must
	// have: *string, *int, *float64, *bool, *[]string, *[]int (a list of numbers, or 1x4x8), *[]Mount (of
	// host:container), func([]Setting) (a map of strings), func([]Flag), *[]Parameter. If at is nil, the value may have
	// any form and is ignored.
	at func(*T) any

	keys  []key[T] // keys of the map, if the value is a map
	begin func(*T) // called if the map is present
	stays bool     // if true, an empty map is an error; if false, an empty map counts as an absent one
}

// most is the largest number that a key accepts unless the key has a limit of its own.
const most = 1<<31 - 1

func (k *key[T]) largest() int {
	if k.most > 0 {
		return k.most
	}
	return most
}

var jobKeys = []key[Job]{
	{name: "name", about: "Name of the job, shown by the scheduler.", required: true, at: func(j *Job) any { return &j.Name }},
	{name: "model", about: "The model to serve.", required: true, keys: []key[Job]{
		{name: "path", about: "Directory of the model, or an alias defined in the cluster file.", required: true, at: func(j *Job) any { return &j.Model.Path }},
		{name: "container", about: "Image of the workers' container, or an alias defined in the cluster file.", required: true, unless: "backend.type=" + StepScope,
			at: func(j *Job) any { return &j.Model.Container }},
		{name: "precision", about: "Number format of the weights.", required: true, choices: []string{"fp4", "fp8", "fp16", "bf16"}, at: func(j *Job) any { return &j.Model.Precision }},
		aText("stage_dir", "Directory of the node to which the weights are copied.", ignored),
	}},
	{name: "resources", about: "Nodes and workers: four keys for prefill and decode workers, or two for aggregated workers.", required: true, keys: []key[Job]{
		{name: "gpu_type", about: "GPUs of the nodes; cpu only with backend.type stepscope.", required: true, choices: []string{"gb200", "gb300", "h100", noGPU},
			at: func(j *Job) any { return &j.Resources.GPUType }},
		{name: "gpus_per_node", about: "GPUs per node.", least: 1, most: memory.MostRanks, preset: 4, at: func(j *Job) any { return &j.Resources.GPUsPerNode }},
		{name: "prefill_nodes", about: "Nodes of the prefill workers.", least: 1, zero: true, most: memory.MostRanks, at: func(j *Job) any { return &j.Resources.PrefillNodes }},
		{name: "decode_nodes", about: "Nodes of the decode workers.", least: 1, zero: true, most: memory.MostRanks, at: func(j *Job) any { return &j.Resources.DecodeNodes }},
		{name: "prefill_workers", about: "Prefill workers; in the dialect P, 1 when profiling.", most: memory.MostRanks, at: func(j *Job) any { return &j.Resources.PrefillWorkers }},
		{name: "decode_workers", about: "Decode workers; in the dialect P, 1 when profiling.", most: memory.MostRanks, at: func(j *Job) any { return &j.Resources.DecodeWorkers }},
		{name: "agg_nodes", about: "Nodes of the aggregated workers.", least: 1, zero: true, most: memory.MostRanks, at: func(j *Job) any { return &j.Resources.AggNodes }},
		{name: "agg_workers", about: "Aggregated workers; in the dialect P, 1 when profiling.", most: memory.MostRanks, at: func(j *Job) any { return &j.Resources.AggWorkers }},
		gpusOf(Prefill), gpusOf(Decode), gpusOf(Aggregated),
		{name: "spread_workers", only: today, about: "One worker per node, even if more would fit.", at: func(j *Job) any { return &j.Today.Spread }},
		leaf("het_jobs", "A heterogeneous Slurm job: group 0 for prefill, group 1 for decode.", ignored, func(j *Job) any { return &j.Today.Layout.HetJobs }),
	}},
	{name: "slurm", about: "Options for the scheduler; the cluster file has defaults.", keys: []key[Job]{
		{name: "account", about: "Account.", at: func(j *Job) any { return &j.Slurm.Account }},
		{name: "partition", about: "Partition.", at: func(j *Job) any { return &j.Slurm.Partition }},
		{name: "time_limit", about: "Time limit: HH:MM:SS, D-HH:MM:SS or minutes.", at: func(j *Job) any { return &j.Slurm.TimeLimit }},
	}},
	{name: "backend", about: "The program of the workers.", keys: slices.Concat([]key[Job]{
		{name: "type", about: "sglang, or stepscope: the embedded server, with the same flags.", choices: []string{SGLang, StepScope}, today: []string{SGLang, VLLM, TRTLLM, Mocker, StepScope}, preset: SGLang, at: func(j *Job) any { return &j.Backend.Type }},
		{name: "gpu_type", when: SGLang, about: "Name of the GPUs and the precision; resources.gpu_type-model.precision unless given.", at: func(j *Job) any { return &j.Backend.GPUType }},
		environmentOf(Prefill), environmentOf(Decode), environmentOf(Aggregated),
		{name: "sglang_config", when: SGLang, about: "Flags of the workers, one section per role.", keys: []key[Job]{flagsOf(Prefill), flagsOf(Decode), flagsOf(Aggregated)}},
		{name: "vllm_config", only: today, when: VLLM, about: "Flags of the workers, one section per role.", keys: []key[Job]{flagsOf(Prefill), flagsOf(Decode), flagsOf(Aggregated)}},
		{name: "enable_multiple_frontends", only: "P", about: "Several frontends behind nginx.", preset: true, at: func(j *Job) any { return &j.Backend.EnableMultipleFrontends }},
		{name: "num_additional_frontends", only: "P", about: "Frontends in addition to the first.", most: memory.MostRanks, preset: 9, at: func(j *Job) any { return &j.Backend.NumAdditionalFrontends }},
	}, backendsToday())},
	{name: "benchmark", about: "Load of a job; in the dialect P, of a job that does not profile.", keys: slices.Concat([]key[Job]{
		{name: "type", about: "Benchmark; in the dialect P, manual when profiling.", choices: []string{manual, "sa-bench", "mmlu", "gpqa"}, preset: manual, at: func(j *Job) any { return &j.Benchmark.Type }},
		{name: "isl", about: "Input length in tokens.", least: 1, at: func(j *Job) any { return &j.Benchmark.ISL }},
		{name: "osl", about: "Output length in tokens.", least: 1, at: func(j *Job) any { return &j.Benchmark.OSL }},
		{name: "concurrencies", about: "Concurrent requests, one run per value: a list, or 1x4x8.", at: func(j *Job) any { return &j.Benchmark.Concurrencies }},
		{name: "req_rate", numbers: true, about: "Requests per second, or inf.", preset: "inf", at: func(j *Job) any { return &j.Benchmark.ReqRate }},
	}, benchmarksToday())},
	{name: "profiling", about: "The phases to record; a phase that is left out is not recorded.", stays: true, keys: []key[Job]{
		{name: "type", about: "The profiler.", required: true, optional: today, choices: []string{None, Torch, Nsys}, at: func(j *Job) any { return &j.Profiling.Type }},
		phaseOf(Prefill, func(j *Job) **Phase { return &j.Profiling.Prefill }),
		phaseOf(Decode, func(j *Job) **Phase { return &j.Profiling.Decode }),
		phaseOf(Aggregated, func(j *Job) **Phase { return &j.Today.Aggregated }),
		{name: "isl", only: "M", about: "Input length in tokens, for all phases.", least: 1, required: true, at: func(j *Job) any { return &j.Today.Load.ISL }},
		{name: "osl", only: "M", about: "Output length in tokens, for all phases.", least: 1, required: true, at: func(j *Job) any { return &j.Today.Load.OSL }},
		{name: "concurrency", only: "M", about: "Concurrent requests, for all phases.", least: 1, required: true, at: func(j *Job) any { return &j.Today.Load.Concurrency }},
		{name: "start_step", only: "M", about: "First step to record, for a job without phases.", at: func(j *Job) any { return &j.Today.Load.StartStep }},
		{name: "stop_step", only: "M", about: "Step at which recording ends, for a job without phases.", least: 1, at: func(j *Job) any { return &j.Today.Load.StopStep }},
		{name: "extra_nsys_args", only: "H", about: "More arguments of nsys.", at: func(j *Job) any { return &j.Today.NsysArgs }},
		{name: "delay_secs", only: "H", about: "nsys-time: seconds from the start of a worker to the window.", at: func(j *Job) any { return &j.Today.Delay }},
		{name: "duration_secs", only: "H", about: "nsys-time: length of the window in seconds.", least: 1, at: func(j *Job) any { return &j.Today.Duration }},
		aNumber("benchmark_duration_secs", "nsys-time: length of the load in seconds.", ignored),
	}},
	{name: "enable_config_dump", about: "Workers write their configuration; false when profiling.", preset: true, at: func(j *Job) any { return &j.EnableConfigDump }},
	{name: "extra_mount", about: "Additional host directories to mount in the containers, as host:container.", at: func(j *Job) any { return &j.ExtraMount }},
	{name: "health_check", only: today, about: "How long workers may take to become ready: attempts times interval.", keys: []key[Job]{
		{name: "max_attempts", about: "Attempts.", least: 1, preset: 180, at: func(j *Job) any { return &j.Today.Attempts }},
		{name: "interval_seconds", about: "Seconds between attempts.", least: 1, preset: 10, at: func(j *Job) any { return &j.Today.Interval }},
	}},
	{name: "environment", only: today, about: "Environment variables of all workers.", at: func(j *Job) any { return func(s []Setting) { j.Today.Environment = s } }},
	{name: "container_mounts", only: today, about: "Host directories and their paths in the containers.", at: func(j *Job) any { return func(s []Setting) { j.Today.Mounts = s } }},
	{name: "srun_options", class: passed, only: today, about: "Options of srun, without dashes; an empty text is an option without a value.", at: func(j *Job) any { return func(s []Setting) { j.Today.Srun = s } }},
	{name: "sbatch_directives", class: passed, only: today, about: "sbatch directives, without dashes; an empty text is a directive without a value.", at: func(j *Job) any { return func(s []Setting) { j.Today.Sbatch = s } }},
	{name: "setup_script", only: today, about: "Script in /configs that prepares the container.", at: func(j *Job) any { return &j.Today.Setup }},
	frontendToday(), dynamoToday(),
	section("infra", "NATS and etcd.", ignored, leaf("etcd_nats_dedicated_node", "One more node for NATS and etcd.", ignored, func(j *Job) any { return &j.Today.Layout.InfraNode }), aNumber("nats_max_payload_mb", "Largest message of NATS.", ignored)),
	section("output", "Directory of the logs.", ignored, aText("log_dir", "Directory of the logs.", ignored)),
	identityToday(), reportingToday(), observabilityToday(), telemetryToday(),
	{name: "sweep", about: "Parameters and their values: one job per combination, with {parameter} replaced.", at: func(j *Job) any { return &j.Sweep }},
}

// Special values.
const (
	manual = "manual"
	noGPU  = "cpu"
)

func environmentOf(r Role) key[Job] {
	return key[Job]{name: string(r) + "_environment", about: "Environment variables of the " + string(r) + " workers.", at: func(j *Job) any {
		return func(vars []Setting) { j.Backend.Environment[r] = vars }
	}}
}

func gpusOf(r Role) key[Job] {
	return key[Job]{name: "gpus_per_" + r.short(), only: today, about: "GPUs of one " + string(r) + " worker.", least: 1, most: memory.MostRanks,
		at: func(j *Job) any {
			return map[Role]*int{Prefill: &j.Today.PerPrefill, Decode: &j.Today.PerDecode, Aggregated: &j.Today.PerAgg}[r]
		}}
}

func flagsOf(r Role) key[Job] {
	return key[Job]{name: string(r), class: passed, about: "Flags of the " + string(r) + " workers, without leading dashes.", stays: true, at: func(j *Job) any {
		return func(flags []Flag) { j.Backend.Config[r] = flags }
	}}
}

func phaseOf(r Role, at func(*Job) **Phase) key[Job] {
	number := func(name, about string, least int, only string, preset any, to func(*Phase) *int) key[Job] {
		return key[Job]{name: name, about: about, least: least, only: only, required: only != "", preset: preset, at: func(j *Job) any { return to(*at(j)) }}
	}
	about, only := "Load and recorded steps of the "+string(r)+" workers", ""
	switch r {
	case Decode:
		about += " and of aggregated workers"
	case Aggregated:
		only = today
	}
	return key[Job]{name: string(r), only: only, about: about + ".", stays: true,
		begin: func(j *Job) { *at(j) = &Phase{StopStep: lastStep} },
		keys: []key[Job]{
			number("isl", "Input length in tokens.", 1, "P", nil, func(p *Phase) *int { return &p.ISL }),
			number("osl", "Output length in tokens.", 1, "P", nil, func(p *Phase) *int { return &p.OSL }),
			number("concurrency", "Concurrent requests.", 1, "P", nil, func(p *Phase) *int { return &p.Concurrency }),
			number("start_step", "First step of the load to record.", 0, "", 0, func(p *Phase) *int { return &p.StartStep }),
			number("stop_step", "Step at which recording ends.", 1, "", lastStep, func(p *Phase) *int { return &p.StopStep }),
		}}
}

// lastStep is the default of stop_step.
const lastStep = 50

// newJob returns a job of a dialect with all default values that do not depend on other keys.
func newJob(d Dialect) *Job {
	j := &Job{
		Resources:        Resources{GPUsPerNode: 4},
		Backend:          Backend{Type: SGLang, Environment: map[Role][]Setting{}, Config: map[Role][]Flag{}, EnableMultipleFrontends: true, NumAdditionalFrontends: 9},
		Benchmark:        Benchmark{Type: manual, ReqRate: "inf"},
		Profiling:        Profiling{Type: None},
		EnableConfigDump: true,
	}
	if d != DialectP {
		j.Today = newToday()
	}
	return j
}
