package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tinyTrace is a readable rank file.
const tinyTrace = `{"baseTimeNanoseconds":1000,"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":5,"ts":1,"dur":1,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3,"dur":2,"args":{"device":0,"stream":7,"correlation":9}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":23,"ts":3,"dur":8,"args":{"device":0,"stream":23,"correlation":9}}
]}`

// folder makes a directory of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestExport runs the verb as a user does; DIR in the arguments is a folder
// of two ranks, BROKEN one with a rank that ends in an event.
func TestExport(t *testing.T) {
	for _, c := range []struct {
		args    string
		status  int
		stdout  string // is in it
		stderr  string
		written string // by name in DIR
	}{
		{"DIR --format csv", 0, "exported 6 spans of 2 ranks", "", "spans-w.csv"},
		{"DIR -o DIR/out.parquet", 0, "out.parquet (", "", "out.parquet"},
		{"DIR -o DIR/out.db --json", 0, `"spans": 6`, "", "out.db"},
		{"DIR --format csv -o DIR/out.txt", 0, "out.txt (", "", "out.txt"},
		{"DIR --format sqlite -o DIR/", 0, "spans-w.sqlite (", "", "spans-w.sqlite"},
		{"DIR --format csv -o -", 0, "rank,tp,dp,", "", ""},
		{"DIR --format parquet -o -", 0, "PAR1", "", ""},
		{"DIR", exitUsage, "", "no format given: give --format parquet, csv or sqlite", ""},
		{"DIR -o DIR/out.json", exitUsage, "", "out.json: no format has this extension", ""},
		{"DIR --format excel", exitUsage, "", `--format "excel": give parquet, csv or sqlite`, ""},
		{"DIR --format sqlite -o -", exitUsage, "", "give a file with -o", ""},
		{"DIR/none --format csv", exitFailed, "", "none: no such file", ""},
		{"DIR DIR/none -o DIR/out.csv", exitIncomplete, "exported 6 spans", "none: no such file", "out.csv"},
		{"DIR/w-TP-1.trace.json -o DIR/out.csv", exitIncomplete, "exported 3 spans of 1 rank in", "missing TP00", "out.csv"},
		{"BROKEN -o DIR/out.csv", exitIncomplete, "exported 5 spans", "w-TP-1.trace.json: ", "out.csv"},
		{"BROKEN/w-TP-2.trace.json -o DIR/out.csv", exitFailed, "", "w-TP-2.trace.json: the file is empty\n", ""},
		{"DIR -o DIR/w-TP-0.trace.json --format csv", exitFailed, "", "is one of the inputs", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := folder(t, map[string]string{"w-TP-0.trace.json": tinyTrace, "w-TP-1.trace.json": tinyTrace})
			broken := folder(t, map[string]string{
				"w-TP-0.trace.json": tinyTrace, "w-TP-1.trace.json": tinyTrace[:len(tinyTrace)-30], "w-TP-2.trace.json": "",
			})
			args := strings.Fields("trace export " + strings.NewReplacer("DIR", dir, "BROKEN", broken).Replace(c.args))
			var stdout, stderr strings.Builder
			if got := Main(args, nil, &stdout, &stderr); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			if !strings.Contains(stdout.String(), c.stdout) || c.stdout == "" && stdout.Len() > 0 {
				t.Errorf("stdout %q", stdout.String())
			}
			if !strings.Contains(stderr.String(), c.stderr) || c.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr %q", stderr.String())
			}
			if n := strings.Count(stderr.String(), "\n"); c.status == exitFailed && n != 1 {
				t.Errorf("%d lines say what is wrong: %q", n, stderr.String())
			}
			want := []string{"w-TP-0.trace.json", "w-TP-1.trace.json"}
			if c.written != "" {
				want = append(want, c.written)
			}
			slices.Sort(want)
			var have []string
			list, err := os.ReadDir(dir)
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
