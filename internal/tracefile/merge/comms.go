package merge

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/trace"
)

// Comms collects the collectives of one file that can be used to compare clocks: kernels of all-reduce, all-gather,
// reduce-scatter and all-to-all, which end on all ranks at the same moment. It keeps the first ones, up to the limit.
type Comms struct {
	Limit  int
	place  string // see NewComms
	events []clock.Event
	key    []byte
	ops    map[string]int // kernel name -> index in symmetric, see operation
}

// maxComms limits the collectives kept for all files together, at 24 bytes each.
const maxComms = 1 << 19

// NewComms returns a Comms for one file. files is the number of files that share the limit, and rank is the file's
// rank. Ranks of different data-parallel replicas or pipeline stages replay different graphs, so collectives without
// arguments can match only between ranks of the same place.
func NewComms(files int, rank trace.Rank) *Comms {
	place := trace.Rank{TP: -1, DP: rank.DP, PP: rank.PP, EP: -1}
	return &Comms{Limit: max(1024, maxComms/max(files, 1)), place: place.String()}
}

// Place identifies the ranks that work on the same batches.
func (c *Comms) Place() string { return c.place }

// symmetric lists the operations as spelled in kernel names: those of NCCL, of RCCL, and of the all-reduce kernels of
// SGLang and vLLM.
var symmetric = [][]byte{
	[]byte("AllReduce"), []byte("AllGather"), []byte("ReduceScatter"), []byte("AlltoAll"), []byte("AllToAll"),
	[]byte("all_reduce"), []byte("allreduce"), []byte("all_gather"), []byte("allgather"),
	[]byte("reduce_scatter"), []byte("cross_device_reduce"),
}

// Event adds one event.
func (c *Comms) Event(e *chromejson.Event) {
	if e.Ph != 'X' || e.Cat.Hi-e.Cat.Lo != uint32(len(`"kernel"`)) || string(e.Text(e.Cat)) != "kernel" || len(c.events) >= c.Limit {
		return
	}
	op := c.operation(e.Text(e.Name))
	if op < 0 {
		return
	}
	start, ok := chromejson.ParseMicros(e.Text(e.TS))
	dur, ok2 := chromejson.ParseMicros(e.Text(e.Dur))
	if !ok || !ok2 || dur < 0 {
		return
	}
	// Kernels of a graph replay carry no arguments, so only some collectives have a group. Collectives without a group
	// have a separate key.
	c.key = append(c.key[:0], byte(op))
	if at, ok := e.Arg(chromejson.ArgGroupRanks); ok {
		c.key = append(c.key, e.Value(at)...)
	} else {
		c.key = append(c.key, c.place...)
	}
	h := fnv.New64a()
	_, _ = h.Write(c.key)
	c.events = append(c.events, clock.Event{Start: start, End: start + dur, Key: h.Sum64()})
}

// operation returns the index in symmetric of a kernel's operation, or -1. Results are cached because kernel names are
// long and there are few different ones.
func (c *Comms) operation(name []byte) int {
	const maxNames = 4096
	if op, ok := c.ops[string(name)]; ok {
		return op
	}
	op := -1
	for i := range symmetric {
		if bytes.Contains(name, symmetric[i]) {
			op = i
			break
		}
	}
	if c.ops == nil {
		c.ops = map[string]int{}
	}
	if len(c.ops) < maxNames {
		c.ops[string(name)] = op
	}
	return op
}

// Sorted returns the collectives sorted by start. It adds ns to their times.
func (c *Comms) Sorted(ns int64) []clock.Event {
	out := slices.Clone(c.events)
	for i := range out {
		out[i].Start += ns
		out[i].End += ns
	}
	slices.SortFunc(out, func(a, b clock.Event) int { return cmp.Compare(a.Start, b.Start) })
	return out
}
