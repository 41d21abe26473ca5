package model

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// Groups are a rank's ends of its communicator groups. A group of one rank is nil.
type Groups struct {
	TP device.Comm // members in the order of TPRank
	PP device.Comm // members in the order of PPRank
}

// upload copies the host's buffer to the buffer that kernels read. The host's buffer may be written again after a
// synchronisation.
func (r *Runner) upload(dst, src *inputs) error {
	return r.Stream.Copy(comm.Bytes(dst.buf), comm.Bytes(src.buf))
}
