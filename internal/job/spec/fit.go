package spec

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/memory"
)

// Fit returns Problems if the nodes of the workers do not have enough GPUs. Parse checks this if the job file gives the
// number of GPUs per node. Cluster.Resolve checks it if the cluster file gives that number.
func (j *Job) Fit() error {
	return j.misfits(&j.origin, func(key string) bool { return j.given(key) }).err()
}

// misfits returns problems for the roles whose workers do not fit on their nodes. The function sure reports whether the
// value of a key is known.
func (j *Job) misfits(o *origin, sure func(key string) bool) (problems Problems) {
	for _, role := range j.Roles() {
		nodes, workers, each := j.Nodes(role), j.Workers(role), j.Resources.GPUsPerNode
		at := "resources." + role.short() + "_nodes"
		if nodes < 1 || workers < 1 || each < 1 || !sure(at) {
			continue
		}
		bad := func(format string, args ...any) {
			problems = append(problems, o.note(at, role.title()+" resource mismatch: "+format, args...))
		}
		if nodes*each > memory.MostRanks {
			bad("%s × %d GPUs/node; a job has at most %d GPUs", count(nodes, "node"), each, memory.MostRanks)
			continue
		}
		size := tp(j.Backend.Config[role])
		perWorker := nodes / workers
		switch has := perWorker * each; {
		case size*workers > nodes*each:
			bad("Workers: %d, TP size: %d, GPUs per worker: %d, Total GPUs needed: %d, Total GPUs available: %d (%s × %d GPUs/node); need %s more",
				workers, size, size, size*workers, nodes*each, count(nodes, "node"), each, count(size*workers-nodes*each, "GPU"))
		case perWorker == 0:
			bad("Workers: %d, Nodes: %d; each worker needs at least 1 node", workers, nodes)
		case size > has:
			bad("Workers: %d, Nodes per worker: %d, GPUs per worker (from TP): %d, GPUs available per worker: %d (%s × %d GPUs/node); each worker needs %s more",
				workers, perWorker, size, has, count(perWorker, "node"), each, count(size-has, "GPU"))
		}
	}
	return problems
}

// TP returns the tensor-parallel size of a role's workers.
func (j *Job) TP(r Role) int { return tp(j.Backend.Config[r]) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
