package prep

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Collective describes the collectives of one kind.
type Collective struct {
	Op       string
	Recorded bool   // the fields below were recorded; not for kernels in graphs and custom all-reduce
	Group    string // "": the group of all ranks, by their names
	Ranks    string
	Size     int // ranks
	// Bytes is the size of a message, by nccl-tests' convention: the output of an all-gather, the input of the others;
	// 0: unknown.
	Bytes int64
}

// collectives returns the function that maps an op to its index in r.Colls; comm is an index into the trace's Comms.
func collectives(t *trace.Trace, r *Rank) func(o *Op, name trace.StringID, comm int32) int32 {
	type key struct {
		name trace.StringID // of a kernel without a record
		comm trace.Comm
	}
	known := map[key]int32{}
	return func(o *Op, name trace.StringID, comm int32) int32 {
		if comm < 0 && !o.Comm() {
			return -1
		}
		k := key{name: name}
		if comm >= 0 {
			k = key{comm: t.Comms[comm]}
			k.comm.Seq = 0
		}
		at, ok := known[k]
		if ok {
			return at
		}
		at = int32(len(r.Colls))
		known[k] = at
		var c Collective
		if comm < 0 {
			c.Op, _ = kernel.Collective(t.Strings.Get(name))
		} else {
			args := &k.comm
			c = Collective{Op: kernel.CollectiveArg(t.Strings.Get(args.Name)), Recorded: true, Ranks: t.Strings.Get(args.Ranks), Size: int(args.GroupSize)}
			c.Group = c.Ranks + " " + t.Strings.Get(args.Group)
			if size, ok := kernel.DTypeSize(t.Strings.Get(args.DType)); ok {
				c.Bytes = args.In * int64(size)
				if c.Op == kernel.AllGather {
					c.Bytes = args.Out * int64(size)
				}
			}
		}
		r.Colls = append(r.Colls, c)
		return at
	}
}
