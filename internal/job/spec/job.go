// Package spec parses a job's YAML file: a model, the nodes and workers that serve it, and the windows to record. The
// format is the format of srtctl. The version of srtctl is the one whose profiling document package job follows. The
// checks are stricter than srtctl's: an error that would otherwise appear only after hours in a queue is reported at
// once, with line and column. The package cannot run jobs.
package spec

import (
	"regexp"
	"strings"
)

// Role is the function of a worker.
type Role string

// Roles. A job has either prefill and decode workers, or aggregated workers.
const (
	Prefill    Role = "prefill"
	Decode     Role = "decode"
	Aggregated Role = "aggregated"
)

// Job is a valid job file with defaults filled in.
type Job struct {
	Name             string
	Model            Model
	Resources        Resources
	Slurm            Slurm
	Backend          Backend
	Benchmark        Benchmark
	Profiling        Profiling
	EnableConfigDump bool // effective value: false if the job records anything
	ExtraMount       []Mount
	Sweep            []Parameter
	Today            Today
	Cannot           []string // parts that job apply does not run

	origin
}

// Model is the served model and its container.
type Model struct {
	Path      string // an alias from the cluster file until Cluster.Resolve replaces it
	Container string // an alias until Cluster.Resolve replaces it; not needed if backend.type is stepscope
	Precision string
}

// Resources are the numbers of nodes and of workers of a job.
type Resources struct {
	GPUType     string
	GPUsPerNode int

	PrefillNodes, PrefillWorkers int
	DecodeNodes, DecodeWorkers   int
	AggNodes, AggWorkers         int
}

// Slurm holds options of the scheduler. A value of "" means the cluster's default.
type Slurm struct {
	Account, Partition, TimeLimit string
}

// Types of backends. StepScope is an addition to srtctl's types. With StepScope, the workers are stepscope's embedded
// server, which accepts the flags in sglang_config under SGLang's names. A job with this backend needs neither a GPU
// nor a container.
const (
	SGLang    = "sglang"
	StepScope = "stepscope"
)

// Backend is the program that the workers run, with the flags and environment variables of each role.
type Backend struct {
	Type        string
	GPUType     string
	Environment map[Role][]Setting // in the order of the file
	Config      map[Role][]Flag    // sglang_config, sorted by key

	EnableMultipleFrontends bool
	NumAdditionalFrontends  int
}

// Setting is a name and its value, such as a variable of an environment or an alias and its path.
type Setting struct{ Name, Value string }

// Benchmark is the benchmark that srtctl runs if the job has no profiling.
type Benchmark struct {
	Type          string
	ISL, OSL      int
	Concurrencies []int
	ReqRate       string
}

// Types of profiling.
const (
	None  = "none"
	Torch = "torch"
	Nsys  = "nsys"
)

// Profiling lists the phases to record. A nil phase is not recorded.
type Profiling struct {
	Type            string
	Prefill, Decode *Phase
}

// Phase is the load of a role's workers and the range of steps to record.
type Phase struct {
	ISL, OSL, Concurrency int
	StartStep, StopStep   int
}

// Mount maps a host directory into a container.
type Mount struct{ Host, Container string }

// FileName returns the job's name in a form valid as part of a file name; job names may contain slashes.
func (j *Job) FileName() string { return notInFiles.ReplaceAllString(j.Name, "-") }

var notInFiles = regexp.MustCompile(`[^A-Za-z0-9._+,-]`)

// Recorded reports whether the job has profiling.
func (j *Job) Recorded() bool { return j.Profiling.Type != None }

// Disaggregated reports whether prefill and decode run on separate workers.
func (j *Job) Disaggregated() bool { return j.Resources.AggNodes == 0 }

// Roles returns the roles of the job's workers, in the order in which nodes are assigned to them.
func (j *Job) Roles() []Role {
	if j.Disaggregated() {
		return []Role{Prefill, Decode}
	}
	return []Role{Aggregated}
}

// Nodes returns the number of nodes of a role.
func (j *Job) Nodes(r Role) int {
	return map[Role]int{Prefill: j.Resources.PrefillNodes, Decode: j.Resources.DecodeNodes, Aggregated: j.Resources.AggNodes}[r]
}

// Workers returns the number of workers of a role.
func (j *Job) Workers(r Role) int {
	return map[Role]int{Prefill: j.Resources.PrefillWorkers, Decode: j.Resources.DecodeWorkers, Aggregated: j.Resources.AggWorkers}[r]
}

// Phase returns the recorded phase of a role, or nil. In the dialect P, aggregated workers use the phase of decode, as in srtctl.
func (j *Job) Phase(r Role) *Phase {
	switch {
	case !j.Recorded():
		return nil
	case r == Aggregated && !j.today():
		return j.Profiling.Decode
	}
	return j.phase(r)
}

// phase returns the phase that the file has for a role.
func (j *Job) phase(r Role) *Phase {
	return map[Role]*Phase{Prefill: j.Profiling.Prefill, Decode: j.Profiling.Decode, Aggregated: j.Today.Aggregated}[r]
}

// Shape returns a one-line summary of the job.
func (j *Job) Shape() string {
	var parts []string
	for _, role := range j.Roles() {
		parts = append(parts, count(j.Workers(role), string(role)+" worker")+" on "+count(j.Nodes(role), "node"))
	}
	return strings.Join(append(parts, "profiling "+j.Profiling.Type), ", ")
}

// short returns the role's name as it appears in the keys of the section resources.
func (r Role) short() string {
	if r == Aggregated {
		return "agg"
	}
	return string(r)
}

// title returns the role capitalized.
func (r Role) title() string { return strings.ToUpper(string(r[:1])) + string(r[1:]) }
