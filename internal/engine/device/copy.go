package device

import "github.com/stepscope/stepscope/internal/engine/device/record"

// CopyKind says where a copy goes from and to. Host and device memory are the
// same here; the kinds differ in how long the host waits.
type CopyKind uint8

// The kinds of copies. Those from and to pageable memory return when the copy
// is done; the others at once.
const (
	HostToDevice CopyKind = iota // pageable
	HostToDevicePinned
	DeviceToHost // pageable
	DeviceToHostPinned
	DeviceToDevice
)

var copyNames = [...]string{
	"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)",
	"Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoD (Device -> Device)",
}

func (k CopyKind) blocks() bool { return k == HostToDevice || k == DeviceToHost }

// transfer is a copy or a fill.
type transfer struct {
	dst, src []byte
	value    byte
}

// Copy copies min(len(dst), len(src)) bytes. comm.Bytes gives the bytes of
// numbers.
func (s *Stream) Copy(kind CopyKind, dst, src []byte) error {
	n := min(len(dst), len(src))
	if s.capture != nil && kind.blocks() {
		s.capture.refuse(copyNames[kind])
		return nil
	}
	r, start := s.d.recorder(), int64(0)
	if r != nil {
		start = record.Now()
	}
	t := node{kind: copyNode, name: copyNames[kind], mem: &transfer{dst: dst[:n], src: src[:n]}}
	if !kind.blocks() {
		s.add(s.d.rec.Load(), record.MemcpyAsync, -1, &t)
		return s.d.Err()
	}
	h := &s.d.host
	at := s.slot()
	*at = task{node: t, fault: h.fault}
	if r != nil {
		at.rec, at.corr, at.ext, at.label, at.comm = r, h.correlation(), h.ext(r), r.Intern(t.name), -1
	}
	s.commit()
	s.drain()
	if r != nil {
		h.call(r, record.MemcpyAsync, start, true)
	}
	return s.d.Err()
}

// Memset fills dst.
func (s *Stream) Memset(dst []byte, value byte) {
	s.add(s.d.rec.Load(), record.MemsetAsync, -1, &node{kind: setNode, name: "Memset (Device)", mem: &transfer{dst: dst, value: value}})
}
