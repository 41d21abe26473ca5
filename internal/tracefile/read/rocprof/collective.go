package rocprof

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// collectives names the collectives: it joins the calls of RCCL to the kernels that they launched, and adds the calls as
// ranges. A kernel belongs to the call of its thread during which it was launched. If launches were not recorded, the
// kernels of a thread belong to its calls in order, as long as there are as many of both.
func (p *process) collectives() {
	launch := map[int64]int64{} // time of a launch by correlation id
	for i := range p.calls {
		if c := &p.calls[i]; c.cat == trace.Runtime && c.corr != 0 {
			launch[c.corr] = c.start
		}
	}
	byTime := func(a, b call) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) }
	sorts.Stable(p.rccl, byTime)
	threads := map[int64][]transfer{}
	pending := map[int64][]string{} // operations since ncclGroupStart
	depth := map[int64]int{}
	for _, c := range p.rccl {
		operation := strings.ToLower(strings.TrimPrefix(c.name, "nccl"))
		switch {
		case operation == "groupstart":
			depth[c.thread]++
		case operation == "groupend":
			depth[c.thread] = max(depth[c.thread]-1, 0) // the recording may begin within a group
			if depth[c.thread] == 0 && len(pending[c.thread]) > 0 {
				threads[c.thread] = append(threads[c.thread], transfer{c.start, c.end, pending[c.thread]})
				pending[c.thread] = nil
			}
		case !moves[operation]:
		case depth[c.thread] > 0:
			pending[c.thread] = append(pending[c.thread], operation)
		default:
			threads[c.thread] = append(threads[c.thread], transfer{c.start, c.end, []string{operation}})
		}
		c.cat, c.name, c.corr = trace.UserAnnotation, "NCCL:"+c.name, 0 // as in reports of Nsight Systems
		p.calls = append(p.calls, c)
	}
	kernels := map[int64][]*op{}
	for i := range p.ops {
		if o := &p.ops[i]; strings.HasPrefix(o.name, "nccl") || strings.HasPrefix(o.name, "rccl") {
			kernels[o.thread] = append(kernels[o.thread], o)
		}
	}
	for thread, ops := range kernels {
		sorts.Stable(ops, func(a, b *op) int { return cmp.Compare(a.corr, b.corr) })
		name(ops, threads[thread], launch)
	}
}

// moves lists the operations of RCCL that move data.
var moves = map[string]bool{
	"allgather": true, "allreduce": true, "alltoall": true, "alltoallv": true, "broadcast": true, "gather": true,
	"reduce": true, "reducescatter": true, "scatter": true, "send": true, "recv": true, "allreducewithbias": true,
}

// transfer is a call of RCCL that launches kernels. A group has several operations.
type transfer struct {
	start, end int64
	operations []string
}

// name returns the common name of the operations. A kernel may run all operations of a group.
func (t *transfer) name() string {
	names := slices.Compact(slices.Sorted(slices.Values(t.operations)))
	if slices.Equal(names, []string{"recv", "send"}) {
		return "alltoall" // how NCCL's users build it
	}
	if len(names) > 1 {
		return ""
	}
	return names[0]
}

func name(ops []*op, transfers []transfer, launch map[int64]int64) {
	inOrder := len(ops) == len(transfers)
	for i, o := range ops {
		at, known := launch[o.corr]
		switch {
		case known:
			n, _ := slices.BinarySearchFunc(transfers, at, func(t transfer, at int64) int { return cmp.Compare(t.start, at+1) })
			if n > 0 && at <= transfers[n-1].end {
				o.comm = transfers[n-1].name()
			}
		case inOrder:
			o.comm = transfers[i].name()
		}
	}
}
