package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
)

// nsysExport unpacks the export of a real capture: five steps of four GPUs of
// one job, whose rank 2 runs two more MLPs a layer in every step.
func nsysExport(t *testing.T) string {
	t.Helper()
	return packedtest.File(t, "../tracefile/read/nsysdb/testdata/tp4-work.sqlite.zst")
}

// The straggler of a capture of nsys is found as in one of PyTorch's profiler:
// rank 2, by its work, and nobody else for work or device.
func TestAnalyzeNsys(t *testing.T) {
	paths := []string{nsysExport(t)}
	if data := os.Getenv("STEPSCOPE_DATA"); data != "" {
		if whole := filepath.Join(data, "nsys", "sg.out.sqlite"); exists(whole) {
			paths = append(paths, whole)
		}
	}
	for _, path := range paths {
		status, stdout, stderr := run(t, context.Background(), "analyze", "--json", path)
		if status != 0 {
			t.Fatalf("status %d: %s", status, stderr)
		}
		var r struct {
			Ranks    []struct{ Name string }
			Findings []struct {
				Kind, Cause string
				Ranks       []string `json:"rank_names"`
				Step        int      `json:"first_step"`
			}
			Source struct{ Device string }
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Ranks) != 4 || r.Source.Device != "NVIDIA H200" {
			t.Errorf("%s: %d ranks on %q", path, len(r.Ranks), r.Source.Device)
		}
		found := false
		for _, f := range r.Findings {
			switch {
			case f.Kind != "straggler":
			case slices.Equal(f.Ranks, []string{"TP02"}) && f.Cause == "work":
				found = f.Step == 0
			case f.Cause != "host":
				t.Errorf("%s: %s is blamed for %s", path, f.Ranks, f.Cause)
			}
		}
		if !found {
			t.Errorf("%s: the straggler is not found: %+v", path, r.Findings)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// All verbs that read captures take exports and reports of nsys; wrong use and
// files that are none say so.
func TestNsysInputs(t *testing.T) {
	export := nsysExport(t)
	dir := t.TempDir()
	broken, other := filepath.Join(dir, "cut.sqlite"), filepath.Join(dir, "other.sqlite")
	whole, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{broken: whole[:len(whole)/2], other: []byte("SQLite format 3\x00")} {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	later, windows := filepath.Join(dir, "later.sqlite"), filepath.Join(dir, "windows")
	if err := os.Mkdir(windows, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{later, filepath.Join(windows, "serve-window-1.sqlite"), filepath.Join(windows, "serve-window-2.sqlite")} {
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlitedb.Open(later)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 10000000000`); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STEPSCOPE_NSYS", filepath.Join(dir, "nosuch"))
	for name, age := range map[string]time.Duration{"old": -time.Hour, "new": time.Hour, "ours": time.Hour} { // of what lies beside reports
		beside, content := filepath.Join(dir, name+".sqlite"), whole
		if name == "ours" { // of trace export, say
			content = []byte("SQLite format 3\x00")
		}
		err := errors.Join(os.WriteFile(filepath.Join(dir, name+".nsys-rep"), nil, 0o666), os.WriteFile(beside, content, 0o666),
			os.Chtimes(beside, time.Time{}, time.Now().Add(age)))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"nsys stats EXPORT", 0, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
		{"nsys stats EXPORT -r nvtx_sum --format csv", 0, "DECODE step 57"},
		{"nsys stats EXPORT -r nvtx_sum --format json", 0, `"style": "PushPop"`},
		{"nsys stats EXPORT -r osrt_sum", 0, "nothing in the report for osrt_sum"},
		{"nsys stats EXPORT -r osrt_sum --format json", 0, "[]\n"},
		{"nsys stats EXPORT -r gpukernsum", 2, "no such summary, there are: cuda_gpu_kern_sum"},
		{"nsys stats EXPORT --top -1", 2, "give 0 or more"},
		{"nsys stats CUT", 1, "the file is cut short"},
		{"nsys stats OTHER", 1, "not a SQLite database: shorter than its header"},
		{"nsys stats DIR/nosuch.nsys-rep", 1, "no such file"},
		{"nsys stats DIR/new.nsys-rep", 0, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
		{"nsys stats DIR/old.nsys-rep", 1, "DIR/old.nsys-rep: nsys was not found: DIR/nosuch: no such file or directory; DIR/old.sqlite is next to it but not newer"},
		{"analyze DIR/ours.nsys-rep", 1, "DIR/ours.nsys-rep: nsys was not found: DIR/nosuch: no such file or directory\n"},
		{"analyze CUT", 1, "the file is cut short"},
		{"analyze EXPORT --from 3 --to 2", 2, "give a range of time"},
		{"analyze EXPORT --from 100", 1, "neither GPU work nor NVTX ranges in the requested window"},
		{"compare EXPORT EXPORT", 0, "decode"},
		{"compare EXPORT --ranks TP00,TP02", 0, "TP02"},
		{"trace check EXPORT", 0, "4 decode"},
		{"trace merge EXPORT -o DIR/merged.json.gz", 0, "merged 4 of 4 files"},
		{"trace cut EXPORT --steps 1 --merge -o DIR/cut.json.gz", 0, "cut.json.gz"},
		{"trace export EXPORT -o DIR/spans.csv", 0, "spans.csv"},
		{"analyze EXPORT LATER", 0, " s apart from "},
		{"trace merge EXPORT LATER -o DIR/both.json.gz", 0, " s apart from "},
		{"analyze WINDOWS", 0, "2 profiling windows found, using the newest, "},
		{"analyze ../../testdata/traces/graphs --from 1", 0, "--from and --to are for reports of Nsight Systems"},
	} {
		put := strings.NewReplacer("EXPORT", export, "CUT", broken, "OTHER", other, "DIR", dir, "LATER", later, "WINDOWS", windows)
		status, stdout, stderr := run(t, context.Background(), strings.Fields(put.Replace(c.args))...)
		if status != c.status || !strings.Contains(stdout+stderr, put.Replace(c.says)) {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", c.args, status, c.status, c.says, stdout, stderr)
		}
	}
}

// A report itself is exported by the nsys that is there, and what that makes
// is gone afterwards.
func TestNsysReportItself(t *testing.T) {
	nsys := os.Getenv("STEPSCOPE_NSYS")
	if nsys == "" {
		nsys = "nsys"
	}
	if _, err := exec.LookPath(nsys); err != nil {
		t.Skip("no nsys here (STEPSCOPE_NSYS names one)")
	}
	dir, tmp := t.TempDir(), t.TempDir()
	report := filepath.Join(dir, "sleep.nsys-rep")
	out, err := exec.Command(nsys, "profile", "-t", "osrt", "--sample=none", "--cpuctxsw=none", "-o", report, "sh", "-c", "sleep 0.2; sleep 0.2; :").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("TMPDIR", tmp)
	status, stdout, stderr := run(t, context.Background(), "nsys", "stats", report)
	// A short program's calls are not always caught.
	if status != 0 || !strings.Contains(stdout, "osrt_sum") && !strings.Contains(stderr, "no kernels, calls or ranges in the report") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if left := list(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if files := list(t, dir); len(files) != 1 {
		t.Errorf("beside the report: %q", files)
	}
}
