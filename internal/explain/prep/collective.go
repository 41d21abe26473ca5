package prep

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Collective describes the collectives of one kind.
type Collective struct {
	Op       string
	Recorded bool   // whether the fields below were recorded; false for kernels in graphs and custom all-reduce
	Group    string // name of the process group; "": unnamed
	Ranks    string
	Size     int // number of ranks
	// Bytes is the message size by the convention of nccl-tests: the output of an all-gather, and the input of other
	// collectives. 0: unknown.
	Bytes int64
}

// collectives returns a function that returns the index in r.Colls of an op's collective. comm is an index in the
// trace's Comms.
func collectives(t *trace.Trace, r *Rank) func(o *Op, name trace.StringID, comm int32) int32 {
	type key struct {
		name trace.StringID // name of a kernel whose collective was not recorded
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
