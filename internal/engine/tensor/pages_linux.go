package tensor

import (
	"syscall"
	"unsafe"
)

// largePages asks for memory that nobody has touched yet in pages of 2 MiB. In
// small ones, which lie wherever there is room, the CPU does not fetch ahead as
// well: a batch of decodes took a tenth longer. The advice may be ignored.
func largePages(b []byte) {
	const page = 2 << 20
	from := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % page)
	if n := (len(b) - from) / page * page; n > 0 {
		_ = syscall.Madvise(b[from:from+n], syscall.MADV_HUGEPAGE)
	}
}
