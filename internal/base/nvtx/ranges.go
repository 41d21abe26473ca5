//go:build linux && (amd64 || arm64) && !static

package nvtx

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Thread is an operating-system thread with nested ranges in the default domain. Only the goroutine that is locked to
// the thread may call its methods.
type Thread struct{ text []byte }

// NewThread returns a new Thread, or nil if no tool is attached.
func NewThread() *Thread {
	if there, _ := Attached(); !there {
		return nil
	}
	return &Thread{}
}

// Bind names the calling thread.
func (t *Thread) Bind(name string) {
	if t == nil {
		return
	}
	t.text = cString(t.text, name)
	call(core[nameOSThreadA], uintptr(syscall.Gettid()), address(t.text))
	runtime.KeepAlive(t)
}

// Push begins a range nested in the ranges that are open.
func (t *Thread) Push(text string) {
	if t == nil {
		return
	}
	t.text = cString(t.text, text)
	call(core[rangePushA], address(t.text))
	runtime.KeepAlive(t)
}

// Pop ends the range pushed last.
func (t *Thread) Pop() {
	if t != nil {
		call(core[rangePop])
	}
}

// attributes is nvtxEventAttributes_t, version 3, 48 bytes.
type attributes struct {
	version, size         uint16
	category              uint32
	colorType, color      uint32
	payloadType, reserved uint32
	payload               uint64
	messageType, pad      uint32
	message               uintptr
}

const messageRegistered = 3

// Range is a range that any goroutine may start or end. The range's name is registered, so that a tool can record only
// while the range is open: nsys profile -c nvtx -p NAME@DOMAIN.
type Range struct {
	attr   attributes
	domain uintptr

	mu   sync.Mutex
	open bool
	id   uintptr
}

// NewRange registers a range in the given domain. It returns nil if no tool is attached.
func NewRange(domain, name string) *Range {
	if there, _ := Attached(); !there {
		return nil
	}
	d, n := cString(nil, domain), cString(nil, name)
	r := &Range{domain: call(core2[domainCreate], address(d))}
	r.attr = attributes{version: 3, size: uint16(unsafe.Sizeof(r.attr)), messageType: messageRegistered}
	r.attr.message = call(core2[domainRegisterA], r.domain, address(n))
	runtime.KeepAlive(d)
	runtime.KeepAlive(n)
	return r
}

// Start starts the range unless it is already open.
func (r *Range) Start() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		r.open, r.id = true, call(core2[domainRangeStartEx], r.domain, uintptr(unsafe.Pointer(&r.attr)))
		runtime.KeepAlive(r)
	}
}

// End ends the range if it is open.
func (r *Range) End() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open {
		r.open = false
		call(core2[domainRangeEnd], r.domain, r.id)
	}
}
