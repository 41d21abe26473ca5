package server_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// families maps SGLang's family names to type and help.
func families(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/sglang-0.5.23-metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			out[name] = rest
		}
	}
	return out
}

// TestFamilies checks that /metrics matches SGLang by name, type and help, and that docs/sglang.md lists the families.
// promtool, if installed, finds nothing that it does not find in SGLang's own.
func TestFamilies(t *testing.T) {
	r := newRig(t, "abcdefgh", fakeengine.Options{}, server.Options{EnableMetrics: true, Startup: server.Startup{Engine: 1, All: 2}})
	r.call("POST /generate", `{"text":"hello","sampling_params":{"max_new_tokens":3},"stream":true}`)
	r.call("GET /v1/loads", "")
	body := r.call("GET /metrics", "").body
	want, have := families(t), map[string]bool{}
	help := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "# HELP sglang:"); ok {
			_, help, _ = strings.Cut(text, " ")
		} else if text, ok := strings.CutPrefix(line, "# TYPE sglang:"); ok {
			name, kind, _ := strings.Cut(text, " ")
			if have[name] = true; want[name] != kind+" "+help {
				t.Errorf("%s: %s %s; SGLang has %q", name, kind, help, want[name])
			}
		}
	}
	docs, err := os.ReadFile("../../../docs/sglang.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(docs), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for name := range want {
		switch listed := strings.Contains(section, "`"+name+"`"); {
		case have[name] && !listed:
			t.Errorf("docs/sglang.md lacks %s", name)
		case listed && !have[name] && !slices.Contains(later, name):
			t.Errorf("docs/sglang.md has %s, which does not exist", name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	lint := func(text string) []string {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		out, _ := cmd.CombinedOutput() // it exits with an error if it finds something
		if bytes.Contains(out, []byte("error while")) {
			t.Errorf("%s", out)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	var theirs strings.Builder
	for name := range have {
		kind, help, _ := strings.Cut(want[name], " ")
		theirs.WriteString("# HELP sglang:" + name + " " + help + "\n# TYPE sglang:" + name + " " + kind + "\n")
		if kind == "histogram" {
			theirs.WriteString("sglang:" + name + "_bucket{le=\"+Inf\"} 0\nsglang:" + name + "_sum 0\nsglang:" + name + "_count 0\n")
		} else {
			theirs.WriteString("sglang:" + name + " 0\n")
		}
	}
	known := lint(theirs.String())
	for _, line := range lint(body) {
		if !slices.Contains(known, line) {
			t.Errorf("promtool: %s", line)
		}
	}
}

// later lists families that appear with the first sample, which the engine of this test does not make.
var later = strings.Fields(`cuda_graph_passes_total realtime_tokens_total prefill_effective_tokens_total scheduler_stage_seconds_total
	queue_time_seconds per_stage_req_latency_seconds kv_transfer_speed_gb_s kv_transfer_latency_ms kv_transfer_total_mb`)
