// Package internal_test holds the imports of all packages against the table of
// docs/ARCHITECTURE.md.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/stepscope/stepscope/"

// arrows lists what each package may import of this module. Arrows go down
// only: a package may import packages of later lines alone.
var arrows = []struct {
	pkg string
	may []string
}{
	{"cmd/stepscope", []string{"internal/cli", "internal/nvtx"}},
	{"internal/cli", []string{
		"internal/experiment", "internal/join", "internal/onebatch", "internal/launch", "internal/route", "internal/server", "internal/engine", "internal/engine/sched", "internal/ask",
		"internal/capture", "internal/capture/collect", "internal/nsys", "internal/load", "internal/workload", "internal/store", "internal/report", "internal/analysis",
		"internal/export", "internal/cut", "internal/redact", "internal/tracecheck", "internal/ingest", "internal/ingest/nsysdb", "internal/merge", "internal/web/handover", "internal/chromejson",
		"internal/kernel", "internal/kineto", "internal/metric", "internal/progress", "internal/traceset", "internal/atomicfile", "internal/wire", "bench", "trace",
	}},
	{"internal/experiment", []string{
		"internal/ask", "internal/capture", "internal/load", "internal/store", "internal/workload", "internal/wire", "bench", "trace",
	}},
	{"internal/join", []string{"internal/metric", "bench", "trace"}},
	{"internal/onebatch", []string{
		"internal/ask", "internal/workload", "internal/engine", "internal/engine/model", "internal/engine/sample", "internal/engine/sched",
		"internal/device", "internal/ingest", "internal/kernel", "internal/metric", "internal/traceset", "internal/atomicfile", "internal/wire", "bench", "trace",
	}},
	{"internal/launch", []string{
		"internal/server", "internal/wire", "internal/engine", "internal/engine/tokenizer", "internal/engine/sched", "internal/engine/model",
		"internal/engine/sample", "internal/engine/nodes", "internal/dist", "internal/kvtransfer", "internal/device", "internal/tensor", "internal/nvtx",
	}},
	{"internal/route", []string{"internal/server", "internal/wire"}},
	{"internal/capture", []string{"internal/capture/collect", "internal/merge", "internal/traceset", "internal/atomicfile", "internal/wire", "trace"}},
	{"internal/capture/collect", []string{"internal/atomicfile", "internal/wire"}},
	{"internal/nsys", []string{"internal/atomicfile", "internal/metric"}},
	{"internal/ask", []string{"internal/wire"}},
	{"internal/load", []string{"internal/workload", "internal/wire", "internal/metric", "bench"}},
	{"internal/store", []string{"internal/sqlite", "internal/atomicfile", "bench", "trace"}},
	{"internal/workload", []string{"internal/engine/tokenizer"}},
	{"internal/report", []string{"internal/analysis", "internal/metric", "bench"}},
	{"internal/analysis", []string{"internal/clock", "internal/kernel", "internal/layerwise", "internal/metric", "trace"}},
	{"internal/export", []string{"internal/sqlite", "internal/atomicfile", "internal/ingest", "internal/kernel", "internal/traceset", "trace"}},
	{"internal/cut", []string{"internal/redact", "internal/tracecheck", "internal/merge", "internal/chromejson", "internal/traceset"}},
	{"internal/tracecheck", []string{"internal/merge", "internal/chromejson", "internal/clock", "internal/traceset", "trace"}},
	{"internal/ingest", []string{"internal/ingest/nsysdb", "internal/chromejson", "internal/sqlitefile", "internal/progress", "internal/traceset", "trace"}},
	{"internal/ingest/nsysdb", []string{"internal/sqlitefile", "trace"}},
	{"internal/server/fakeengine", []string{"internal/server", "internal/wire"}},
	{"internal/server/enginetest", []string{"internal/server"}},
	{"internal/server", []string{"internal/wire"}},
	{"internal/engine/nodes", []string{"internal/engine", "internal/engine/sched", "internal/engine/model", "internal/dist", "internal/device"}},
	{"internal/engine", []string{
		"internal/engine/memsnap", "internal/engine/sched", "internal/engine/model", "internal/engine/sample", "internal/device", "internal/tensor",
		"internal/kvtransfer", "internal/merge", "internal/traceset", "internal/atomicfile",
	}},
	{"internal/engine/sched", []string{"internal/engine/kvcache", "internal/engine/model", "internal/engine/sample"}},
	{"internal/engine/model", []string{"internal/device", "internal/device/comm", "internal/tensor"}},
	{"internal/engine/sample", []string{"internal/tensor"}},
	{"internal/kvtransfer", nil},
	{"internal/engine/memsnap", nil},
	{"internal/engine/kvcache", nil},
	{"internal/engine/tokenizer", []string{"internal/atomicfile"}},
	{"internal/device", []string{"internal/device/comm", "internal/device/park", "internal/device/record"}},
	{"internal/device/comm/commtest", []string{"internal/device/comm"}},
	{"internal/device/comm", []string{"internal/device/park"}},
	{"internal/device/park", nil},
	{"internal/dist", nil},
	{"internal/device/record", []string{"internal/chromejson"}},
	{"internal/tensor", nil},
	{"internal/wire", nil},
	{"internal/merge", []string{"internal/atomicfile", "internal/chromejson", "internal/clock", "internal/pftrace", "internal/traceset", "trace"}},
	{"internal/kineto", []string{"internal/atomicfile", "internal/chromejson", "trace"}},
	{"internal/redact", []string{"internal/chromejson", "trace"}},
	{"bench", []string{"internal/metric"}},
	{"internal/sqlite", nil},
	{"internal/sqlitefile", nil},
	{"internal/web/handover", nil},
	{"internal/chromejson", nil},
	{"internal/clock", nil},
	{"internal/kernel", nil},
	{"internal/layerwise", nil},
	{"internal/metric", nil},
	{"internal/nvtx", nil},
	{"internal/pftrace", nil},
	{"internal/progress", nil},
	{"internal/traceset", []string{"trace"}},
	{"internal/atomicfile", nil},
	{"trace", nil},
}

func TestArrows(t *testing.T) {
	root := ".."
	imports := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if base := d.Name(); rel != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "scripts" || base == "tools") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(rel))
		if imports[pkg] == nil {
			imports[pkg] = map[string]bool{}
		}
		for _, i := range f.Imports {
			if to, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok {
				imports[pkg][to] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{}
	for i, a := range arrows {
		place[a.pkg] = i
	}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		at, ok := place[pkg]
		if !ok {
			t.Errorf("%s is not in the table of packages", pkg)
			continue
		}
		for _, to := range slices.Sorted(maps.Keys(imports[pkg])) {
			switch {
			case !slices.Contains(arrows[at].may, to):
				t.Errorf("%s imports %s, which its line in the table does not allow", pkg, to)
			case place[to] <= at:
				t.Errorf("%s imports %s: arrows go down only", pkg, to)
			}
		}
		for _, to := range arrows[at].may {
			if !imports[pkg][to] {
				t.Errorf("the table allows %s to import %s, but it does not: remove the arrow", pkg, to)
			}
		}
	}
	for _, a := range arrows {
		if imports[a.pkg] == nil {
			t.Errorf("the table has %s, which does not exist", a.pkg)
		}
	}
}
