package device

import "github.com/stepscope/stepscope/internal/reference/engine/device/record"

// Copy copies min(len(dst), len(src)) bytes from pinned host memory to the device. Here both are ordinary memory of the
// process. comm.Bytes returns the bytes of numbers.
func (s *Stream) Copy(dst, src []byte) error {
	n := min(len(dst), len(src))
	s.add(s.d.rec.Load(), record.MemcpyAsync, -1, &node{kind: copyNode, name: "Memcpy HtoD (Pinned -> Device)", dst: dst[:n], src: src[:n]})
	return s.d.Err()
}
