//go:build linux && (amd64 || arm64) && !static

package nvtx

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Modules of functions and the places of functions in their tables: NVTX_CB_MODULE_*, NVTX_CBID_CORE_* and
// NVTX_CBID_CORE2_*.
const (
	moduleCore, moduleCore2 = 1, 5

	rangePushA, rangePop, nameOSThreadA                               = 9, 11, 14
	domainRangeStartEx, domainRangeEnd, domainRegisterA, domainCreate = 2, 3, 10, 12

	tableLen = 16
)

// Interfaces that the tool asks for by number: NVTX_ETID_*.
const exportCallbacks, exportVersion = 1, 3

// What a tool keeps pointers to lies in package variables: they do not move and are not collected.
var (
	core, core2         [tableLen]uintptr  // functions, written by the tool; 0: it wants none
	corePtrs, core2Ptrs [tableLen]*uintptr // where it writes them
	callbacks           struct {           // NvtxExportTableCallbacks
		size, getModule uintptr
	}
	versionInfo struct { // NvtxExportTableVersionInfo
		size         uintptr
		version, pad uint32
		setVersion   uintptr
	}
)

// listening: a tool has attached.
var listening atomic.Bool

var attach = sync.OnceValues(load)

// Attached tells whether a tool is there; the first call lets it in. The error says why one that wants to be cannot.
func Attached() (bool, error) { return attach() }

// load lets the tool in that the environment names.
func load() (bool, error) {
	path := os.Getenv(EnvPath)
	if path == "" {
		return false, nil
	}
	lib, err := purego.Dlopen(path, purego.RTLD_LAZY)
	if err != nil {
		return false, fmt.Errorf("load the library of %s: %w", EnvPath, err)
	}
	entry, err := purego.Dlsym(lib, "InitializeInjectionNvtx2")
	if err != nil {
		return false, fmt.Errorf("%s: %s is no library of an NVTX tool: %w", EnvPath, path, err)
	}
	if !inject(entry) {
		return false, fmt.Errorf("%s: %s would not attach", EnvPath, path)
	}
	listening.Store(true)
	return true, nil
}

// inject hands the tables to a tool's InitializeInjectionNvtx2 and tells whether it took them.
func inject(entry uintptr) bool {
	for i := 1; i < tableLen; i++ {
		corePtrs[i], core2Ptrs[i] = &core[i], &core2[i]
	}
	callbacks.size = unsafe.Sizeof(callbacks)
	callbacks.getModule = purego.NewCallback(func(module int32, table *unsafe.Pointer, size *uint32) int32 {
		switch module {
		case moduleCore:
			*table = unsafe.Pointer(&corePtrs)
		case moduleCore2:
			*table = unsafe.Pointer(&core2Ptrs)
		default:
			return 0
		}
		if size != nil {
			*size = tableLen
		}
		return 1
	})
	versionInfo.size, versionInfo.version = unsafe.Sizeof(versionInfo), 3
	versionInfo.setVersion = purego.NewCallback(func(uint32) uintptr { return 0 })
	export := purego.NewCallback(func(id uint32) uintptr {
		switch id {
		case exportCallbacks:
			return uintptr(unsafe.Pointer(&callbacks))
		case exportVersion:
			return uintptr(unsafe.Pointer(&versionInfo))
		}
		return 0
	})
	ok, _, _ := purego.SyscallN(entry, export)
	return int32(ok) != 0
}

// call calls a function of a tool, if it has it.
func call(fn uintptr, args ...uintptr) uintptr {
	if fn == 0 {
		return 0
	}
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// cString writes s to the memory of to, or to more, as C has texts.
func cString(to []byte, s string) []byte { return append(append(to[:0], s...), 0) }

// address is where b begins. b must be kept alive until the call that gets it is over.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Exit ends the process. A tool saves the ranges that it holds when the C library ends a process, which os.Exit passes
// by: of many ranges the last thousands would be lost.
func Exit(status int) {
	if listening.Load() {
		if exit, err := purego.Dlsym(purego.RTLD_DEFAULT, "exit"); err == nil {
			purego.SyscallN(exit, uintptr(status))
		}
	}
	os.Exit(status)
}
