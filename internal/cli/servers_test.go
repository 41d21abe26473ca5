package cli

import (
	"testing"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/testing/servertest"
)

// TestConformStepscope holds the row of stepscope's server against a running one.
func TestConformStepscope(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--model-path", "builtin:llama-tiny", "--enable-metrics")
	call(t, "POST", s.url+"/generate", `{"text":"one two","stream":true,"sampling_params":{"max_new_tokens":4,"ignore_eos":true}}`)
	servertest.Conform(t, servers.Stepscope.Row(), servertest.Evidence{
		URL:     s.url,
		Missing: map[string]string{"forward_execution_seconds_total": "only with SGLANG_ENABLE_METRICS_DEVICE_TIMER=1"},
	})
}
