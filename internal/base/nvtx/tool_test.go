//go:build linux && (amd64 || arm64) && !static

package nvtx

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// fakeTool is a tool's side of the protocol, called from C like a real one: it requests the tables and writes its
// callbacks into them.
type fakeTool struct {
	seen    []string
	strings []string // that handles refer to: 1, 2, …
}

// text reads a C string.
func text(p *byte) string {
	var b []byte
	for ; *p != 0; p = (*byte)(unsafe.Add(unsafe.Pointer(p), 1)) {
		b = append(b, *p)
	}
	return string(b)
}

func (f *fakeTool) note(format string, args ...any) uintptr {
	f.seen = append(f.seen, fmt.Sprintf(format, args...))
	return 0
}

func (f *fakeTool) handle(p *byte) uintptr {
	f.strings = append(f.strings, text(p))
	return uintptr(len(f.strings))
}

// initialize is InitializeInjectionNvtx2.
func (f *fakeTool) initialize(export uintptr) uintptr {
	type callbackTable struct {
		size      uintptr
		getModule uintptr
	}
	ask := func(id uintptr) unsafe.Pointer {
		p, _, _ := purego.SyscallN(export, id)
		return *(*unsafe.Pointer)(unsafe.Pointer(&p))
	}
	if ask(2) != nil || ask(exportVersion) == nil {
		return 0
	}
	t := (*callbackTable)(ask(exportCallbacks))
	functions := map[int]map[int]any{
		moduleCore: {
			rangePushA:    func(s *byte) uintptr { return f.note("push %s", text(s)) },
			rangePop:      func() uintptr { return f.note("pop") },
			nameOSThreadA: func(id uint32, s *byte) uintptr { return f.note("thread %v %s", int(id) == syscall.Gettid(), text(s)) },
		},
		moduleCore2: {
			domainCreate:    func(s *byte) uintptr { return f.handle(s) },
			domainRegisterA: func(domain uintptr, s *byte) uintptr { return f.handle(s) },
			domainRangeStartEx: func(domain uintptr, a *attributes) uintptr {
				f.note("start %s in %s: version %d, %d bytes, kind %d", f.strings[a.message-1], f.strings[domain-1], a.version, a.size, a.messageType)
				return 1 << 40
			},
			domainRangeEnd: func(domain, id uintptr) uintptr { return f.note("end %#x in %s", id, f.strings[domain-1]) },
		},
		3: nil, // CUDA's, which this process lacks
	}
	for module, table := range functions {
		out := struct {
			table *[tableLen]*uintptr
			size  uint32
		}{}
		ok, _, _ := purego.SyscallN(t.getModule, uintptr(module), uintptr(unsafe.Pointer(&out.table)), uintptr(unsafe.Pointer(&out.size)))
		runtime.KeepAlive(&out)
		if (ok != 0) != (table != nil) || ok != 0 && out.size != tableLen {
			return 0
		}
		for id, fn := range table {
			*out.table[id] = purego.NewCallback(fn)
		}
	}
	return 1
}

// TestProtocol: the ranges of a process as a tool sees them. The tool stays attached: a process has only one.
func TestProtocol(t *testing.T) {
	if os.Getenv(EnvPath) != "" {
		t.Skip("a real tool is attached")
	}
	f := &fakeTool{}
	if !inject(purego.NewCallback(f.initialize)) {
		t.Fatal("the tool failed to attach")
	}
	attach = func() (bool, error) { return true, nil }
	t.Cleanup(func() {
		core, core2 = [tableLen]uintptr{}, [tableLen]uintptr{}
		attach = sync.OnceValues(func() (bool, error) { return false, nil })
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	th := NewThread()
	th.Bind("scheduler TP0")
	th.Push("step[DECODE bs=4]")
	th.Push("a longer text in the same memory, {'Module': 'model.model'}")
	th.Pop()
	th.Pop()
	r := NewRange("stepscope", "cudaProfilerApi")
	r.End() // not open
	r.Start()
	r.Start()
	done := make(chan bool)
	go func() { r.End(); close(done) }()
	<-done
	want := []string{
		"thread true scheduler TP0", "push step[DECODE bs=4]", "push a longer text in the same memory, {'Module': 'model.model'}", "pop", "pop",
		"start cudaProfilerApi in stepscope: version 3, 48 bytes, kind 3", "end 0x10000000000 in stepscope",
	}
	if !slices.Equal(f.seen, want) {
		t.Errorf("the tool saw\n%q, want\n%q", f.seen, want)
	}
}

// TestNoLibrary: the named library must exist.
func TestNoLibrary(t *testing.T) {
	for _, path := range []string{"/nonexistent/libtool.so", "/dev/null"} {
		t.Setenv(EnvPath, path)
		if there, err := load(); there || err == nil {
			t.Errorf("%s: %v, %v", path, there, err)
		}
	}
	t.Setenv(EnvPath, "")
	if there, err := load(); there || err != nil {
		t.Errorf("no tool: %v, %v", there, err)
	}
}
