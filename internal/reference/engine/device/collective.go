package device

import (
	"context"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// collOp is an operation of a communicator group.
type collOp uint8

const (
	opAllReduce collOp = iota
	opAllGather
	opSend
	opRecv
)

// collNames are the names that PyTorch and NCCL give to an operation. Tools identify a collective and its kind by these
// names.
type collNames struct{ collective, annotation, kernel string }

const ncclArgs = "(ncclDevKernelArgsStorage<4096ul>)"

var collTable = [...]collNames{
	opAllReduce: {"allreduce", "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" + ncclArgs},
	opAllGather: {"_allgather_base", "nccl:_all_gather_base", "ncclDevKernel_AllGather_RING_LL" + ncclArgs},
	opSend:      {"send", "nccl:send", "ncclDevKernel_SendRecv" + ncclArgs},
	opRecv:      {"recv", "nccl:recv", "ncclDevKernel_SendRecv" + ncclArgs},
}

func (op collOp) names() *collNames { return &collTable[op] }

// collective is one call of a group's operation.
type collective struct {
	op       collOp
	c        Comm
	dst, src []float32
	peer     int // group member at the other end of a send or receive
}

func (x *collective) run(ctx context.Context) error {
	switch x.op {
	case opAllReduce:
		return x.c.AllReduce(ctx, x.dst)
	case opAllGather:
		return x.c.AllGather(ctx, comm.Bytes(x.dst), comm.Bytes(x.src))
	case opSend:
		return x.c.Send(ctx, comm.Bytes(x.src), x.peer)
	}
	return x.c.Recv(ctx, comm.Bytes(x.dst), x.peer)
}

// AllReduce sums buf over the group, in place.
func (s *Stream) AllReduce(c Comm, buf []float32) {
	s.collective(collective{op: opAllReduce, c: c, dst: buf, src: buf})
}

// AllGather concatenates the src slices of all ranks in dst, in rank order.
func (s *Stream) AllGather(c Comm, dst, src []float32) {
	s.collective(collective{op: opAllGather, c: c, dst: dst, src: src})
}

// Send sends buf to group member to.
func (s *Stream) Send(c Comm, to int, buf []float32) {
	s.collective(collective{op: opSend, c: c, src: buf, peer: to})
}

// Recv fills buf with the next message from group member from.
func (s *Stream) Recv(c Comm, from int, buf []float32) {
	s.collective(collective{op: opRecv, c: c, dst: buf, peer: from})
}

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
	if x.op == opSend || x.op == opRecv {
		arg.Peer = int32(g.Ranks[x.peer])
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
