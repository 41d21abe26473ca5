package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRangeOfCUDA: a server of ours under nsys with a range of CUDA, which never comes, is told of at once.
func TestRangeOfCUDA(t *testing.T) {
	var out, errs strings.Builder
	status := Main(strings.Fields("nsys run --capture-range cudaProfilerApi -- stepscope serve --model-path builtin:llama-tiny"), nil, &out, &errs)
	if status != exitUsage || !strings.Contains(errs.String(), "write --capture-range nvtx") {
		t.Errorf("%d %s", status, &errs)
	}
	for args, want := range map[string]bool{
		"/opt/bin/nsys profile -c cudaProfilerApi stepscope serve":             true,
		"nsys profile --capture-range=cudaProfilerApi -o x stepscope serve":    true,
		"nsys profile -t nvtx --capture-range cudaProfilerApi stepscope serve": true,
		"nsys profile -c nvtx -p cudaProfilerApi@stepscope stepscope serve":    false,
		"nsys profile stepscope serve":                                         false,
		"bash -c cudaProfilerApi":                                              false,
		"":                                                                     false,
	} {
		if got := waitsForCUDA(strings.Fields(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc")
	}
	if os.Getenv("STEPSCOPE_TEST_UNDER") != "" {
		if !underCUDARange() {
			t.Error("not seen")
		}
		return
	}
	nsys := filepath.Join(t.TempDir(), "nsys")
	if err := os.WriteFile(nsys, []byte("shift 4\n\"$@\"\nexit $?\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", `exec -a nsys bash "$@"`, "bash", nsys, "profile", "--capture-range", "cudaProfilerApi", "--", exe, "-test.run=^TestRangeOfCUDA$")
	cmd.Env = append(os.Environ(), "STEPSCOPE_TEST_UNDER=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
