package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stepTrace has two steps, each with a launch and its kernel.
const stepTrace = `{"baseTimeNanoseconds":1000000000000000000,"distributedInfo":{"rank":RANK,"world_size":2},"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":4,"tid":5,"ts":1000,"dur":90},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":5,"ts":1010,"dur":1,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1020,"dur":2,"args":{"correlation":9}},
{"ph":"X","cat":"python_function","name":"f.py(1): f","pid":4,"tid":5,"ts":1030,"dur":1},
{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":4,"tid":5,"ts":1100,"dur":90},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":5,"ts":1110,"dur":1,"args":{"correlation":10}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1220,"dur":2,"args":{"correlation":10}}
]}`

// TestMergeCheckCut runs the verbs as a user does. In the arguments SET is a
// folder of two ranks, TWO one with an older window beside them, BROKEN one
// whose second rank ends early and whose third is empty, TORCH one with two
// ranks under names that say nothing.
func TestMergeCheckCut(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		stdout string // is in it
		stderr string
		files  string // in SET besides the inputs, by name
	}{
		{"merge SET", 0, "merged 2 of 2 files, 14 events", "", "merged-w.trace.json.gz"},
		{"merge SET -o SET/m.json", 0, "SET/m.json", "", "m.json"},
		{"merge SET -o SET/ --json", 0, `"pid_prefix": "[TP01] "`, "", "merged-w.trace.json.gz"},
		{"merge SET -o -", 0, "\x1f\x8b", "", ""},
		{"merge SET --format pftrace", 0, "14 events", "", "merged-w.pftrace"},
		{"merge SET --format pftrace -o -", 0, "\x1f\x8b", "", ""},
		{"merge SET -o SET/x.pftrace --json", 0, `"output": "SET/x.pftrace"`, "", "x.pftrace"},
		{"merge SET -o - --json", exitUsage, "", "leave one of them out", ""},
		{"merge SET --format zip", exitUsage, "", `--format "zip": give chrome or pftrace`, ""},
		{"merge SET --no-python", 0, "12 events", "without events of category python_function", "merged-w.trace.json.gz"},
		{"merge SET --cats kernel,cuda_runtime", 0, "8 events", "only events of these categories: kernel, cuda_runtime", "merged-w.trace.json.gz"},
		{"merge SET --level 10", exitUsage, "", "--level 10: give 1 (fast) to 9 (small)", ""},
		{"merge SET -o SET/w-TP-0.trace.json", exitFailed, "", "is one of the inputs", ""},
		{"merge SET/none", exitFailed, "", "none: no such file", ""},
		{"merge SET/w-TP-0.trace.json SET/none", exitIncomplete, "merged 1 of 1 files", "none: no such file", "merged-w.trace.json.gz"},
		{"merge SET/w-TP-0.trace.json", exitIncomplete, "merged 1 of 1 files", "distributedInfo says 2 ranks", "merged-w.trace.json.gz"},
		{"merge BROKEN -o SET/", exitIncomplete, "merged 2 of 3 files, some of them incomplete, 13 events", "w-TP-1.trace.json: the file ends in the middle of an event at byte ", "merged-w.trace.json.gz"},
		{"merge BROKEN/w-TP-2.trace.json", exitFailed, "", "w-TP-2.trace.json: the file is empty\n", ""},
		{"merge TWO -o SET/", 0, "merged 2 of 2 files", "2 profiling windows found, using the newest, w (others: v;", "merged-w.trace.json.gz"},
		{"merge TWO -o SET/ --profile-id v", exitIncomplete, "merged 1 of 1 files", "", "merged-v.trace.json.gz"},
		{"merge TWO --profile-id u", exitUsage, "", `no trace files of profile id "u"; ids found: w, v`, ""},
		{"merge TORCH -o SET/x.gz", 0, "merged 2 of 2 files", "", "x.gz"},
		{"check SET", 0, "2 decode", "", ""},
		{"check SET --json", 0, `"events_by_category": {`, "", ""},
		{"check BROKEN", exitIncomplete, "the file ends in the middle of an event", "", ""},
		{"check SET/none SET", exitIncomplete, "none: no such file", "none: no such file", ""},
		{"cut SET --steps 1 -o SET/out", 0, "cut-w-TP-1.trace.json.gz: 3 events", "", "out"},
		{"cut SET --steps 0-1 --merge", 0, "14 events", "", "merged-cut-w.trace.json.gz"},
		{"cut SET/w-TP-0.trace.json --steps 0", 0, "cut-w-TP-0.trace.json.gz: 4 events", "", "cut-w-TP-0.trace.json.gz"},
		{"cut SET/w-TP-0.trace.json --from 25us --to 0.000095 -o SET/c.json", 0, "c.json: 2 events", "", "c.json"},
		{"cut SET/w-TP-0.trace.json --steps 1-5", exitIncomplete, "3 events", "has only 2 steps, cut from 1 to 1", "cut-w-TP-0.trace.json.gz"},
		{"cut SET/w-TP-0.trace.json --steps 2", exitFailed, "", "has only 2 steps, 0 to 1", ""},
		{"cut SET --steps 2-1", exitUsage, "", `--steps "2-1": give a step or a range`, ""},
		{"cut SET", exitUsage, "", "give either --steps or --from and --to", ""},
		{"cut SET --from 2s --to 1s", exitUsage, "", "--to 1s is not after --from 2s", ""},
		{"cut SET --from soon", exitUsage, "", `--from "soon": give a time as`, ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			rank := func(n string) string { return strings.Replace(stepTrace, "RANK", n, 1) }
			inputs := map[string]string{"w-TP-0.trace.json": rank("0"), "w-TP-1.trace.json": rank("1")}
			set, two := folder(t, inputs), folder(t, inputs)
			old := filepath.Join(two, "v-TP-0.trace.json")
			if err := os.WriteFile(old, []byte(rank("0")), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(old, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			broken := folder(t, map[string]string{"w-TP-0.trace.json": rank("0"), "w-TP-1.trace.json": rank("1")[:len(rank("1"))-30], "w-TP-2.trace.json": ""})
			torch := folder(t, map[string]string{"a_1.1763750000000.pt.trace.json": rank("0"), "a_2.1763750000001.pt.trace.json": rank("1")})
			names := strings.NewReplacer("SET", set, "TWO", two, "BROKEN", broken, "TORCH", torch)
			var stdout, stderr strings.Builder
			if got := Main(strings.Fields("trace "+names.Replace(c.args)), nil, &stdout, &stderr); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			if want := names.Replace(c.stdout); !strings.Contains(stdout.String(), want) || want == "" && stdout.Len() > 0 {
				t.Errorf("stdout %q", stdout.String())
			}
			if !strings.Contains(stderr.String(), c.stderr) || c.stderr == "" && c.status == 0 && stderr.Len() > 0 {
				t.Errorf("stderr %q", stderr.String())
			}
			if n := strings.Count(stderr.String(), "\n"); c.status == exitFailed && n != 1 {
				t.Errorf("%d lines say what is wrong: %q", n, stderr.String())
			}
			want := []string{"w-TP-0.trace.json", "w-TP-1.trace.json"}
			if c.files != "" {
				want = append(want, c.files)
			}
			slices.Sort(want)
			var have []string
			list, err := os.ReadDir(set)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				have = append(have, f.Name())
			}
			if !slices.Equal(have, want) {
				t.Errorf("files %q, want %q", have, want)
			}
		})
	}
}
