package spec

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/memory"
)

// Fit returns Problems if the nodes of the workers do not have enough GPUs. Parse checks this if the job file gives the
// number of GPUs per node. Cluster.Resolve checks it if the cluster file gives that number.
func (j *Job) Fit() error {
	if j.today() { // checked by Misfit
		return nil
	}
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

// Misfit describes the first worker of a job of the dialects M and H that needs more GPUs than it has, or that has no
// place on the nodes. It returns "" if all workers fit.
func (j *Job) Misfit() string {
	each, b := j.Resources.GPUsPerNode, &j.Backend
	if !j.today() || each < 1 {
		return ""
	}
	for _, role := range j.Roles() {
		flags := b.Config[role]
		needs := max(1, Size(flags, tpKeys...)) * max(1, Size(flags, ppKeys...))
		text := fmt.Sprintf("tp=%d", max(1, Size(flags, tpKeys...)))
		if pp := Size(flags, ppKeys...); pp > 1 {
			text += fmt.Sprintf(" × pp=%d", pp)
		}
		if dp := Size(flags, dpKeys...); dp > 1 && b.Type == VLLM {
			needs *= dp
			text += fmt.Sprintf(" × dp=%d", dp)
		}
		if has := j.GPUs(role); needs > has {
			return fmt.Sprintf("%s needs %s for each %s worker, and a worker has %d", text, count(needs, "GPU"), role, has)
		}
	}
	if _, ok := j.Place(); !ok {
		return fmt.Sprintf("the workers do not fit on %s of %s", count(j.totalNodes(), "node"), count(each, "GPU"))
	}
	return ""
}

// Placed is a worker with its nodes and, if it has fewer GPUs than a node, the GPUs of its node.
type Placed struct {
	Role  Role
	Index int
	Nodes []int
	GPUs  []int // nil: all
}

// Place assigns the workers of a job of the dialects M and H to nodes as srtctl does: prefill workers first, workers
// that are smaller than a node side by side. It reports whether the nodes suffice.
func (j *Job) Place() (all []Placed, ok bool) {
	each, total := j.Resources.GPUsPerNode, j.totalNodes()
	node, used := 0, 0
	for _, role := range j.Roles() {
		if role == Decode && used > 0 && node+1 < total {
			node, used = node+1, 0
		}
		gpus := j.GPUs(role)
		for i := range j.Workers(role) {
			w := Placed{Role: role, Index: i}
			if gpus >= each {
				for range (gpus + each - 1) / each {
					w.Nodes = append(w.Nodes, node)
					node++
				}
			} else {
				if used+gpus > each {
					node, used = node+1, 0
				}
				w.Nodes = []int{node}
				for g := range gpus {
					w.GPUs = append(w.GPUs, used+g)
				}
				if used += gpus; used >= each || j.Today.Spread {
					node, used = node+1, 0
				}
			}
			if w.Nodes[len(w.Nodes)-1] >= total {
				return all, false
			}
			all = append(all, w)
		}
	}
	return all, true
}

// TP returns the tensor-parallel size of a role's workers.
func (j *Job) TP(r Role) int { return tp(j.Backend.Config[r]) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
