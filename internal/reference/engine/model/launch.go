package model

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// Groups are a rank's ends of its communicator groups. The end of a group that has only one rank is nil.
type Groups struct {
	TP device.Comm // members in the order of TPRank
	PP device.Comm // members in the order of PPRank
}

// upload copies src, the host's buffer, to dst, the buffer that kernels read. The host may write src again only after a
// synchronisation.
func (r *Runner) upload(dst, src *inputs) error {
	return r.Stream.Copy(comm.Bytes(dst.buf), comm.Bytes(src.buf))
}
