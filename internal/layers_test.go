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
	{"cmd/stepscope", []string{"internal/base/memory", "internal/base/nvtx", "internal/cli"}},
	{"internal/cli", []string{
		"bench", "docs", "docs/guides", "internal/api", "internal/api/client", "internal/api/servers",
		"internal/base/atomicfile", "internal/base/columns", "internal/base/gate", "internal/base/httpguard",
		"internal/base/live", "internal/base/memory", "internal/base/metric", "internal/base/parallel",
		"internal/base/progress", "internal/base/suggest", "internal/base/yamltree", "internal/capture/collect",
		"internal/capture/gpus", "internal/capture/nsys", "internal/capture/signals", "internal/capture/torch",
		"internal/ci", "internal/explain", "internal/explain/brief", "internal/explain/dumps",
		"internal/explain/export", "internal/explain/kernel", "internal/explain/light", "internal/explain/report",
		"internal/explain/result", "internal/explain/window", "internal/explain/worth", "internal/job",
		"internal/job/slurm", "internal/job/spec", "internal/kube", "internal/mcp", "internal/measure/batch",
		"internal/measure/experiment", "internal/measure/imageload", "internal/measure/load",
		"internal/measure/load/selftest", "internal/measure/ranks", "internal/measure/system",
		"internal/measure/workload", "internal/reference/demo", "internal/reference/embedded",
		"internal/reference/images", "internal/reference/launch", "internal/reference/offline",
		"internal/reference/onebatch", "internal/reference/pictures", "internal/reference/route",
		"internal/reference/server", "internal/runs", "internal/tracefile/check", "internal/tracefile/cut",
		"internal/tracefile/kineto", "internal/tracefile/merge", "internal/tracefile/open", "internal/tracefile/read",
		"internal/tracefile/read/nsysdb", "internal/tracefile/redact", "internal/tracefile/set", "internal/view",
		"internal/view/live", "internal/watch", "internal/watch/detect", "trace",
	}},
	{"internal/reference/demo", []string{
		"bench", "internal/api/client", "internal/base/metric", "internal/base/progress", "internal/capture/torch",
		"internal/explain", "internal/explain/report", "internal/explain/window", "internal/measure/experiment",
		"internal/measure/load", "internal/measure/workload", "internal/reference/embedded",
		"internal/reference/launch", "internal/runs",
	}},
	{"internal/reference/images", []string{
		"internal/api", "internal/api/wire", "internal/base/atomicfile", "internal/base/httpguard",
		"internal/base/loglimit", "internal/base/prom", "internal/reference/engine",
		"internal/reference/engine/device", "internal/reference/engine/diffusion", "internal/reference/windows",
	}},
	{"internal/reference/offline", []string{
		"bench", "internal/api", "internal/api/client", "internal/api/wire", "internal/base/progress",
		"internal/measure/experiment", "internal/measure/workload", "internal/reference/embedded",
		"internal/reference/launch", "internal/runs", "trace",
	}},
	{"internal/reference/embedded", []string{
		"internal/api/client", "internal/base/httpguard", "internal/reference/launch", "internal/reference/server",
	}},
	{"internal/reference/onebatch", []string{
		"bench", "internal/api", "internal/base/atomicfile", "internal/base/columns", "internal/base/metric",
		"internal/base/progress", "internal/base/sorts", "internal/explain/kernel", "internal/measure/batch",
		"internal/measure/experiment", "internal/reference/engine", "internal/reference/engine/device",
		"internal/reference/engine/model", "internal/reference/engine/sample", "internal/reference/engine/sched",
		"internal/reference/launch", "internal/runs", "internal/tracefile/read", "internal/tracefile/set", "trace",
	}},
	{"internal/reference/pictures", []string{
		"internal/api", "internal/base/atomicfile", "internal/base/columns", "internal/base/metric",
		"internal/base/progress", "internal/reference/engine/device", "internal/reference/engine/diffusion",
		"internal/reference/launch",
	}},
	{"internal/reference/launch", []string{
		"internal/api", "internal/api/wire", "internal/base/httpguard", "internal/base/nvtx",
		"internal/base/tokenizer", "internal/reference/engine", "internal/reference/engine/device",
		"internal/reference/engine/diffusion", "internal/reference/engine/hf", "internal/reference/engine/kvtransfer",
		"internal/reference/engine/mesh", "internal/reference/engine/model", "internal/reference/engine/nodes",
		"internal/reference/engine/sched", "internal/reference/engine/tensor", "internal/reference/server",
	}},
	{"internal/reference/engine/diffusion", []string{
		"internal/api", "internal/base/atomicfile", "internal/base/tokenizer", "internal/base/twister",
		"internal/reference/engine", "internal/reference/engine/device", "internal/reference/engine/hf",
		"internal/reference/engine/model", "internal/reference/engine/op", "internal/reference/engine/tensor",
	}},
	{"internal/reference/engine/nodes", []string{
		"internal/reference/engine", "internal/reference/engine/device", "internal/reference/engine/mesh",
		"internal/reference/engine/model", "internal/reference/engine/sched",
	}},
	{"internal/reference/engine", []string{
		"internal/api", "internal/base/atomicfile", "internal/reference/engine/device",
		"internal/reference/engine/hf", "internal/reference/engine/kvtransfer", "internal/reference/engine/memsnap",
		"internal/reference/engine/model", "internal/reference/engine/sched", "internal/reference/engine/tensor",
		"internal/tracefile/merge", "internal/tracefile/set",
	}},
	{"internal/reference/engine/kvtransfer", []string{"internal/base/loglimit"}},
	{"internal/reference/engine/memsnap", []string{"internal/base/sorts"}},
	{"internal/reference/engine/mesh", []string{"internal/base/loglimit", "internal/base/pause"}},
	{"internal/reference/engine/sched", []string{
		"internal/api", "internal/reference/engine/kvcache", "internal/reference/engine/model",
		"internal/reference/engine/sample",
	}},
	{"internal/reference/engine/kvcache", nil},
	{"internal/reference/engine/model", []string{
		"internal/reference/engine/device", "internal/reference/engine/device/comm", "internal/reference/engine/hf",
		"internal/reference/engine/op", "internal/reference/engine/tensor",
	}},
	{"internal/reference/engine/op", []string{
		"internal/reference/engine/device", "internal/reference/engine/hf", "internal/reference/engine/tensor",
	}},
	{"internal/reference/engine/device", []string{
		"internal/reference/engine/device/comm", "internal/reference/engine/device/park",
		"internal/reference/engine/device/record",
	}},
	{"internal/reference/engine/device/comm", []string{"internal/reference/engine/device/park"}},
	{"internal/reference/engine/device/park", nil},
	{"internal/reference/engine/device/record", []string{"internal/tracefile/chromejson"}},
	{"internal/reference/engine/hf", []string{"internal/base/sorts", "internal/reference/engine/tensor"}},
	{"internal/reference/engine/sample", []string{"internal/api", "internal/reference/engine/tensor"}},
	{"internal/reference/engine/tensor", nil},
	{"internal/reference/route", []string{
		"internal/api", "internal/api/wire", "internal/base/httpguard", "internal/base/jsonscan",
		"internal/base/loglimit", "internal/base/pause",
	}},
	{"internal/mcp", []string{
		"bench", "docs", "docs/guides", "internal/base/gate", "internal/base/httpguard", "internal/base/metric",
		"internal/base/progress", "internal/base/sorts", "internal/explain", "internal/explain/brief",
		"internal/explain/kernel", "internal/explain/report", "internal/explain/result", "internal/explain/waits",
		"internal/explain/window", "internal/explain/worth", "internal/measure/system", "internal/runs",
		"internal/tracefile/check", "internal/tracefile/read", "internal/tracefile/set", "trace",
	}},
	{"internal/view", []string{
		"internal/base/atomicfile", "internal/base/columns", "internal/base/httpguard", "internal/base/metric",
		"internal/base/progress", "internal/base/sorts", "internal/explain/export", "internal/explain/kernel",
		"internal/explain/light", "internal/explain/match", "internal/explain/report", "internal/explain/result",
		"internal/explain/window", "internal/explain/worth", "internal/runs", "internal/view/kernels",
		"internal/view/live", "internal/view/load", "internal/view/timeline", "trace",
	}},
	{"internal/view/kernels", []string{
		"internal/base/columns", "internal/base/metric", "internal/base/sorts", "internal/explain/kernel",
		"internal/explain/match", "internal/explain/prep", "internal/explain/result", "internal/explain/tables",
		"trace",
	}},
	{"internal/view/live", []string{
		"internal/base/columns", "internal/base/httpguard", "internal/base/pause", "internal/base/progress",
		"internal/capture/signals", "internal/capture/torch",
	}},
	{"internal/view/load", []string{
		"bench", "internal/base/columns", "internal/base/httpguard", "internal/base/metric", "internal/base/progress",
		"internal/base/sorts", "internal/capture/signals", "internal/explain/fact", "internal/explain/report",
		"internal/explain/result", "internal/explain/waits", "internal/runs", "trace",
	}},
	{"internal/view/timeline", []string{
		"internal/base/columns", "internal/base/metric", "internal/base/sorts", "internal/explain/kernel",
		"internal/explain/match", "internal/explain/prep", "internal/explain/report", "internal/explain/result",
		"trace",
	}},
	{"internal/watch", []string{
		"internal/base/columns", "internal/base/httpguard", "internal/base/live", "internal/base/metric",
		"internal/base/pause", "internal/base/progress", "internal/base/prom", "internal/base/sorts",
		"internal/base/suggest", "internal/base/yamltree", "internal/capture/collect", "internal/capture/gpus",
		"internal/capture/nsys", "internal/capture/signals", "internal/capture/torch", "internal/explain",
		"internal/explain/answer", "internal/explain/report", "internal/explain/result", "internal/explain/window",
		"internal/runs", "internal/tracefile/read", "internal/watch/detect", "trace",
	}},
	{"internal/watch/detect", []string{"internal/base/metric", "internal/capture/signals"}},
	{"internal/measure/batch", []string{
		"bench", "internal/api", "internal/api/client", "internal/api/servers", "internal/base/atomicfile",
		"internal/base/columns", "internal/base/metric", "internal/base/progress", "internal/base/sorts",
		"internal/capture/signals", "internal/capture/torch", "internal/measure/experiment",
		"internal/measure/workload", "internal/runs", "trace",
	}},
	{"internal/measure/imageload", []string{
		"internal/api/client", "internal/base/metric", "internal/base/progress", "internal/base/pyrand",
		"internal/measure/load", "internal/measure/workload",
	}},
	{"internal/measure/load/selftest", []string{
		"internal/base/metric", "internal/base/sorts", "internal/measure/load", "internal/measure/workload",
	}},
	{"internal/measure/ranks", []string{
		"internal/base/progress", "internal/explain/summary", "internal/explain/window", "internal/job/scatter",
		"internal/tracefile/set",
	}},
	{"internal/measure/system", []string{
		"bench", "internal/api", "internal/base/atomicfile", "internal/base/columns", "internal/base/metric",
		"internal/base/private", "internal/base/progress", "internal/base/sorts", "internal/capture/gpus",
		"internal/capture/nsys", "internal/capture/torch", "internal/explain", "internal/explain/brief",
		"internal/explain/kernel", "internal/explain/light", "internal/explain/report", "internal/explain/result",
		"internal/explain/waits", "internal/explain/window", "internal/measure/experiment", "internal/runs",
		"internal/tracefile/read", "internal/tracefile/set", "trace",
	}},
	{"internal/measure/experiment", []string{
		"bench", "internal/api", "internal/api/client", "internal/api/servers", "internal/api/wire",
		"internal/base/live", "internal/base/metric", "internal/base/progress", "internal/capture/gpus",
		"internal/capture/signals", "internal/capture/torch", "internal/measure/load", "internal/measure/workload",
		"internal/runs", "trace",
	}},
	{"internal/measure/load", []string{
		"bench", "internal/api/servers", "internal/api/wire", "internal/base/columns", "internal/base/jsonscan",
		"internal/base/live", "internal/base/metric", "internal/base/progress", "internal/base/sorts",
		"internal/capture/signals", "internal/measure/workload",
	}},
	{"internal/measure/workload", []string{
		"internal/api/client", "internal/api/wire", "internal/base/jsonscan", "internal/base/pyrand",
		"internal/base/sorts", "internal/base/tokenizer",
	}},
	{"internal/job", []string{
		"internal/base/atomicfile", "internal/base/columns", "internal/base/sorts", "internal/job/slurm",
		"internal/job/spec", "internal/runs",
	}},
	{"internal/job/scatter", []string{"internal/base/progress", "internal/job/slurm"}},
	{"internal/job/spec", []string{
		"internal/base/memory", "internal/base/sorts", "internal/base/suggest", "internal/base/yamltree",
	}},
	{"internal/testing/explaintest", []string{
		"internal/base/gate", "internal/base/metric", "internal/explain", "internal/explain/prep",
		"internal/explain/report", "internal/explain/result", "internal/testing/packedtest",
		"internal/testing/retime", "internal/testing/toytrace", "internal/tracefile/read", "internal/tracefile/set",
		"trace",
	}},
	{"internal/explain/export", []string{
		"internal/base/atomicfile", "internal/base/columns", "internal/base/parquetfile", "internal/explain/kernel",
		"internal/tracefile/read", "internal/tracefile/set", "internal/tracefile/sqlitefile", "trace",
	}},
	{"internal/explain/brief", []string{
		"internal/base/columns", "internal/base/metric", "internal/base/sorts", "internal/explain/kernel",
		"internal/explain/report", "internal/explain/result", "internal/explain/waits", "trace",
	}},
	{"internal/explain/report", []string{
		"bench", "internal/base/columns", "internal/base/metric", "internal/base/sorts", "internal/explain/dumps",
		"internal/explain/fact", "internal/explain/kernel", "internal/explain/result", "internal/explain/waits",
		"internal/tracefile/read/nsysdb", "trace",
	}},
	{"internal/explain/dumps", []string{
		"internal/api", "internal/base/metric", "internal/base/sorts", "internal/explain/result",
	}},
	{"internal/explain/waits", []string{
		"bench", "internal/api", "internal/base/metric", "internal/base/sorts", "internal/explain/fact",
		"internal/explain/result", "trace",
	}},
	{"internal/explain/window", []string{
		"internal/base/atomicfile", "internal/base/progress", "internal/base/sorts", "internal/explain",
		"internal/explain/kernel", "internal/explain/light", "internal/explain/prep", "internal/explain/summary",
		"internal/tracefile/read", "internal/tracefile/read/nsysdb", "internal/tracefile/set", "trace",
	}},
	{"internal/explain", []string{
		"internal/base/gate", "internal/base/parallel", "internal/base/sorts", "internal/explain/answer",
		"internal/explain/fact", "internal/explain/graphlayers", "internal/explain/judge", "internal/explain/kernel",
		"internal/explain/light", "internal/explain/match", "internal/explain/prep", "internal/explain/replicas",
		"internal/explain/result", "internal/explain/tables", "internal/explain/worth", "trace",
	}},
	{"internal/explain/answer", []string{
		"internal/base/metric", "internal/base/sorts", "internal/explain/fact", "internal/explain/result",
	}},
	{"internal/explain/graphlayers", []string{
		"internal/base/metric", "internal/base/sorts", "internal/explain/fact", "internal/explain/kernel",
		"internal/explain/prep", "internal/explain/result", "trace",
	}},
	{"internal/explain/light", []string{
		"internal/base/atomicfile", "internal/base/metric", "internal/base/sorts", "internal/explain/fact",
		"internal/explain/kernel", "internal/explain/match", "internal/explain/result", "trace",
	}},
	{"internal/explain/judge", []string{
		"internal/base/metric", "internal/base/parallel", "internal/base/sorts", "internal/explain/fact",
		"internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "internal/explain/result",
		"internal/explain/tables", "internal/explain/timeslice", "trace",
	}},
	{"internal/explain/replicas", []string{
		"internal/base/metric", "internal/base/sorts", "internal/explain/kernel", "internal/explain/prep",
		"internal/explain/result", "internal/explain/timeslice", "trace",
	}},
	{"internal/explain/summary", []string{"internal/explain/prep", "internal/tracefile/set", "trace"}},
	{"internal/explain/timeslice", []string{"internal/base/metric", "internal/base/sorts", "internal/explain/result"}},
	{"internal/explain/worth", []string{
		"internal/base/metric", "internal/base/parallel", "internal/base/sorts", "internal/explain/fact",
		"internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "internal/explain/replay",
		"internal/explain/result", "internal/explain/tables", "trace",
	}},
	{"internal/explain/replay", []string{
		"internal/base/metric", "internal/base/parallel", "internal/base/runsort", "internal/base/sorts",
		"internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "trace",
	}},
	{"internal/explain/tables", []string{
		"internal/base/gate", "internal/base/metric", "internal/base/sorts", "internal/explain/fact",
		"internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "internal/explain/result",
		"trace",
	}},
	{"internal/capture/nsys", []string{
		"internal/base/atomicfile", "internal/base/metric", "internal/base/pause", "internal/base/progress",
		"internal/base/sorts", "internal/runs", "internal/tracefile/format", "trace",
	}},
	{"internal/capture/torch", []string{
		"internal/api", "internal/api/client", "internal/api/servers", "internal/api/wire",
		"internal/base/atomicfile", "internal/base/columns", "internal/base/live", "internal/base/memory",
		"internal/base/metric", "internal/base/pause", "internal/base/private", "internal/base/progress",
		"internal/base/sorts", "internal/capture/collect", "internal/capture/signals", "internal/runs",
		"internal/tracefile/check", "internal/tracefile/merge", "internal/tracefile/set", "trace",
	}},
	{"internal/capture/collect", []string{"internal/api/client", "internal/api/wire", "internal/base/atomicfile"}},
	{"internal/tracefile/cut", []string{
		"internal/base/atomicfile", "internal/base/progress", "internal/base/sorts", "internal/tracefile/check",
		"internal/tracefile/chromejson", "internal/tracefile/merge", "internal/tracefile/redact",
		"internal/tracefile/set", "trace",
	}},
	{"internal/tracefile/check", []string{
		"internal/base/columns", "internal/base/progress", "internal/base/sorts", "internal/tracefile/chromejson",
		"internal/tracefile/clock", "internal/tracefile/merge", "internal/tracefile/set", "trace",
	}},
	{"internal/tracefile/kineto", []string{
		"internal/base/atomicfile", "internal/base/progress", "internal/base/sorts", "internal/tracefile/chromejson",
		"internal/tracefile/format", "internal/tracefile/read", "internal/tracefile/set", "trace",
	}},
	{"internal/tracefile/merge", []string{
		"internal/base/atomicfile", "internal/base/columns", "internal/base/progress",
		"internal/tracefile/chromejson", "internal/tracefile/clock", "internal/tracefile/pftrace",
		"internal/tracefile/set", "trace",
	}},
	{"internal/tracefile/open", []string{"internal/base/pause", "trace"}},
	{"internal/tracefile/pftrace", nil},
	{"internal/tracefile/read", []string{
		"internal/base/columns", "internal/base/progress", "internal/base/runsort", "internal/base/sorts",
		"internal/tracefile/chromejson", "internal/tracefile/format", "internal/tracefile/read/nsysdb",
		"internal/tracefile/read/rocprof", "internal/tracefile/set", "internal/tracefile/sqlitefile", "trace",
	}},
	{"internal/tracefile/read/rocprof", []string{
		"internal/base/runsort", "internal/base/sorts", "internal/tracefile/chromejson",
		"internal/tracefile/sqlitefile", "trace",
	}},
	{"internal/tracefile/read/nsysdb", []string{
		"internal/base/parallel", "internal/base/runsort", "internal/base/sorts", "internal/tracefile/sqlitefile",
		"trace",
	}},
	{"internal/tracefile/redact", []string{"internal/base/sorts", "internal/tracefile/chromejson", "trace"}},
	{"internal/tracefile/set", []string{
		"internal/base/atomicfile", "internal/base/parallel", "internal/base/progress", "internal/base/sorts",
		"internal/tracefile/chromejson", "internal/tracefile/format", "trace",
	}},
	{"internal/tracefile/format", []string{
		"internal/base/atomicfile", "internal/base/columns", "internal/tracefile/chromejson",
		"internal/tracefile/sqlitefile", "trace",
	}},
	{"internal/tracefile/chromejson", []string{"internal/base/atomicfile", "internal/base/inflate"}},
	{"internal/tracefile/sqlitefile", []string{"internal/base/atomicfile", "internal/base/sorts"}},
	{"internal/testing/browsertest", nil},
	{"internal/testing/detecttest", []string{"internal/capture/signals"}},
	{"internal/capture/signals", []string{
		"internal/api/client", "internal/api/servers", "internal/base/memory", "internal/base/pause",
		"internal/base/sorts",
	}},
	{"internal/capture/gpus", []string{"internal/api/client", "internal/base/metric", "internal/base/sorts", "trace"}},
	{"internal/testing/enginetest", []string{"internal/api", "internal/reference/server"}},
	{"internal/testing/fakeengine", []string{"internal/api", "internal/api/wire", "internal/reference/server"}},
	{"internal/reference/server", []string{
		"internal/api", "internal/api/wire", "internal/base/httpguard", "internal/base/loglimit",
		"internal/base/prom", "internal/base/sorts", "internal/reference/windows",
	}},
	{"internal/reference/windows", []string{
		"internal/api", "internal/api/wire", "internal/base/httpguard", "internal/base/suggest",
	}},
	{"internal/testing/fakekube", nil},
	{"internal/testing/jsontest", nil},
	{"internal/testing/loadtest", []string{"bench", "internal/runs", "trace"}},
	{"internal/runs", []string{
		"bench", "internal/base/atomicfile", "internal/base/columns", "internal/base/metric",
		"internal/base/progress", "internal/base/sorts", "trace",
	}},
	{"internal/testing/packedtest", nil},
	{"internal/testing/retime", []string{
		"internal/explain/kernel", "internal/explain/match", "internal/explain/prep", "trace",
	}},
	{"internal/explain/match", []string{
		"internal/base/metric", "internal/base/sorts", "internal/explain/fact", "internal/explain/kernel",
		"internal/explain/prep", "internal/tracefile/clock", "trace",
	}},
	{"internal/explain/prep", []string{
		"internal/base/metric", "internal/base/parallel", "internal/base/runsort", "internal/base/sorts",
		"internal/explain/fact", "internal/explain/kernel", "internal/explain/layers", "internal/explain/result",
		"trace",
	}},
	{"internal/explain/kernel", nil},
	{"internal/explain/layers", nil},
	{"internal/explain/result", []string{"internal/base/metric", "internal/explain/fact", "trace"}},
	{"internal/explain/fact", nil},
	{"internal/tracefile/clock", []string{"internal/base/metric", "internal/base/sorts"}},
	{"internal/testing/slurmtest", []string{"internal/job/slurm"}},
	{"internal/job/slurm", nil},
	{"internal/testing/sqlitedb", nil},
	{"internal/testing/servertest", []string{"internal/api/client", "internal/api/servers"}},
	{"internal/testing/toytrace", []string{"trace"}},
	{"internal/api/servers", []string{"internal/api/client"}},
	{"internal/kube", []string{"internal/api/client", "internal/base/sorts", "internal/base/yamltree"}},
	{"internal/ci", []string{"internal/api/client"}},
	{"internal/api/client", []string{"internal/api/wire"}},
	{"internal/api/wire", []string{"internal/api"}},
	{"internal/api", nil},
	{"bench", []string{"internal/base/gate", "internal/base/metric", "internal/base/sorts"}},
	{"trace", nil},
	{"internal/base/gate", []string{"internal/base/suggest"}},
	{"internal/base/httpguard", nil},
	{"internal/base/inflate", nil},
	{"internal/base/jsonscan", nil},
	{"internal/base/loglimit", nil},
	{"internal/base/memory", nil},
	{"internal/base/nvtx", nil},
	{"internal/base/parallel", nil},
	{"internal/base/parquetfile", nil},
	{"internal/base/pause", nil},
	{"internal/base/private", []string{"internal/base/atomicfile"}},
	{"internal/base/progress", []string{"internal/base/columns", "internal/base/live", "internal/base/metric"}},
	{"internal/base/live", []string{"internal/base/columns"}},
	{"internal/base/columns", nil},
	{"internal/base/metric", nil},
	{"internal/base/prom", nil},
	{"internal/base/pyrand", []string{"internal/base/twister"}},
	{"internal/base/runsort", nil},
	{"internal/base/suggest", nil},
	{"internal/base/tokenizer", []string{"internal/base/atomicfile"}},
	{"internal/base/atomicfile", nil},
	{"internal/base/twister", nil},
	{"internal/base/yamltree", nil},
	{"internal/base/sorts", nil},
	{"docs", nil},
	{"docs/guides", nil},
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
