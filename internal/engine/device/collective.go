package device

import (
	"context"

	"github.com/stepscope/stepscope/internal/engine/device/comm"
	"github.com/stepscope/stepscope/internal/engine/device/record"
)

// collOp is an operation of a group.
type collOp uint8

const (
	opAllReduce collOp = iota
	opAllReduceMax
	opReduceScatter
	opAllGather
	opAllToAll
	opBroadcast
	opSend
	opRecv
	opBarrier
)

// collNames are what PyTorch and NCCL call an operation: tools find
// collectives and their kind by them.
type collNames struct{ collective, annotation, kernel string }

const ncclArgs = "(ncclDevKernelArgsStorage<4096ul>)"

var collTable = [...]collNames{
	opAllReduce:     {"allreduce", "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" + ncclArgs},
	opAllReduceMax:  {"allreduce", "nccl:all_reduce", "ncclDevKernel_AllReduce_MinMax_f32_RING_LL" + ncclArgs},
	opReduceScatter: {"_reduce_scatter_base", "nccl:_reduce_scatter_base", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL" + ncclArgs},
	opAllGather:     {"_allgather_base", "nccl:_all_gather_base", "ncclDevKernel_AllGather_RING_LL" + ncclArgs},
	opAllToAll:      {"all_to_allv", "nccl:all_to_all", "ncclDevKernel_SendRecv" + ncclArgs},
	opBroadcast:     {"broadcast", "nccl:broadcast", "ncclDevKernel_Broadcast_RING_LL" + ncclArgs},
	opSend:          {"send", "nccl:send", "ncclDevKernel_SendRecv" + ncclArgs},
	opRecv:          {"recv", "nccl:recv", "ncclDevKernel_SendRecv" + ncclArgs},
	opBarrier:       {"barrier", "nccl:all_reduce_barrier", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" + ncclArgs},
}

func (op collOp) names() *collNames { return &collTable[op] }

// collective is one call of a group's operation.
type collective struct {
	op                   collOp
	c                    comm.Comm
	dst, src             []float32
	dstCounts, srcCounts []int // all-to-all: rows
	width                int   // all-to-all: elements of a row
	peer                 int   // root, or the other side
}

func (x *collective) run(ctx context.Context) error {
	switch x.op {
	case opAllReduce:
		return x.c.AllReduce(ctx, x.dst, comm.Sum)
	case opAllReduceMax:
		return x.c.AllReduce(ctx, x.dst, comm.Max)
	case opReduceScatter:
		return x.c.ReduceScatter(ctx, x.dst, x.src, comm.Sum)
	case opAllGather:
		return x.c.AllGather(ctx, comm.Bytes(x.dst), comm.Bytes(x.src))
	case opAllToAll:
		return x.c.AllToAll(ctx, comm.Bytes(x.dst), x.dstCounts, comm.Bytes(x.src), x.srcCounts, 4*x.width)
	case opBroadcast:
		return x.c.Broadcast(ctx, comm.Bytes(x.dst), x.peer)
	case opSend:
		return x.c.Send(ctx, comm.Bytes(x.src), x.peer)
	case opRecv:
		return x.c.Recv(ctx, comm.Bytes(x.dst), x.peer)
	}
	return x.c.Barrier(ctx)
}

// moved is what an all-to-all carried, which only its execution knows:
// elements in and out. -1: the launch knew.
func (x *collective) moved() (in, out int64) {
	if x.op != opAllToAll {
		return -1, -1
	}
	for i := range x.srcCounts {
		in += int64(x.srcCounts[i] * x.width)
		out += int64(x.dstCounts[i] * x.width)
	}
	return in, out
}

// AllReduce sums buf over the group, in place.
func (s *Stream) AllReduce(c Comm, buf []float32) {
	s.collective(collective{op: opAllReduce, c: c, dst: buf, src: buf})
}

// AllReduceMax takes the maximum of buf over the group, in place.
func (s *Stream) AllReduceMax(c Comm, buf []float32) {
	s.collective(collective{op: opAllReduceMax, c: c, dst: buf, src: buf})
}

// ReduceScatter sums src over the group and leaves this rank's part in dst.
func (s *Stream) ReduceScatter(c Comm, dst, src []float32) {
	s.collective(collective{op: opReduceScatter, c: c, dst: dst, src: src})
}

// AllGather puts src of every rank into dst, in rank order.
func (s *Stream) AllGather(c Comm, dst, src []float32) {
	s.collective(collective{op: opAllGather, c: c, dst: dst, src: src})
}

// AllToAll sends srcCounts[i] rows of src to rank i and writes how many came
// from whom to dstCounts. A row has width elements. Counts are read and
// written when the stream gets there.
func (s *Stream) AllToAll(c Comm, dst []float32, dstCounts []int, src []float32, srcCounts []int, width int) {
	s.collective(collective{op: opAllToAll, c: c, dst: dst, dstCounts: dstCounts, src: src, srcCounts: srcCounts, width: width})
}

// Broadcast copies buf of the group's member root to all.
func (s *Stream) Broadcast(c Comm, buf []float32, root int) {
	s.collective(collective{op: opBroadcast, c: c, dst: buf, src: buf, peer: root})
}

// Send hands buf to the group's member to.
func (s *Stream) Send(c Comm, to int, buf []float32) {
	s.collective(collective{op: opSend, c: c, src: buf, peer: to})
}

// Recv fills buf with the next message of the group's member from.
func (s *Stream) Recv(c Comm, from int, buf []float32) {
	s.collective(collective{op: opRecv, c: c, dst: buf, peer: from})
}

// Barrier waits for all ranks of the group to get there.
func (s *Stream) Barrier(c Comm) { s.collective(collective{op: opBarrier, c: c}) }

func (s *Stream) collective(x collective) {
	use := s.d.uses(x.c)
	names, h, r := x.op.names(), &s.d.host, s.d.rec.Load()
	n := node{kind: collectiveNode, name: names.kernel, grid: [3]int32{1, 1, 1}, block: [3]int32{32, 1, 1}, coll: &x}
	if s.capture != nil {
		s.capture.nodes = append(s.capture.nodes, n)
		return
	}
	if h.fault {
		for range s.d.opt.Faults.ExtraKernels {
			extra := s.d.opt.Faults.extra()
			s.add(r, record.LaunchKernel, -1, &extra)
		}
	}
	if r == nil {
		s.add(nil, record.LaunchKernel, -1, &n)
		return
	}
	g := x.c.Group()
	arg := record.Comm{
		Name: r.Intern(names.collective), Group: r.GroupIndex(g.Name, g.Desc, g.Ranks),
		In: int64(len(x.src)), Out: int64(len(x.dst)), Seq: use.seq, Peer: -1, DType: record.Float32, ToPeer: x.op == opSend,
	}
	switch x.op {
	case opBroadcast, opSend, opRecv:
		arg.Peer = int32(g.Ranks[x.peer])
	case opBarrier:
		arg.In, arg.Out = 1, 1
	}
	at := r.AddComm(arg)
	h.begin(r, opFrame{kind: record.CPUOp, comm: at, isComm: true}, "record_param_comms", []Arg{Tensor(Float32, len(x.src))})
	ext := h.ext(r)
	h.begin(r, opFrame{kind: record.Annotation}, names.annotation, nil)
	h.launchAs = ext // the kernel belongs to the operation, not to its annotation
	s.add(r, record.LaunchKernel, at, &n)
	h.launchAs = 0
	h.End()
	h.End()
}
