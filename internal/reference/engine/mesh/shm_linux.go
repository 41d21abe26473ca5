package mesh

import (
	"os"
	"strings"
	"syscall"
)

// hostID returns the boot id of the host. Processes with equal host ids can share memory.
func hostID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// makeShared creates the memory of a lane under a name. After the other node has opened the memory, the name is no
// longer needed.
func makeShared(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Allocate the memory now. If it were allocated at the first use and the system had too little memory, that use
	// would kill the process.
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, int64(2*ringSize)); err != nil {
		os.Remove(name)
		return nil, err
	}
	mem, err := mapShared(f)
	if err != nil {
		os.Remove(name)
	}
	return mem, err
}

// openShared maps memory created by makeShared.
func openShared(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(2*ringSize) {
		return nil, errRing
	}
	return mapShared(f)
}

func mapShared(f *os.File) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, 2*ringSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmapShared(mem []byte) { _ = syscall.Munmap(mem) }
