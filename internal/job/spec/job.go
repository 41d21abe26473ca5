// Package spec is what a job's YAML file says: a model, the nodes and workers
// that serve it, and the windows to record of them. It reads the files that
// srtctl reads, at the version whose profiling document is the model here, and is
// stricter: whatever would fail only after hours in a queue is a problem with a
// line and a column. It knows nothing of how a job is run.
package spec

import (
	"regexp"
	"strings"
)

// Role is what a worker does.
type Role string

// The roles. A job has prefill and decode workers, or aggregated ones.
const (
	Prefill    Role = "prefill"
	Decode     Role = "decode"
	Aggregated Role = "aggregated"
)

// Job is a file that has been read and found right, with its defaults filled in.
type Job struct {
	Name             string
	Model            Model
	Resources        Resources
	Slurm            Slurm
	Backend          Backend
	Benchmark        Benchmark
	Profiling        Profiling
	EnableConfigDump bool // what is in effect: never when something is recorded
	ExtraMount       []Mount
	Sweep            []Parameter

	origin
}

// Model is what is served, and the container that serves it.
type Model struct {
	Path      string // an alias of the cluster file until Cluster.Resolve
	Container string // likewise; backend.type stepscope needs none
	Precision string
}

// Resources are the nodes of a job, and how many workers they have.
type Resources struct {
	GPUType     string
	GPUsPerNode int

	PrefillNodes, PrefillWorkers int
	DecodeNodes, DecodeWorkers   int
	AggNodes, AggWorkers         int
}

// Slurm is what the scheduler is told; empty is the cluster's default.
type Slurm struct {
	Account, Partition, TimeLimit string
}

// The types of backends. StepScope is our own addition: the flags of
// sglang_config go to the server of this program, which has them under SGLang's
// names, so that a job runs where neither a GPU nor a container is.
const (
	SGLang    = "sglang"
	StepScope = "stepscope"
)

// Backend is the program of the workers, with its flags and variables a role.
type Backend struct {
	Type        string
	GPUType     string
	Environment map[Role][]Setting // in the order of the file
	Config      map[Role][]Flag    // sglang_config, by key

	EnableMultipleFrontends bool
	NumAdditionalFrontends  int
}

// Setting is a name and its value: a variable of an environment, an alias and its path.
type Setting struct{ Name, Value string }

// Benchmark is what srtctl runs against a job that records nothing.
type Benchmark struct {
	Type          string
	ISL, OSL      int
	Concurrencies []int
	ReqRate       string
}

// The types of profiling.
const (
	None  = "none"
	Torch = "torch"
	Nsys  = "nsys"
)

// Profiling is what is recorded. A phase that is nil is not.
type Profiling struct {
	Type            string
	Prefill, Decode *Phase
}

// Phase is the load of a role's workers, and which of their steps are recorded.
type Phase struct {
	ISL, OSL, Concurrency int
	StartStep, StopStep   int
}

// Mount is a directory of the host in a container.
type Mount struct{ Host, Container string }

// FileName is the job's name as a part of a file's: names of jobs have slashes.
func (j *Job) FileName() string { return notInFiles.ReplaceAllString(j.Name, "-") }

var notInFiles = regexp.MustCompile(`[^A-Za-z0-9._+,-]`)

// Recorded tells whether anything of the job is.
func (j *Job) Recorded() bool { return j.Profiling.Type != None }

// Disaggregated tells whether prefill and decode are apart.
func (j *Job) Disaggregated() bool { return j.Resources.AggNodes == 0 }

// Roles are the roles of the job's workers, in the order of their nodes.
func (j *Job) Roles() []Role {
	if j.Disaggregated() {
		return []Role{Prefill, Decode}
	}
	return []Role{Aggregated}
}

// Nodes is how many nodes the workers of a role have.
func (j *Job) Nodes(r Role) int {
	return map[Role]int{Prefill: j.Resources.PrefillNodes, Decode: j.Resources.DecodeNodes, Aggregated: j.Resources.AggNodes}[r]
}

// Workers is how many workers a role has.
func (j *Job) Workers(r Role) int {
	return map[Role]int{Prefill: j.Resources.PrefillWorkers, Decode: j.Resources.DecodeWorkers, Aggregated: j.Resources.AggWorkers}[r]
}

// Phase is what is recorded of a role; nil: nothing. Aggregated workers are
// recorded under the parameters of decode, as srtctl does.
func (j *Job) Phase(r Role) *Phase {
	switch {
	case !j.Recorded():
		return nil
	case r == Prefill:
		return j.Profiling.Prefill
	}
	return j.Profiling.Decode
}

// Shape says in a line what the job asks for.
func (j *Job) Shape() string {
	var parts []string
	for _, role := range j.Roles() {
		parts = append(parts, count(j.Workers(role), string(role)+" worker")+" on "+count(j.Nodes(role), "node"))
	}
	return strings.Join(append(parts, "profiling "+j.Profiling.Type), ", ")
}

// short is the name of a role in keys of resources.
func (r Role) short() string {
	if r == Aggregated {
		return "agg"
	}
	return string(r)
}

// title is a role at the beginning of a sentence.
func (r Role) title() string { return strings.ToUpper(string(r[:1])) + string(r[1:]) }
