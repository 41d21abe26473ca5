// Package internal_test holds the imports of all packages against the table of
// docs/ARCHITECTURE.md.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
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
	{"cmd/stepscope", []string{"internal/cli", "internal/engine/nvtx"}},
	{"internal/cli", []string{
		"docs/guides", "internal/base/gate", "internal/base/live", "internal/base/suggest",
		"internal/base/memory",
		"internal/base/columns", "internal/api", "internal/measure/experiment", "internal/measure/batch",
		"internal/serve/front", "internal/serve/images", "internal/serve/launch", "internal/serve/route", "internal/serve/server", "internal/api/client",
		"internal/capture/signals", "internal/capture/torch", "internal/capture/collect", "internal/capture/nsys", "internal/measure/load", "internal/measure/load/selftest",
		"internal/measure/workload", "internal/runs", "internal/explain/report", "internal/explain",
		"internal/explain/result", "internal/explain/export", "internal/tracefile/cut", "internal/tracefile/redact",
		"internal/tracefile/check", "internal/tracefile/read", "internal/tracefile/read/nsysdb", "internal/tracefile/merge",
		"internal/tracefile/open", "internal/explain/kernel", "internal/tracefile/kineto", "internal/base/metric",
		"internal/base/progress", "internal/tracefile/set", "internal/base/atomicfile", "bench", "trace",
		"internal/explain/window", "internal/measure/system", "internal/measure/demo", "internal/measure/embedded",
		"internal/measure/offline", "internal/measure/pictures", "internal/measure/ranks", "internal/measure/imageload", "internal/explain/dumps",
		"internal/base/yamltree", "internal/explain/worth", "internal/job", "internal/job/spec", "internal/job/slurm", "internal/view", "internal/view/live",
		"internal/watch", "internal/watch/detect",
	}},
	{"internal/view", []string{
		"internal/view/kernels", "internal/base/columns", "internal/explain/worth", "internal/explain/kernel", "internal/explain/match", "internal/explain/report",
		"internal/explain/result", "internal/explain/window", "internal/runs", "internal/serve/front", "trace",
		"internal/base/metric", "internal/base/progress", "internal/view/live", "internal/view/load", "internal/view/timeline",
	}},
	{"internal/view/live", []string{
		"internal/base/columns", "internal/base/pause", "internal/base/progress", "internal/capture/signals", "internal/capture/torch", "internal/serve/front",
	}},
	{"internal/view/load/loadtest", []string{"bench", "internal/measure/experiment", "internal/runs", "trace"}},
	{"internal/view/load", []string{
		"bench", "internal/base/columns", "internal/base/metric", "internal/base/progress", "internal/explain/fact", "internal/explain/report",
		"internal/explain/result", "internal/explain/waits", "internal/measure/experiment", "internal/runs", "internal/serve/front", "trace",
	}},
	{"internal/watch", []string{
		"internal/base/columns", "internal/base/live", "internal/base/suggest", "internal/base/metric", "internal/base/pause", "internal/base/progress",
		"internal/base/yamltree", "internal/capture/nsys", "internal/capture/signals", "internal/capture/torch", "internal/explain", "internal/explain/answer",
		"internal/explain/report", "internal/explain/result", "internal/explain/window", "internal/measure/experiment", "internal/runs",
		"internal/serve/front", "internal/serve/prom", "internal/tracefile/read", "internal/watch/detect", "trace",
	}},
	{"internal/watch/detect", []string{"internal/base/metric", "internal/capture/signals"}},
	{"internal/watch/detect/detecttest", []string{"internal/capture/signals"}},
	{"internal/view/timeline", []string{
		"internal/base/columns", "internal/base/metric", "internal/explain/kernel", "internal/explain/match", "internal/explain/prep",
		"internal/explain/result", "trace",
	}},
	{"internal/view/kernels", []string{
		"internal/base/columns", "internal/explain/kernel", "internal/explain/match", "internal/explain/prep",
		"internal/explain/result", "internal/explain/tables", "trace",
	}},
	{"internal/job", []string{"internal/base/atomicfile", "internal/base/columns", "internal/job/slurm", "internal/job/spec", "internal/runs"}},
	{"internal/job/spec", []string{"internal/base/suggest", "internal/base/yamltree"}},
	{"internal/measure/demo", []string{
		"bench", "internal/api/client", "internal/base/metric", "internal/base/progress", "internal/capture/torch",
		"internal/explain", "internal/explain/report", "internal/explain/window", "internal/measure/embedded",
		"internal/measure/experiment", "internal/measure/load", "internal/measure/workload", "internal/runs",
		"internal/serve/launch",
	}},
	{"internal/measure/offline", []string{
		"bench", "internal/api", "internal/api/client", "internal/api/wire", "internal/base/progress",
		"internal/measure/embedded", "internal/measure/experiment", "internal/measure/workload", "internal/runs",
		"internal/serve/launch", "trace",
	}},
	{"internal/measure/imageload", []string{
		"internal/api/client", "internal/base/metric", "internal/base/progress", "internal/base/pyrand", "internal/measure/workload",
	}},
	{"internal/measure/pictures", []string{
		"internal/api", "internal/base/atomicfile", "internal/base/columns", "internal/base/metric", "internal/base/progress",
		"internal/engine/device", "internal/engine/diffusion", "internal/serve/launch",
	}},
	{"internal/measure/batch", []string{
		"internal/base/columns", "internal/api", "internal/api/client", "internal/measure/workload", "internal/engine",
		"internal/engine/model", "internal/engine/sample", "internal/engine/sched", "internal/engine/device",
		"internal/tracefile/read", "internal/explain/kernel", "internal/base/metric", "internal/tracefile/set",
		"internal/base/atomicfile", "bench", "trace", "internal/base/progress", "internal/capture/torch",
		"internal/measure/experiment", "internal/runs", "internal/serve/launch",
	}},
	{"internal/measure/system", []string{
		"internal/api", "internal/base/atomicfile", "internal/base/metric", "internal/base/private", "internal/base/progress", "internal/capture/nsys",
		"internal/capture/torch", "internal/explain", "internal/explain/kernel", "internal/explain/report",
		"internal/explain/result", "internal/explain/waits", "internal/explain/window", "internal/measure/experiment",
		"internal/runs", "internal/tracefile/read", "internal/tracefile/set", "trace",
	}},
	{"internal/measure/ranks", []string{
		"internal/base/progress", "internal/explain/summary", "internal/explain/window", "internal/job/scatter", "internal/tracefile/set",
	}},
	{"internal/measure/embedded", []string{"internal/api/client", "internal/serve/front", "internal/serve/launch", "internal/serve/server"}},
	{"internal/measure/experiment", []string{
		"internal/base/live",
		"internal/api/client", "internal/capture/torch", "internal/measure/load", "internal/runs",
		"internal/measure/workload", "internal/api/wire", "bench", "trace", "internal/base/progress", "internal/base/metric",
		"internal/api",
	}},
	{"internal/explain/report", []string{
		"internal/explain/dumps",
		"internal/explain/kernel",
		"internal/explain/fact",
		"internal/base/columns", "internal/explain/result", "internal/base/metric", "bench", "internal/explain/waits",
		"internal/tracefile/read/nsysdb", "trace",
	}},
	{"internal/explain/dumps", []string{"internal/api", "internal/base/metric"}},
	{"internal/explain/waits", []string{"internal/explain/fact", "internal/explain/result", "internal/api", "internal/base/metric", "bench", "trace"}},
	{"internal/serve/launch", []string{
		"internal/api", "internal/serve/front", "internal/serve/server", "internal/api/wire", "internal/engine", "internal/engine/tokenizer", "internal/engine/sched", "internal/engine/model", "internal/engine/hf",
		"internal/engine/nodes", "internal/engine/mesh", "internal/engine/kvtransfer", "internal/engine/device", "internal/engine/tensor", "internal/engine/nvtx",
		"internal/engine/diffusion",
	}},
	{"internal/serve/route", []string{"internal/base/loglimit", "internal/base/pause", "internal/base/jsonscan", "internal/api", "internal/serve/front", "internal/api/wire"}},
	{"internal/capture/torch", []string{"internal/base/columns", "internal/base/live", "internal/base/metric", "internal/base/pause", "internal/base/progress", "internal/api/client", "internal/api", "internal/capture/collect", "internal/tracefile/check", "internal/tracefile/merge", "internal/tracefile/set", "internal/base/atomicfile", "internal/base/private", "internal/api/wire", "trace"}},
	{"internal/capture/collect", []string{"internal/api/client", "internal/base/atomicfile", "internal/api/wire"}},
	{"internal/capture/signals", []string{"internal/base/pause", "internal/api/client"}},
	{"internal/capture/nsys", []string{
		"internal/base/pause", "internal/base/atomicfile", "internal/base/metric", "internal/tracefile/set", "internal/base/progress",
		"internal/runs", "trace",
	}},
	{"internal/measure/load/selftest", []string{"internal/measure/load", "internal/measure/workload", "internal/base/metric"}},
	{"internal/measure/load", []string{"internal/base/columns", "internal/base/jsonscan", "internal/base/live", "internal/measure/workload", "internal/api/wire", "internal/base/metric", "bench", "internal/base/progress"}},
	{"internal/measure/workload", []string{"internal/api/wire", "internal/api/client", "internal/base/jsonscan", "internal/base/pyrand", "internal/engine/tokenizer"}},
	{"internal/explain/window", []string{
		"internal/base/progress", "internal/explain", "internal/explain/kernel", "internal/explain/prep", "internal/explain/summary",
		"internal/tracefile/read", "internal/tracefile/read/nsysdb", "internal/tracefile/set", "trace",
	}},
	{"internal/explain/summary", []string{"internal/base/flat", "internal/explain/prep", "internal/tracefile/set", "trace"}},
	{"internal/explain", []string{
		"internal/base/parallel", "internal/explain/fact",
		"internal/explain/judge", "internal/explain/tables", "internal/explain/match", "internal/explain/prep", "internal/explain/result",
		"internal/explain/graphlayers", "internal/explain/kernel", "internal/explain/worth", "internal/explain/answer", "trace",
		"internal/base/gate", "internal/explain/replicas",
	}},
	{"internal/explain/replicas", []string{"internal/base/metric", "internal/explain/timeslice", "internal/explain/kernel", "internal/explain/prep", "internal/explain/result", "trace"}},
	{"internal/explain/graphlayers", []string{
		"internal/base/metric", "internal/explain/fact", "internal/explain/kernel", "internal/explain/prep", "internal/explain/result", "trace",
	}},
	{"internal/explain/explaintest/retime", []string{"internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "trace"}},
	{"internal/explain/answer", []string{"internal/base/metric", "internal/explain/fact", "internal/explain/result"}},
	{"internal/explain/worth", []string{
		"internal/base/parallel",
		"internal/base/metric", "internal/explain/fact", "internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "internal/explain/replay", "internal/explain/result", "internal/explain/tables", "trace",
	}},
	{"internal/explain/replay", []string{"internal/base/parallel", "internal/base/metric", "internal/base/runsort", "internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "trace"}},
	{"internal/explain/judge", []string{
		"internal/explain/fact", "internal/explain/timeslice",
		"internal/explain/tables", "internal/explain/match", "internal/explain/prep", "internal/explain/result", "internal/explain/kernel",
		"internal/base/metric", "trace",
	}},
	{"internal/explain/tables", []string{
		"internal/explain/fact",
		"internal/explain/match", "internal/explain/prep", "internal/explain/result", "internal/explain/kernel", "internal/base/metric", "trace",
		"internal/base/gate",
	}},
	{"internal/explain/match", []string{
		"internal/explain/fact",
		"internal/explain/prep", "internal/explain/kernel", "internal/tracefile/clock", "internal/base/metric", "trace",
	}},
	{"internal/explain/prep", []string{
		"internal/base/parallel",
		"internal/explain/fact",
		"internal/explain/result", "internal/explain/kernel", "internal/base/metric", "internal/base/runsort", "internal/explain/layers", "trace",
	}},
	{"internal/explain/timeslice", []string{"internal/base/metric", "internal/explain/result"}},
	{"internal/explain/result", []string{"internal/explain/fact", "trace"}},
	{"internal/explain/fact", nil},
	{"internal/explain/explaintest", []string{"trace"}},
	{"internal/explain/export", []string{"internal/base/columns", "internal/base/parquetfile", "internal/base/atomicfile", "internal/tracefile/read", "internal/tracefile/sqlitefile", "internal/explain/kernel", "internal/tracefile/set", "trace"}},
	{"internal/tracefile/cut", []string{
		"internal/base/atomicfile", "internal/tracefile/redact", "internal/tracefile/check", "internal/tracefile/merge", "internal/tracefile/chromejson",
		"internal/tracefile/set", "trace", "internal/base/progress",
	}},
	{"internal/tracefile/check", []string{
		"internal/base/columns", "internal/tracefile/merge", "internal/tracefile/chromejson", "internal/tracefile/clock",
		"internal/tracefile/set", "trace", "internal/base/progress",
	}},
	{"internal/tracefile/kineto", []string{
		"internal/base/atomicfile", "internal/tracefile/chromejson", "trace", "internal/base/progress", "internal/tracefile/read",
		"internal/tracefile/set",
	}},
	{"internal/tracefile/read", []string{"internal/base/runsort", "internal/tracefile/read/nsysdb", "internal/tracefile/chromejson", "internal/tracefile/sqlitefile", "internal/base/progress", "internal/tracefile/set", "trace"}},
	{"internal/tracefile/read/nsysdb", []string{"internal/base/parallel", "internal/base/runsort", "internal/tracefile/sqlitefile", "trace"}},
	{"internal/serve/server/fakeengine", []string{"internal/api", "internal/serve/server", "internal/api/wire"}},
	{"internal/serve/server/enginetest", []string{"internal/api", "internal/serve/server"}},
	{"internal/serve/server", []string{"internal/api", "internal/api/wire", "internal/serve/front", "internal/serve/prom", "internal/serve/windows", "internal/base/loglimit"}},
	{"internal/serve/images", []string{
		"internal/api", "internal/api/wire", "internal/base/atomicfile", "internal/engine", "internal/engine/device", "internal/engine/diffusion",
		"internal/serve/front", "internal/serve/prom", "internal/serve/windows", "internal/base/loglimit",
	}},
	{"internal/serve/prom", nil},
	{"internal/serve/windows", []string{"internal/api", "internal/api/wire", "internal/base/suggest", "internal/serve/front"}},
	{"internal/serve/front", nil},
	{"internal/engine/nodes", []string{"internal/engine", "internal/engine/sched", "internal/engine/model", "internal/engine/mesh", "internal/engine/device"}},
	{"internal/engine/diffusion", []string{
		"internal/engine", "internal/engine/model", "internal/engine/op", "internal/engine/hf", "internal/engine/device", "internal/engine/tensor",
		"internal/engine/tokenizer", "internal/base/atomicfile", "internal/base/twister", "internal/api",
	}},
	{"internal/engine", []string{
		"internal/api", "internal/engine/memsnap", "internal/engine/sched", "internal/engine/model", "internal/engine/hf", "internal/engine/device", "internal/engine/tensor",
		"internal/engine/kvtransfer", "internal/tracefile/merge", "internal/tracefile/set", "internal/base/atomicfile",
	}},
	{"internal/engine/sched", []string{"internal/api", "internal/engine/kvcache", "internal/engine/model", "internal/engine/sample"}},
	{"internal/engine/model", []string{"internal/engine/hf", "internal/engine/op", "internal/engine/device", "internal/engine/device/comm", "internal/engine/tensor"}},
	{"internal/engine/op", []string{"internal/engine/hf", "internal/engine/device", "internal/engine/tensor"}},
	{"internal/engine/hf", []string{"internal/engine/tensor"}},
	{"internal/engine/sample", []string{"internal/api", "internal/engine/tensor"}},
	{"internal/engine/kvtransfer", []string{"internal/base/crc32c", "internal/base/loglimit"}},
	{"internal/engine/memsnap", nil},
	{"internal/engine/kvcache", nil},
	{"internal/engine/tokenizer", []string{"internal/base/atomicfile"}},
	{"internal/engine/device", []string{"internal/engine/device/comm", "internal/engine/device/park", "internal/engine/device/record"}},
	{"internal/engine/device/comm", []string{"internal/engine/device/park"}},
	{"internal/engine/device/park", nil},
	{"internal/engine/mesh", []string{"internal/base/pause", "internal/base/loglimit"}},
	{"internal/engine/device/record", []string{"internal/tracefile/chromejson"}},
	{"internal/engine/tensor", nil},
	{"internal/runs", []string{
		"internal/base/atomicfile", "bench", "trace", "internal/base/progress", "internal/base/columns",
		"internal/base/metric",
	}},
	{"internal/api/client", []string{"internal/api/wire"}},
	{"internal/api/wire", []string{"internal/api"}},
	{"internal/api", nil},
	{"internal/tracefile/merge", []string{
		"internal/base/atomicfile", "internal/base/columns", "internal/tracefile/chromejson", "internal/tracefile/clock", "internal/tracefile/pftrace",
		"internal/tracefile/set", "trace", "internal/base/progress",
	}},
	{"internal/tracefile/redact", []string{"internal/tracefile/chromejson", "trace"}},
	{"bench", []string{"internal/base/gate", "internal/base/metric"}},
	{"internal/job/slurmtest", []string{"internal/job/slurm"}},
	{"internal/job/scatter", []string{"internal/base/progress", "internal/job/slurm"}},
	{"internal/job/slurm", nil},
	{"internal/base/flat", nil},
	{"internal/base/sqlitedb", nil},
	{"internal/base/parquetfile", nil},
	{"internal/tracefile/sqlitefile", nil},
	{"internal/tracefile/set", []string{"trace", "internal/base/atomicfile", "internal/base/progress", "internal/tracefile/chromejson"}},
	{"internal/base/progress", []string{"internal/base/columns", "internal/base/live", "internal/base/metric"}},
	{"internal/base/live", nil},
	{"internal/base/columns", nil},
	{"internal/base/gate", []string{"internal/base/suggest"}},
	{"internal/base/suggest", nil},
	{"internal/base/private", []string{"internal/base/atomicfile"}},
	{"internal/base/browsertest", nil},
	{"internal/base/packedtest", nil},
	{"docs/guides", nil},
	{"internal/base/memory", nil},
	{"internal/tracefile/chromejson", []string{"internal/base/inflate"}},
	{"internal/tracefile/open", []string{"internal/base/pause", "trace"}},
	{"internal/tracefile/clock", nil},
	{"internal/explain/kernel", nil},
	{"internal/explain/layers", nil},
	{"internal/base/metric", nil},
	{"internal/base/jsonscan", nil},
	{"internal/base/yamltree", nil},
	{"internal/engine/nvtx", nil},
	{"internal/tracefile/pftrace", nil},
	{"internal/base/atomicfile", nil},
	{"internal/base/pyrand", []string{"internal/base/twister"}},
	{"internal/base/twister", nil},
	{"internal/base/inflate", nil},
	{"internal/base/runsort", nil},
	{"internal/base/parallel", nil},
	{"internal/base/pause", nil},
	{"internal/base/loglimit", nil},
	{"internal/base/crc32c", nil},
	{"trace", nil},
}

// importsOf are the packages of this module that each of them imports outside
// its tests, by their paths in the module.
func importsOf(t *testing.T) map[string]map[string]bool {
	t.Helper()
	imports := map[string]map[string]bool{}
	eachFile(t, func(pkg string, test bool, paths []string) {
		if test {
			return
		}
		if imports[pkg] == nil {
			imports[pkg] = map[string]bool{}
		}
		for _, path := range paths {
			if to, ok := strings.CutPrefix(path, module); ok {
				imports[pkg][to] = true
			}
		}
	})
	return imports
}

// eachFile tells what each file of the program imports.
func eachFile(t *testing.T, tell func(pkg string, test bool, paths []string)) {
	t.Helper()
	root := ".."
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
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var paths []string
		for _, i := range f.Imports {
			paths = append(paths, strings.Trim(i.Path.Value, `"`))
		}
		tell(filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(path, "_test.go"), paths)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestArrows(t *testing.T) {
	imports := importsOf(t)
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
