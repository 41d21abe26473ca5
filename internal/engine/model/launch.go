package model

import (
	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/device/comm"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// Groups are a rank's ends of the groups it works in; nil where the group is the rank alone.
type Groups struct {
	TP device.Comm // in the order of TPRank
	PP device.Comm // in the order of PPRank
}

// grid is the sizes of a launch that a trace shows. They follow from the work, never from the number of workers, so
// that two captures can be compared.
func grid(x, y int) [3]int32 { return [3]int32{int32(max(x, 1)), int32(max(y, 1)), 1} }

// block is the tile that all kernels are made of: 64 outputs.
var block = [3]int32{tensor.PanelRows, 1, 1}

// launch queues a kernel of the given chunks.
func (r *Runner) launch(k device.Kernel, chunks int, run func(chunk int)) {
	k.Block, k.Chunks, k.Run = block, chunks, run
	r.stream.Launch(k)
}

// upload copies what the host wrote to the buffer that kernels read. The host's may be written again after a sync.
func (r *Runner) upload(dst, src *inputs) error {
	return r.stream.Copy(comm.Bytes(dst.buf), comm.Bytes(src.buf))
}

func floats(dims ...int) device.Arg { return device.Tensor(device.Float32, dims...) }
func ints(dims ...int) device.Arg   { return device.Tensor(device.Int32, dims...) }

// matrix is a weight as an argument.
func matrix(f tensor.Format, dims ...int) device.Arg {
	if f == tensor.F32 {
		return device.Tensor(device.Float32, dims...)
	}
	return device.Tensor(device.BFloat16, dims...)
}
