package set

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stepscope/stepscope/trace"
)

// torch_npu writes one directory for each rank: WORKER_TIME_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json. The number
// of the rank is in the name of another file: WORKER_TIME_ascend_pt/profiler_info_RANK.json.

const (
	ascendFile   = "trace_view.json"
	ascendOutput = "ASCEND_PROFILER_OUTPUT"
	ascendRank   = "*_ascend_pt"
)

var ascendInfo = regexp.MustCompile(`^profiler_info_(\d{1,6})\.json$`)

// ascendFiles returns the traces in a directory that holds such directories, or is one of them. It returns nil for any
// other directory.
func ascendFiles(dir string) (files []string) {
	for _, pattern := range []string{ascendFile, filepath.Join(ascendOutput, ascendFile), filepath.Join(ascendRank, ascendOutput, ascendFile)} {
		if files, _ = filepath.Glob(filepath.Join(escapeGlob(dir), pattern)); len(files) > 0 {
			return files
		}
	}
	return nil
}

var globMeta = regexp.MustCompile(`[\\*?\[]`)

func escapeGlob(dir string) string { return globMeta.ReplaceAllString(dir, `\$0`) }

// ascendName returns the rank of a trace by the files beside it; ok is false for any other file. The name has no id: a
// directory may hold several recordings of a rank, which their times tell apart.
func ascendName(path string) (name trace.FileName, ok bool) {
	path, err := filepath.Abs(path)
	if err != nil || filepath.Base(path) != ascendFile || filepath.Base(filepath.Dir(path)) != ascendOutput {
		return name, false
	}
	entries, _ := os.ReadDir(filepath.Dir(filepath.Dir(path)))
	for _, e := range entries {
		if m := ascendInfo.FindStringSubmatch(e.Name()); m != nil {
			n, _ := strconv.Atoi(m[1])
			return trace.FileName{Rank: trace.Rank{TP: n, DP: -1, PP: -1, EP: -1}}, true
		}
	}
	return name, false
}
