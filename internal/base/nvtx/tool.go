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

// Numbers of the function modules (NVTX_CB_MODULE_*), and indices of functions in the modules' tables (NVTX_CBID_CORE_*
// and NVTX_CBID_CORE2_*).
const (
	moduleCore, moduleCore2 = 1, 5

	rangePushA, rangePop, nameOSThreadA                               = 9, 11, 14
	domainRangeStartEx, domainRangeEnd, domainRegisterA, domainCreate = 2, 3, 10, 12

	tableLen = 16
)

// Export tables that the tool requests by number: NVTX_ETID_*.
const exportCallbacks, exportVersion = 1, 3

// The tool keeps pointers into these variables. Package variables do not move and are not collected.
var (
	core, core2         [tableLen]uintptr  // addresses of the tool's functions, written by the tool; 0: none
	corePtrs, core2Ptrs [tableLen]*uintptr // pointers to the entries to which the tool writes
	callbacks           struct {           // NvtxExportTableCallbacks
		size, getModule uintptr
	}
	versionInfo struct { // NvtxExportTableVersionInfo
		size         uintptr
		version, pad uint32
		setVersion   uintptr
	}
)

// listening is set once a tool has attached.
var listening atomic.Bool

var attach = sync.OnceValues(load)

// Attached reports whether a tool is attached; the first call attaches it. If the tool cannot attach, the error gives
// the reason.
func Attached() (bool, error) { return attach() }

// load attaches the tool that the environment names.
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
		return false, fmt.Errorf("%s: %s is not an NVTX tool library: %w", EnvPath, path, err)
	}
	if !inject(entry) {
		return false, fmt.Errorf("%s: %s failed to attach", EnvPath, path)
	}
	listening.Store(true)
	return true, nil
}

// inject passes the tables to the tool's InitializeInjectionNvtx2 and reports whether the tool accepted the tables.
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

// call calls a function of the tool if it is set.
func call(fn uintptr, args ...uintptr) uintptr {
	if fn == 0 {
		return 0
	}
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// cString writes s as a C string into the memory of to, and grows that memory as needed.
func cString(to []byte, s string) []byte { return append(append(to[:0], s...), 0) }

// address returns the address of b, which must be kept alive until the call that uses it returns.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Exit ends the process through the C library if a tool is attached. Tools save their buffered ranges in the exit
// handlers of the C library. os.Exit bypasses these handlers and would lose the last thousands of ranges.
func Exit(status int) {
	if listening.Load() {
		if exit, err := purego.Dlsym(purego.RTLD_DEFAULT, "exit"); err == nil {
			purego.SyscallN(exit, uintptr(status))
		}
	}
	os.Exit(status)
}
