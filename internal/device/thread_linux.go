package device

import "syscall"

// threadID is the kernel's id of the current thread.
func threadID() int { return syscall.Gettid() }
