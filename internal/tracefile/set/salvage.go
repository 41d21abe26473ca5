package set

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Salvage recovers the traces in dir that a server was writing when it was killed, and calls say for each recovered
// trace. It ignores an unreadable directory.
func Salvage(dir string, say func(line string)) {
	for _, name := range atomicfile.Salvage(dir, func(name string) bool { return strings.HasSuffix(name, ".trace.json.gz") }) {
		say(fmt.Sprintf("%s: the server was killed while writing this trace: it now has its final name and ends early", filepath.Join(dir, name)))
	}
}

// SalvageAll calls [Salvage] for dir and for each direct subdirectory of dir.
func SalvageAll(dir string, say func(line string)) {
	Salvage(dir, say)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			Salvage(filepath.Join(dir, e.Name()), say)
		}
	}
}
