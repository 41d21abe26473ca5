package explain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// stageFile writes the trace of rank 0 of a stage, with one step.
func stageFile(t *testing.T, dir, stage, mode string) string {
	t.Helper()
	path := filepath.Join(dir, "9-TP-0-"+stage+".trace.json")
	text := fmt.Sprintf(`{"baseTimeNanoseconds":1700000000000000000,"traceEvents":[
		{"ph":"X","cat":"user_annotation","name":"step[%s bs=1]","pid":9,"tid":1,"ts":1,"dur":50},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":2,"dur":3,"args":{"correlation":1}},
		{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":9,"dur":20,"args":{"device":0,"stream":7,"correlation":1}}]}`, mode)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// stageLabels returns the labels of the ranks in a report, and the number of rejected stage names.
func stageLabels(t *testing.T, ts []*trace.Trace) (labels string, wrong int) {
	t.Helper()
	for _, t := range ts {
		for _, n := range t.Notes {
			if n.Kind == trace.NoteStageName {
				wrong++
			}
		}
	}
	var names []string
	for _, r := range explaintest.Analyzed(t, ts).Ranks {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", "), wrong
}

// TestStageByContent: a stage that a rank's trace contradicts is not in its label.
func TestStageByContent(t *testing.T) {
	for _, c := range []struct {
		extend, decode string // mode of the step in the file of this name; "": no file
		labels         string
		wrong          int
	}{
		{"EXTEND", "DECODE", "TP00 DECODE, TP00 EXTEND", 0},
		{"", "EXTEND", "TP00 prefill", 1},
		{"MIXED", "EXTEND", "TP00 prefill, TP00 EXTEND", 1},
		{"DECODE", "", "TP00 decode", 1},
	} {
		dir := t.TempDir()
		if c.extend != "" {
			stageFile(t, dir, "EXTEND", c.extend)
		}
		if c.decode != "" {
			stageFile(t, dir, "DECODE", c.decode)
		}
		if labels, wrong := stageLabels(t, explaintest.ReadDir(t, dir)); labels != c.labels || wrong != c.wrong {
			t.Errorf("%+v: got labels %q, %d rejected stage names", c, labels, wrong)
		}
	}
	if root := os.Getenv("STEPSCOPE_DATA"); root != "" {
		labels, wrong := stageLabels(t, explaintest.ReadDir(t, filepath.Join(root, "traces", "sglang_stage")))
		if labels != "TP00 prefill, TP01 prefill" || wrong != 2 {
			t.Errorf("sglang_stage: got labels %q, %d rejected stage names, want TP00 prefill, TP01 prefill and 2", labels, wrong)
		}
	}
}
