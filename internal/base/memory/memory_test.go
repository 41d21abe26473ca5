package memory

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "4096": 4096, "8GB": 8e9, "8g": 8e9, "1.5 GiB": 3 << 29, "512MiB": 512 << 20, "20mb": 20e6, "3kB": 3000, "2T": 2e12,
		"": 0, "0": 0, "-1": 0, "GB": 0, "8 XB": 0, "8gg": 0, "nan": 0, "1e30": 0, "inf": 0,
	} {
		if got, err := Parse(s); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

// TestMachine: the memory of a machine, or of a control group.
func TestMachine(t *testing.T) {
	for what, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is said":              {nil, 0},
		"a machine":                    {map[string]string{"proc/meminfo": "MemTotal:       1000 kB\nMemFree: 1 kB\n"}, 1000 << 10},
		"a group without a limit":      {map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n", "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 1000 << 10},
		"a group":                      {map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n", "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n"}, 5000},
		"a group above":                {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "4000\n", "sys/fs/cgroup/a/b/memory.max": "5000\n"}, 4000},
		"a container":                  {map[string]string{"proc/self/cgroup": "0::/host/x\n", "sys/fs/cgroup/memory.max": "6000\n"}, 6000},
		"a group of the first kind":    {map[string]string{"proc/self/cgroup": "3:cpu:/c\n2:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "7000\n"}, 7000},
		"a group larger than there is": {map[string]string{"proc/meminfo": "MemTotal: 1 kB\n", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9223372036854771712\n"}, 1024},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o777)
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := machine(root); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

var held [][]byte

// TestWatch: garbage does not count against the limit, live memory does.
func TestWatch(t *testing.T) {
	const limit = 64 << 20
	over := make(chan struct{})
	stop := Watch(limit, func() { close(over) })
	for range 1000 {
		held = [][]byte{make([]byte, 1<<20)}
	}
	select {
	case <-over:
		t.Error("garbage counts")
	default:
	}
	held = nil
	for range 2 * limit >> 20 {
		held = append(held, make([]byte, 1<<20))
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Error("twice the limit is held")
	}
	stop()
	held = nil
}
