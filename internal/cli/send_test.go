package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSendProfile: SGLang's send_one with its flags of windows. Traces go where the variable says, for
// send has no flag for a directory.
func TestSendProfile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", dir)
	url, _, stop := serving(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0")
	defer stop()
	for _, c := range []struct{ args, steps, files string }{
		{"", "5", "*-TP-0.trace.json.gz"},
		{"--profile-steps 3 --profile-by-stage --profile-prefix mine", "3", "mine-*-TP-0-DECODE.trace.json.gz"},
	} {
		args := append([]string{"send", "--base-url", url, "--max-new-tokens", "12", "--ignore-eos", "--profile"}, strings.Fields(c.args)...)
		status, out, errs := run(t, t.Context(), args...)
		if status != exitOK || !strings.Contains(out, "Running profiler with "+c.steps+" steps...\nDump profiling traces to "+dir) || !strings.Contains(out, "Acc Length") {
			t.Errorf("send %s: status %d\n%s%s", c.args, status, out, errs)
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "*", c.files)); len(found) != 1 {
			t.Errorf("send %s: %d files %s", c.args, len(found), c.files)
		}
	}
	if status, _, errs := run(t, t.Context(), "send", "--base-url", url, "--profile-steps", "3"); status != exitUsage || !strings.Contains(errs, "--profile-steps needs --profile") {
		t.Errorf("status %d %s", status, errs)
	}
}
