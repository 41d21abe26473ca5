package tensor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages asks for memory that nobody has touched yet in pages of 2 MiB, at its
// ends along with what lies beside it. In small ones, which lie wherever there is
// room, the CPU does not fetch ahead as well: products with one row read 15 GB/s,
// not 23. The advice may be ignored.
func largePages(b []byte) { advise(b, unix.MADV_HUGEPAGE) }

// collapse makes large pages of what lies in small ones although they were asked for:
// the memory was in use before, and a part of it was never given back.
func collapse(b []byte) { advise(b, unix.MADV_COLLAPSE) }

// advise is by number: a slice must not reach beyond b.
func advise(b []byte, advice uintptr) {
	const page = 2 << 20
	if len(b) < page/2 {
		return
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	to := from + uintptr(len(b)) + page - 1
	from, to = from-from%page, to-to%page
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
}
