package server_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// TestForeignRoutes checks that SGLang routes that this server lacks are refused by name and reason; others are
// unknown.
func TestForeignRoutes(t *testing.T) {
	r := newRig(t, "abc", fakeengine.Options{}, server.Options{})
	for route, want := range map[string]string{
		"POST /slow_down":                      "/slow_down is an SGLang route that this server does not support: steps cannot be slowed down",
		"GET /dump_expert_distribution_record": "/dump_expert_distribution_record is an SGLang route that this server does not support: expert load is not recorded",
		"POST /pause_generation":               "generation cannot be paused",
		"POST /v1/responses/r1/cancel":         "/v1/responses/r1/cancel is an SGLang route",
		"PUT /hicache/storage-backend":         "the KV cache is kept in rank memory only",
		"GET /set_trace_level?level=2":         "no OpenTelemetry spans are sent",
		"POST /configure_logging":              "--log-level",
	} {
		if got := r.call(route, ""); got.status != 400 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", route, got.status, got.body)
		}
	}
	if got := r.call("POST /no_such_route", ""); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}
